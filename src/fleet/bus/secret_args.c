#include "fleet/bus/secret_args.h"

#include <stdint.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/ed25519.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/data/msgpack.h"
#include "core/data/value.h"
#include "fleet/nats/xkey.h"
#include "core/sys/chance.h"
#include "fleet/wire/job.h"

#define BEGIN "ENC[xkey,"
#define END   "]"

#define PATH_MAX_BYTES 512
#define PLAIN_MAX      (SHA256_SIZE + PATH_MAX_BYTES + SECRET_ARGS_VALUE_MAX + 1)
#define BOX_MAX        (PLAIN_MAX + 256)

/* --- the call ------------------------------------------------------------------------- */

/* Without the wish for a dry run. */
static struct value strip_test(struct arena *arena, const struct value *args)
{
    const struct value test = value_text("test");
    struct value copy;

    if (args->kind != VALUE_MAP)
        return value_map(value_map_new(arena, 0));
    copy = value_copy(arena, args);
    (void)value_map_remove(copy.map, &test);
    return copy;
}

/* Head of a box: a sum of the call, and the name of the argument. */
static int begin_plain(const struct job *job, struct str path, struct buf *out, struct err *err)
{
    const bool is_test = strcmp(job->function, "state.test") == 0;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf call = BUF_INIT(BUF_NO_LIMIT);
    const char *function = is_test ? "state.apply" : job->function;
    const struct value args = strip_test(&arena, &job->args);
    unsigned char sum[SHA256_SIZE];

    buf_add(&call, function, strlen(function) + 1);
    buf_add(&call, job->state_id, strlen(job->state_id) + 1);
    if (msgpack_encode(&call, &args, err) < 0)
        return -1;
    sha256(call.p, call.n, sum);
    buf_add(out, sum, sizeof(sum));
    buf_add_str(out, path);
    buf_add_char(out, '\0');
    return 0;
}

/* --- sealing -------------------------------------------------------------------------- */

static int seal_box(const struct nats_xkey *masters, struct str plain, struct buf *out,
                    struct err *err)
{
    AUTO_BUF struct buf box = BUF_INIT(BOX_MAX);
    unsigned char seed[ED25519_SEED_SIZE], nonce[BOX_NONCE_SIZE];
    char name[NATS_NKEY_TEXT_SIZE];
    struct nats_nkey sender;
    struct nats_xkey public_key;
    int rc;

    chance_bytes(seed, sizeof(seed));
    chance_bytes(nonce, sizeof(nonce));
    nats_nkey_make(NATS_NKEY_USER, seed, &sender);
    ed25519_wipe(seed, sizeof(seed));
    nats_xkey_of(&sender, &public_key);
    nats_xkey_print(&public_key, name);
    rc = nats_xkey_seal(&sender, masters, nonce, plain, &box, err);
    nats_nkey_done(&sender);
    if (rc < 0)
        return -1;
    buf_printf(out, BEGIN "%s,", name);
    base64_encode(buf_view(&box), BASE64_STANDARD, out);
    buf_add_text(out, END);
    return 0;
}

static int seal_one(struct arena *arena, const struct nats_xkey *masters, const struct job *job,
                    const struct value_pair *pair, struct value_map *out, struct err *err)
{
    AUTO_BUF struct buf plain = BUF_INIT(PLAIN_MAX), text = BUF_INIT(BUF_NO_LIMIT);
    const struct str path = pair->key.s;
    int rc;

    if (path.n > PATH_MAX_BYTES || pair->value.s.n > SECRET_ARGS_VALUE_MAX)
        return err_set(err, ERR_LIMIT,
                       "secret argument '%.64s' is too large: %zu bytes, the limit is %zu", path.p,
                       pair->value.s.n, SECRET_ARGS_VALUE_MAX);
    rc = begin_plain(job, path, &plain, err);
    buf_add_str(&plain, pair->value.s);
    if (rc == 0)
        rc = seal_box(masters, buf_view(&plain), &text, err);
    ed25519_wipe(plain.p, plain.n);
    if (rc == 0)
        value_map_set(arena, out, value_str(arena_str(arena, path)),
                      value_str(buf_copy(&text, arena)));
    return rc;
}

int secret_args_seal(struct arena *arena, const struct nats_xkey *masters, const struct job *job,
                     const struct value *plain, struct value *ret_sealed, struct err *err)
{
    struct value_map *out = value_map_new(arena, plain->map->count);

    if (plain->map->count > SECRET_ARGS_MAX)
        return err_set(err, ERR_LIMIT, "%zu secret arguments, the limit is %d", plain->map->count,
                       SECRET_ARGS_MAX);
    for (size_t i = 0; i < plain->map->count; i++)
        if (seal_one(arena, masters, job, &plain->map->pairs[i], out, err) < 0)
            return -1;
    *ret_sealed = value_map(out);
    return 0;
}

/* --- opening -------------------------------------------------------------------------- */

/* "ENC[xkey,SENDER,BASE64]" */
static int read_box(struct str text, struct nats_xkey *ret_sender, struct buf *box, struct err *err)
{
    struct str rest = text, sender;

    if (!str_starts(text, STR(BEGIN)) || !str_ends(text, STR(END)))
        return err_set(err, ERR_INVALID, "not a box");
    rest.p += sizeof(BEGIN) - 1;
    rest.n -= sizeof(BEGIN) - 1 + sizeof(END) - 1;
    sender = str_cut(&rest, ',');
    if (!rest.p)
        return err_set(err, ERR_INVALID, "not a box");
    if (nats_xkey_parse(sender, ret_sender, err) < 0)
        return -1;
    return base64_decode_strict(rest, BASE64_STANDARD, box, err);
}

static int open_box(const struct nats_nkey *account, const struct job *job,
                    const struct value_pair *pair, struct buf *plain, struct buf *expected,
                    struct err *err)
{
    AUTO_BUF struct buf box = BUF_INIT(BOX_MAX);
    struct nats_xkey sender;

    if (read_box(pair->value.s, &sender, &box, err) < 0 ||
        nats_xkey_open(account, &sender, buf_view(&box), plain, err) < 0 ||
        begin_plain(job, pair->key.s, expected, err) < 0)
        return -1;
    if (plain->full || plain->n < expected->n || memcmp(plain->p, expected->p, expected->n) != 0)
        return err_set(err, ERR_INVALID, "it was sealed for another call");
    return 0;
}

static int open_one(struct arena *arena, const struct nats_nkey *account, const struct job *job,
                    const struct value_pair *pair, struct value_map *out, struct err *err)
{
    AUTO_BUF struct buf plain = BUF_INIT(PLAIN_MAX), expected = BUF_INIT(PLAIN_MAX);
    int rc;

    if (pair->key.kind != VALUE_STR || pair->value.kind != VALUE_STR ||
        pair->key.s.n > PATH_MAX_BYTES)
        return err_set(err, ERR_INVALID, "a secret argument cannot be read");
    rc = open_box(account, job, pair, &plain, &expected, err);
    if (rc == 0)
        value_map_set(arena, out, value_str(arena_str(arena, pair->key.s)),
                      value_str(arena_str(
                          arena, (struct str){ plain.p + expected.n, plain.n - expected.n })));
    else
        (void)err_wrap(err, "secret argument '%.*s'", STR_ARG(pair->key.s));
    ed25519_wipe(plain.p, plain.n);
    return rc;
}

int secret_args_open(struct arena *arena, const struct nats_nkey *account, const struct job *job,
                     struct value *ret_plain, struct err *err)
{
    struct value plain;

    *ret_plain = value_null();
    if (!job_has_secrets(job))
        return 0;
    if (job->sealed.map->count > SECRET_ARGS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d secret arguments", SECRET_ARGS_MAX);
    plain = value_map(value_map_new(arena, job->sealed.map->count));
    for (size_t i = 0; i < job->sealed.map->count; i++)
        if (open_one(arena, account, job, &job->sealed.map->pairs[i], plain.map, err) < 0) {
            secret_args_wipe(&plain);
            return -1;
        }
    *ret_plain = plain;
    return 0;
}

void secret_args_wipe(struct value *plain)
{
    for (size_t i = 0; plain->kind == VALUE_MAP && i < plain->map->count; i++)
        if (plain->map->pairs[i].value.kind == VALUE_STR)
            ed25519_wipe((void *)(uintptr_t)plain->map->pairs[i].value.s.p,
                         plain->map->pairs[i].value.s.n);
}
