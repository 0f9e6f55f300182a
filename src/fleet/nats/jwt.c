#include "fleet/nats/jwt.h"

#include "core/base/base32.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/data/json.h"
#include "fleet/nats/nkey.h"

#define HEADER    "{\"typ\":\"JWT\",\"alg\":\"ed25519-nkey\"}"
#define ALGORITHM "ed25519-nkey"

struct parts {
    struct str header, claims, signature, is_signed;
};

static int split_jwt(struct str text, struct parts *ret, struct err *err)
{
    struct str rest = text;

    if (text.n > NATS_JWT_MAX)
        return err_set(err, ERR_LIMIT, "JWT is larger than %zu bytes", NATS_JWT_MAX);
    ret->header = str_cut(&rest, '.');
    ret->claims = rest.p ? str_cut(&rest, '.') : (struct str){ NULL, 0 };
    ret->signature = rest;
    if (!rest.p || str_find_char(rest, '.', 0) != STR_NONE)
        return err_set(err, ERR_INVALID, "not a JWT: expected three parts with dots between");
    ret->is_signed = str_slice(text, 0, ret->header.n + 1 + ret->claims.n);
    return 0;
}

static int decode_json(struct arena *arena, struct str part, const char *what, struct value *ret,
                       struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(NATS_JWT_MAX);

    if (base64_decode_strict(part, BASE64_URL, &bytes, err) < 0 ||
        json_decode(arena, buf_view(&bytes), ret, err) < 0)
        return err_wrap(err, "%s of a JWT", what);
    if (ret->kind != VALUE_MAP)
        return err_set(err, ERR_INVALID, "%s of a JWT: expected an object", what);
    return 0;
}

static int check_header(struct arena *arena, struct str part, struct err *err)
{
    const struct value *algorithm;
    struct value header;

    if (decode_json(arena, part, "header", &header, err) < 0)
        return -1;
    algorithm = value_get(&header, "alg");
    if (!value_is(algorithm, VALUE_STR) || !str_is(algorithm->s, ALGORITHM))
        return err_set(err, ERR_UNSUPPORTED, "JWT with an algorithm other than '" ALGORITHM "'");
    return 0;
}

static int check_signature(const struct parts *parts, const struct value *claims, struct err *err)
{
    AUTO_BUF struct buf signature = BUF_INIT(ED25519_SIGNATURE_SIZE);
    const struct value *issuer = value_get(claims, "iss");
    struct nats_nkey key;

    if (!value_is(issuer, VALUE_STR))
        return err_set(err, ERR_INVALID, "JWT without an issuer");
    if (nats_nkey_parse_public(issuer->s, &key, err) < 0)
        return err_wrap(err, "issuer of a JWT");
    if (base64_decode_strict(parts->signature, BASE64_URL, &signature, err) < 0)
        return err_wrap(err, "signature of a JWT");
    if (signature.n != ED25519_SIGNATURE_SIZE ||
        !nats_nkey_verify(&key, parts->is_signed, (const unsigned char *)signature.p))
        return err_set(err, ERR_INVALID, "the signature of the JWT is not that of its issuer");
    return 0;
}

int nats_jwt_decode(struct arena *arena, struct str text, struct value *ret_claims, struct err *err)
{
    struct value claims;
    struct parts parts;

    if (split_jwt(text, &parts, err) < 0 || check_header(arena, parts.header, err) < 0 ||
        decode_json(arena, parts.claims, "claims", &claims, err) < 0 ||
        check_signature(&parts, &claims, err) < 0)
        return -1;
    *ret_claims = claims;
    return 0;
}

/* The claims with issuer and id; the id is a fingerprint of the rest. */
static int complete_claims(struct arena *arena, const struct value *claims,
                           const struct nats_nkey *issuer, struct buf *out, struct err *err)
{
    struct value_map *map = value_map_new(arena, claims->map->count + 2);
    AUTO_BUF struct buf id = BUF_INIT(NATS_JWT_MAX);
    unsigned char digest[SHA256_SIZE];
    char text[NATS_NKEY_TEXT_SIZE];
    struct value whole = value_map(map);

    for (size_t i = 0; i < claims->map->count; i++)
        value_map_set(arena, map, claims->map->pairs[i].key, claims->map->pairs[i].value);
    nats_nkey_print_public(issuer, text);
    value_map_set(arena, map, value_text("iss"), value_text(arena_strdup(arena, text)));
    (void)value_map_remove(map, &(struct value){ .kind = VALUE_STR, .s = STR("jti") });
    if (json_print(&id, &whole, JSON_STYLE_COMPACT, err) < 0)
        return err_wrap(err, "claims of a JWT");
    sha256(id.p, id.n, digest);
    buf_clear(&id);
    base32_encode(str_bytes(digest, sizeof(digest)), &id);
    value_map_set(arena, map, value_text("jti"), value_str(buf_copy(&id, arena)));
    if (json_print(out, &whole, JSON_STYLE_COMPACT, err) < 0)
        return err_wrap(err, "claims of a JWT");
    return 0;
}

int nats_jwt_encode(struct arena *arena, const struct value *claims, const struct nats_nkey *issuer,
                    struct buf *out, struct err *err)
{
    unsigned char signature[ED25519_SIGNATURE_SIZE];
    AUTO_BUF struct buf json = BUF_INIT(NATS_JWT_MAX);
    size_t begin = out->n;

    if (!value_is(claims, VALUE_MAP))
        return err_set(err, ERR_INVALID, "claims of a JWT: expected an object");
    if (complete_claims(arena, claims, issuer, &json, err) < 0)
        return -1;
    base64_encode(STR(HEADER), BASE64_URL, out);
    buf_add_char(out, '.');
    base64_encode(buf_view(&json), BASE64_URL, out);
    nats_nkey_sign(issuer, str_from_offset(buf_view(out), begin), signature);
    buf_add_char(out, '.');
    base64_encode(str_bytes(signature, sizeof(signature)), BASE64_URL, out);
    if (out->full)
        return err_set(err, ERR_LIMIT, "JWT is larger than %zu bytes", out->max);
    return 0;
}
