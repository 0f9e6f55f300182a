#include "fleet/bus/keyring.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "fleet/bus/accounts.h"
#include "core/data/value.h"
#include "fleet/nats/jwt.h"
#include "fleet/nats/nkey.h"

#define TAG          "zester-keys:"
#define TAG_MAX      ((size_t)1024)
#define SIGNING_KEYS "signing_keys"
#define TAGS         "tags"

static bool has_listed_key(struct param_strs list, const char *text)
{
    for (size_t i = 0; i < list.n; i++)
        if (strcmp(list.p[i], text) == 0)
            return true;
    return false;
}

/* An item of a list of the claims; NULL: it is not a list. */
static const struct value_list *find_claim_list(const struct value *claims, const char *key)
{
    const struct value *part = value_get(claims, "nats");
    const struct value *list = part ? value_get(part, key) : NULL;

    return list && list->kind == VALUE_LIST ? list->list : NULL;
}

/* --- the tag ------------------------------------------------------------------------ */

static bool is_keyring_tag(const struct value *item)
{
    return item->kind == VALUE_STR && str_starts(item->s, STR(TAG));
}

static bool is_account_key(struct str text)
{
    struct nats_nkey key;
    struct err err;

    return nats_nkey_parse_public(text, &key, &err) == 0 && key.kind == NATS_NKEY_ACCOUNT;
}

static int read_keys(struct arena *arena, struct str rest, struct keyring *ring, struct err *err)
{
    const char **keys = ARENA_ARRAY(arena, const char *, KEYRING_KEYS_MAX);

    while (rest.p) {
        const struct str key = str_cut(&rest, ',');

        if (ring->keys.n == KEYRING_KEYS_MAX || !is_account_key(key))
            return err_set(err, ERR_INVALID, "not a list of up to %d public keys of accounts",
                           KEYRING_KEYS_MAX);
        keys[ring->keys.n++] = arena_strndup(arena, key.p, key.n);
    }
    ring->keys.p = keys;
    return 0;
}

static int read_tag(struct arena *arena, struct str tag, struct keyring *ret, struct err *err)
{
    struct keyring ring = { 0 };
    int64_t *const numbers[] = { &ring.generation, &ring.since, &ring.spread };
    struct str rest = str_from_offset(tag, strlen(TAG));
    struct err why;

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (!rest.p || number_parse_int(str_cut(&rest, ':'), numbers[i], &why) < 0 ||
            *numbers[i] < 0)
            return err_set(err, ERR_INVALID, "tag '%.*s' of the account: expected a number",
                           STR_ARG(tag));
    if (ring.generation == 0 || read_keys(arena, rest, &ring, &why) < 0 || ring.keys.n == 0)
        return err_set(err, ERR_INVALID, "tag '%.*s' of the account cannot be read", STR_ARG(tag));
    *ret = ring;
    return 0;
}

/* As it is written, whatever the list of signing keys says. */
static int find_ring(struct arena *arena, const struct value *claims, struct keyring *ret,
                     struct err *err)
{
    const struct value_list *tags = find_claim_list(claims, TAGS);

    *ret = (struct keyring){ 0 };
    for (size_t i = 0; tags && i < tags->count; i++)
        if (is_keyring_tag(&tags->items[i]))
            return read_tag(arena, tags->items[i].s, ret, err);
    return 0;
}

static const char *print_keyring_tag(struct arena *arena, const struct keyring *ring)
{
    AUTO_BUF struct buf text = BUF_INIT(TAG_MAX);

    buf_printf(&text, TAG "%" PRId64 ":%" PRId64 ":%" PRId64 ":", ring->generation, ring->since,
               ring->spread);
    for (size_t i = 0; i < ring->keys.n; i++)
        buf_printf(&text, "%s%s", i > 0 ? "," : "", ring->keys.p[i]);
    return buf_copy(&text, arena).p;
}

/* --- reading ------------------------------------------------------------------------ */

static bool is_claim_listed(const struct value_list *list, const char *key)
{
    for (size_t i = 0; list && i < list->count; i++)
        if (value_is(&list->items[i], VALUE_STR) && str_eq_text(list->items[i].s, key))
            return true;
    return false;
}

int keyring_read(struct arena *arena, const struct value *claims, struct keyring *ret_ring,
                 struct err *err)
{
    const struct value_list *listed = find_claim_list(claims, SIGNING_KEYS);
    const char **keys = ARENA_ARRAY(arena, const char *, KEYRING_KEYS_MAX);
    struct keyring ring;
    size_t n = 0;

    if (find_ring(arena, claims, &ring, err) < 0)
        return -1;
    for (size_t i = 0; i < ring.keys.n; i++)
        if (accounts_read_border(claims).version > 0 || is_claim_listed(listed, ring.keys.p[i]))
            keys[n++] = ring.keys.p[i];
    ring.keys = (struct param_strs){ n, keys };
    *ret_ring = ring;
    return 0;
}

int keyring_read_jwt(struct arena *arena, struct str jwt, struct keyring *ret_ring, struct err *err)
{
    struct value claims;

    if (nats_jwt_decode(arena, str_trim(jwt), &claims, err) < 0)
        return -1;
    return keyring_read(arena, &claims, ret_ring, err);
}

/* --- writing ------------------------------------------------------------------------ */

static void set_list(struct arena *arena, struct value *part, const char *key,
                     struct value_list *list)
{
    const struct value name = value_text(key);

    if (list->count > 0)
        value_map_set(arena, part->map, name, value_list(list));
    else
        (void)value_map_remove(part->map, &name);
}

void keyring_write(struct arena *arena, const struct keyring *ring, struct value *claims)
{
    const struct value_list *listed = find_claim_list(claims, SIGNING_KEYS);
    const struct value_list *tags = find_claim_list(claims, TAGS);
    struct value_list *new_keys = value_list_new(arena, 0), *new_tags = value_list_new(arena, 0);
    struct value part = *value_get(claims, "nats");
    struct keyring before = { 0 };
    struct err err;

    (void)find_ring(arena, claims, &before, &err); /* a tag that cannot be read is replaced */
    for (size_t i = 0; listed && i < listed->count; i++) {
        const struct value *item = &listed->items[i];

        if (item->kind != VALUE_STR ||
            (!has_listed_key(before.keys, item->s.p) && !has_listed_key(ring->keys, item->s.p)))
            value_list_push(arena, new_keys, *item);
    }
    for (size_t i = 0; i < ring->keys.n; i++)
        if (accounts_read_border(claims).version == 0 || is_claim_listed(listed, ring->keys.p[i]))
            value_list_push(arena, new_keys, value_text(ring->keys.p[i]));
    for (size_t i = 0; tags && i < tags->count; i++)
        if (!is_keyring_tag(&tags->items[i]))
            value_list_push(arena, new_tags, tags->items[i]);
    if (ring->generation > 0)
        value_list_push(arena, new_tags, value_text(print_keyring_tag(arena, ring)));
    set_list(arena, &part, SIGNING_KEYS, new_keys);
    set_list(arena, &part, TAGS, new_tags);
}

/* --- deciding ----------------------------------------------------------------------- */

bool keyring_has(const struct keyring *ring, const char *key)
{
    return has_listed_key(ring->keys, key);
}

const char *keyring_current(const struct keyring *ring)
{
    return ring->keys.n > 0 ? ring->keys.p[0] : NULL;
}

bool keyring_is_newer(const struct keyring *ring, const struct keyring *other)
{
    const char *ours = keyring_current(ring), *theirs = keyring_current(other);

    if (ring->generation != other->generation)
        return ring->generation > other->generation;
    if (ring->since != other->since)
        return ring->since > other->since;
    return strcmp(ours ? ours : "", theirs ? theirs : "") > 0;
}

int keyring_add(struct arena *arena, const struct keyring *ring, const char *key, int64_t now,
                int64_t spread, struct keyring *ret_ring, struct err *err)
{
    const char **keys = ARENA_ARRAY(arena, const char *, KEYRING_KEYS_MAX);
    size_t n = 0;

    if (ring->keys.n == KEYRING_KEYS_MAX)
        return err_set(err, ERR_LIMIT, "the account has %d signing keys, which is the limit",
                       KEYRING_KEYS_MAX);
    keys[n++] = key;
    for (size_t i = 0; i < ring->keys.n; i++)
        keys[n++] = ring->keys.p[i];
    *ret_ring = (struct keyring){
        .generation = ring->generation + 1, .since = now, .spread = spread, .keys = { n, keys }
    };
    return 0;
}

struct keyring keyring_drop_older(const struct keyring *ring)
{
    struct keyring after = *ring;

    after.generation++;
    after.keys.n = ring->keys.n > 0 ? 1 : 0;
    return after;
}

struct keyring keyring_copy(struct arena *arena, const struct keyring *ring)
{
    const char **keys = ARENA_ARRAY(arena, const char *, KEYRING_KEYS_MAX);
    struct keyring copy = *ring;

    for (size_t i = 0; i < ring->keys.n; i++)
        keys[i] = arena_strdup(arena, ring->keys.p[i]);
    copy.keys.p = keys;
    return copy;
}
