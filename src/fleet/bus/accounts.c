#include "fleet/bus/accounts.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/number.h"
#include "core/base/sha256.h"
#include "fleet/bus/claims.h"
#include "fleet/bus/grant.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/nats/header.h"
#include "fleet/nats/jwt.h"
#include "fleet/wire/subject.h"

#define VOUCHER     "zester-account:"
#define VOUCHER_MAX ((size_t)256)
/* Signed together with the public key that is confirmed. */
#define VOUCHER_TEXT "zester-account-v1\n"
#define INFO_MAX     ((size_t)4096)

static const struct {
    const char *name;
    const char *label;         /* of the derivation; must never change */
    enum grant_role reference; /* has all that users of the account may do */
} roles[ACCOUNT_ROLES] = {
    [ACCOUNT_FLEET] = { "zester", NULL, GRANT_MASTER },
    [ACCOUNT_PEELS] = { "zester-peels", "zester account of peels v1", GRANT_PEEL },
    [ACCOUNT_OPERATORS] = { "zester-operators", "zester account of operators v1", GRANT_OPERATOR },
};

/* Subjects on which the fleet asks peels, rather than telling them. */
static const enum subject_kind requests[] = { SUBJECT_COMMAND, SUBJECT_UPDATE_PEEL };
/* Subjects without a name in them, where the server is to say who asks. */
static const enum subject_kind anonymous[] = { SUBJECT_RESOLVE };

/* --- keys ----------------------------------------------------------------------------- */

void accounts_derive(const struct nats_nkey *fleet, struct accounts *ret_accounts)
{
    const struct str secret = { (const char *)fleet->seed, sizeof(fleet->seed) };
    unsigned char seed[SHA256_SIZE];

    ret_accounts->keys[ACCOUNT_FLEET] = *fleet;
    for (size_t i = ACCOUNT_FLEET + 1; i < ACCOUNT_ROLES; i++) {
        sha256_hmac(secret, str_from(roles[i].label), seed);
        nats_nkey_make(NATS_NKEY_ACCOUNT, seed, &ret_accounts->keys[i]);
    }
    ed25519_wipe(seed, sizeof(seed));
    for (size_t i = 0; i < ACCOUNT_ROLES; i++)
        nats_nkey_print_public(&ret_accounts->keys[i], ret_accounts->public_keys[i]);
}

void accounts_done(struct accounts *accounts)
{
    for (size_t i = 0; i < ACCOUNT_ROLES; i++)
        nats_nkey_done(&accounts->keys[i]);
}

const char *accounts_name(enum account_role role)
{
    return roles[role].name;
}

/* --- exports and imports -------------------------------------------------------------- */

struct crossing {
    const char *subject;
    bool is_service;   /* else a stream */
    bool is_outward;   /* the other account exports it, not the fleet's */
    bool is_anonymous; /* the header needs the name of the user */
    bool is_delivery;  /* answers of masters, and what their consumers deliver */
};

struct crossings {
    VEC(struct crossing) list;
};

static bool is_subject_of_kinds(const char *pattern, const enum subject_kind *kinds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_BUF struct buf text = BUF_INIT(SUBJECT_MAX);
        struct err err;

        if (subject_print_pattern(&text, kinds[i], NULL, &err) == 0 &&
            strcmp(buf_text(&text), pattern) == 0)
            return true;
    }
    return false;
}

/* nats-server refuses imports that overlap. */
static bool is_covered(struct param_strs list, size_t at)
{
    for (size_t i = 0; i < list.n; i++)
        if (i != at && grant_covers(list.p[i], list.p[at]))
            return true;
    return false;
}

static void add_crossings(struct arena *arena, struct param_strs list,
                          void (*fill_in)(struct crossing *crossing), struct crossings *out)
{
    for (size_t i = 0; i < list.n; i++) {
        struct crossing crossing = { .subject = list.p[i] };

        if (is_covered(list, i))
            continue;
        fill_in(&crossing);
        VEC_PUSH_IN(arena, &out->list, crossing);
    }
}

/* JetStream or a master answers, whatever the reply subject is. */
static void fill_peel_publish(struct crossing *crossing)
{
    crossing->is_service = true;
    crossing->is_anonymous =
        is_subject_of_kinds(crossing->subject, anonymous, ARRAY_LEN(anonymous));
}

static void fill_peel_hear(struct crossing *crossing)
{
    crossing->is_service = crossing->is_outward =
        is_subject_of_kinds(crossing->subject, requests, ARRAY_LEN(requests));
}

/* Only masters hear it, and they look at the reply subject. */
static void fill_operator_publish(struct crossing *crossing)
{
    crossing->is_outward = true;
}

static void fill_operator_hear(struct crossing *crossing)
{
    (void)crossing;
}

/* Everything that crosses between the fleet's account and that of this role. */
static int list_crossings(struct arena *arena, enum account_role role, struct crossings *ret,
                          struct err *err)
{
    struct grants grants;

    *ret = (struct crossings){ 0 };
    if (grant_patterns(arena, roles[role].reference, &grants, err) < 0)
        return -1;
    if (role == ACCOUNT_PEELS) {
        add_crossings(arena, grants.allow[GRANT_PUBLISH], fill_peel_publish, ret);
        add_crossings(arena, grants.allow[GRANT_SUBSCRIBE], fill_peel_hear, ret);
        return 0;
    }
    add_crossings(arena, grants.allow[GRANT_PUBLISH], fill_operator_publish, ret);
    add_crossings(arena, grants.allow[GRANT_SUBSCRIBE], fill_operator_hear, ret);
    VEC_PUSH_IN(
        arena, &ret->list,
        (struct crossing){ .subject = arena_printf(arena, "%s.>", grant_operator_inbox(arena, "*")),
                           .is_delivery = true });
    return 0;
}

static void put_account_text(struct arena *arena, struct value_map *map, const char *key,
                             const char *text)
{
    value_map_set(arena, map, value_text(key), value_text(text));
}

/* `account` is the exporter's, for an import; NULL: it is an export. */
static struct value make_entry(struct arena *arena, const struct crossing *crossing,
                               const char *account)
{
    struct value_map *map = value_map_new(arena, 5);

    put_account_text(arena, map, "name", crossing->subject);
    put_account_text(arena, map, "subject", crossing->subject);
    put_account_text(arena, map, "type", crossing->is_service ? "service" : "stream");
    if (account)
        put_account_text(arena, map, "account", account);
    else if (crossing->is_service)
        put_account_text(arena, map, "response_type", "Singleton");
    if (account && crossing->is_anonymous)
        value_map_set(arena, map, value_text("share"), value_bool(true));
    return value_map(map);
}

struct lists {
    struct value_list *exports, *imports;
};

/* Subjects that cross between two accounts, as listed in the claims of `role`. */
static void add_crossing(struct arena *arena, const struct accounts *accounts,
                         const struct crossing *crossing, enum account_role exporter,
                         enum account_role importer, enum account_role role, struct lists *lists)
{
    if (role == exporter)
        value_list_push(arena, lists->exports, make_entry(arena, crossing, NULL));
    if (role == importer)
        value_list_push(arena, lists->imports,
                        make_entry(arena, crossing, accounts->public_keys[exporter]));
}

/* The border of one other account. */
static int add_account_border(struct arena *arena, const struct accounts *accounts,
                              enum account_role other, enum account_role role, struct lists *lists,
                              struct err *err)
{
    struct crossings crossings;

    if (list_crossings(arena, other, &crossings, err) < 0)
        return -1;
    VEC_EACH (&crossings.list, crossing) {
        if (crossing->is_outward)
            add_crossing(arena, accounts, crossing, other, ACCOUNT_FLEET, role, lists);
        else
            add_crossing(arena, accounts, crossing, ACCOUNT_FLEET, other, role, lists);
        /* what came from peels as a service does not go on to a third account */
        if (other == ACCOUNT_OPERATORS && !crossing->is_outward && !crossing->is_delivery)
            add_crossing(arena, accounts, crossing, ACCOUNT_PEELS, other, role, lists);
    }
    return 0;
}

static bool is_border_tag(const struct value *item)
{
    return item->kind == VALUE_STR && str_starts(item->s, STR(ACCOUNTS_TAG));
}

static const struct value_list *find_tags(const struct value *claims)
{
    const struct value *part = value_get(claims, "nats");
    const struct value *tags = part ? value_get(part, "tags") : NULL;

    return tags && tags->kind == VALUE_LIST ? tags->list : NULL;
}

static void write_tag(struct arena *arena, int64_t since, struct value *claims,
                      struct value_map *part)
{
    const struct accounts_border border = accounts_read_border(claims);
    const struct value_list *before = find_tags(claims);
    struct value_list *tags = value_list_new(arena, 2);

    for (size_t i = 0; before && i < before->count; i++)
        if (!is_border_tag(&before->items[i]))
            value_list_push(arena, tags, before->items[i]);
    value_list_push(arena, tags,
                    value_text(arena_printf(arena, ACCOUNTS_TAG "%d:%" PRId64, ACCOUNTS_VERSION,
                                            border.version > 0 ? border.since : since)));
    value_map_set(arena, part, value_text("tags"), value_list(tags));
}

int accounts_write(struct arena *arena, const struct accounts *accounts, enum account_role role,
                   int64_t since, struct value *claims, struct err *err)
{
    struct lists lists = { value_list_new(arena, 32), value_list_new(arena, 32) };
    struct value_map *part = value_get(claims, "nats")->map;

    for (size_t i = ACCOUNT_FLEET + 1; i < ACCOUNT_ROLES; i++)
        if (add_account_border(arena, accounts, (enum account_role)i, role, &lists, err) < 0)
            return -1;
    value_map_set(arena, part, value_text("exports"), value_list(lists.exports));
    value_map_set(arena, part, value_text("imports"), value_list(lists.imports));
    if (role == ACCOUNT_FLEET)
        write_tag(arena, since, claims, part);
    return 0;
}

struct accounts_border accounts_read_border(const struct value *claims)
{
    const struct value_list *tags = find_tags(claims);
    struct accounts_border border = { 0 };
    struct err err;

    for (size_t i = 0; tags && i < tags->count; i++) {
        struct str rest;

        if (!is_border_tag(&tags->items[i]))
            continue;
        rest = str_from_offset(tags->items[i].s, strlen(ACCOUNTS_TAG));
        if (number_parse_int(str_cut(&rest, ':'), &border.version, &err) == 0 && rest.p &&
            number_parse_int(rest, &border.since, &err) == 0)
            return border;
    }
    return (struct accounts_border){ 0 };
}

int accounts_read_jwt(struct str jwt, struct accounts_border *ret_border, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value claims;

    if (nats_jwt_decode(&arena, str_trim(jwt), &claims, err) < 0)
        return -1;
    *ret_border = accounts_read_border(&claims);
    return 0;
}

struct accounts_border accounts_find_border(struct str jwt)
{
    struct accounts_border border;
    struct err err;

    return accounts_read_jwt(jwt, &border, &err) == 0 ? border : (struct accounts_border){ 0 };
}

/* --- vouchers ------------------------------------------------------------------------- */

static const char *voucher_text(struct arena *arena, const char *account)
{
    return arena_printf(arena, VOUCHER_TEXT "%s", account);
}

const char *accounts_vouch(struct arena *arena, const struct nats_nkey *fleet, const char *account)
{
    AUTO_BUF struct buf tag = BUF_INIT(VOUCHER_MAX);
    unsigned char signature[ED25519_SIGNATURE_SIZE];
    char fleet_key[NATS_NKEY_TEXT_SIZE];

    nats_nkey_print_public(fleet, fleet_key);
    nats_nkey_sign(fleet, str_from(voucher_text(arena, account)), signature);
    buf_printf(&tag, VOUCHER "%s:", fleet_key);
    base64_encode((struct str){ (const char *)signature, sizeof(signature) }, BASE64_URL, &tag);
    return buf_copy(&tag, arena).p;
}

static const char *find_voucher(const struct claims_user *claims)
{
    for (size_t i = 0; i < claims->tags.n; i++)
        if (str_starts(str_from(claims->tags.p[i]), STR(VOUCHER)))
            return claims->tags.p[i];
    return NULL;
}

const char *accounts_issuer(const struct claims_user *claims)
{
    return claims->issuer_account && claims->issuer_account[0] ? claims->issuer_account
                                                               : claims->head.iss;
}

bool accounts_is_separate(const struct claims_user *claims)
{
    return find_voucher(claims) != NULL;
}

static bool check_voucher(struct arena *arena, struct str fleet, struct str signature,
                          const char *account)
{
    AUTO_BUF struct buf bytes = BUF_INIT(ED25519_SIGNATURE_SIZE);
    struct nats_nkey key;
    struct err err;

    return nats_nkey_parse_public(fleet, &key, &err) == 0 && key.kind == NATS_NKEY_ACCOUNT &&
           base64_decode_strict(signature, BASE64_URL, &bytes, &err) == 0 &&
           bytes.n == ED25519_SIGNATURE_SIZE &&
           nats_nkey_verify(&key, str_from(voucher_text(arena, account)),
                            (const unsigned char *)bytes.p);
}

int accounts_find_fleet(struct arena *arena, const struct claims_user *claims,
                        const char **ret_account, struct err *err)
{
    const char *issuer = accounts_issuer(claims), *voucher = find_voucher(claims);
    struct str rest, fleet;

    if (!voucher) {
        *ret_account = issuer;
        return 0;
    }
    rest = str_from_offset(str_from(voucher), strlen(VOUCHER));
    fleet = str_cut(&rest, ':');
    if (!rest.p || !check_voucher(arena, fleet, rest, issuer))
        return err_set(err, ERR_UNSAFE,
                       "the credentials' account '%s' is not confirmed by the fleet", issuer);
    *ret_account = arena_str(arena, fleet).p;
    return 0;
}

/* --- messages ------------------------------------------------------------------------- */

bool accounts_is_from(struct str header, const char *account)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *found;
    struct value info;
    struct str line;
    struct err err;

    if (!nats_header_find(header, ACCOUNTS_REQUEST_INFO, &line) || line.n > INFO_MAX ||
        json_decode(&arena, line, &info, &err) < 0)
        return false;
    found = value_get_text(&info, "acc");
    return found && strcmp(found, account) == 0;
}
