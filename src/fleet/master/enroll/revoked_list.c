#include "fleet/master/enroll/revoked_list.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "fleet/bus/claims.h"
#include "fleet/bus/identity.h"
#include "fleet/master/enroll/revocation.h"
#include "fleet/wire/enrollment.h"
#include "fleet/wire/operator.h"

struct revoked_key {
    char *key;
    int64_t since;   /* credentials issued until then; seconds since 1970 */
    int64_t expires; /* expiry of the credentials; 0: unknown */
    bool is_operator;
};

void revoked_list_done(struct revoked_list *list)
{
    MAP_EACH (&list->keys, entry) {
        struct revoked_key *revoked = entry->value;

        free(revoked->key);
        free(revoked);
    }
    map_done(&list->keys);
}

size_t revoked_list_count(const struct revoked_list *list)
{
    return map_count(&list->keys);
}

bool revoked_list_has(const struct revoked_list *list, const char *key, int64_t issued)
{
    const struct revoked_key *revoked = map_find(&list->keys, str_from(key));

    return revoked && issued <= revoked->since;
}

bool revoked_list_has_key(const struct revoked_list *list, const char *key)
{
    return map_has(&list->keys, str_from(key));
}

static struct revoked_key *add_revoked_key(struct revoked_list *list, const char *key,
                                           int64_t since, int64_t expires)
{
    struct revoked_key *revoked = map_find(&list->keys, str_from(key));

    if (!revoked) {
        revoked = mem_zalloc(sizeof(*revoked));
        revoked->key = mem_strdup(key);
        (void)map_set(&list->keys, str_from(revoked->key), revoked);
    }
    if (since > revoked->since)
        revoked->since = since;
    if (expires > revoked->expires)
        revoked->expires = expires;
    return revoked;
}

void revoked_list_add_record(struct revoked_list *list, const struct enrollment *record)
{
    (void)add_revoked_key(list, record->public_key, enrollment_revoked_until(record),
                          record->expires_at.seconds);
}

bool revoked_list_add_operator(struct revoked_list *list, const struct operator_policy *policy)
{
    bool is_any = false;

    VEC_EACH (&policy->keys.list, key) {
        if (key->revoked.seconds == 0)
            continue;
        /* a key has one JWT, which was issued before its expiry */
        add_revoked_key(list, key->public_key,
                        key->expires.seconds > key->revoked.seconds ? key->expires.seconds
                                                                    : key->revoked.seconds,
                        key->expires.seconds)
            ->is_operator = true;
        is_any = true;
    }
    return is_any;
}

/* The bus may have lost its records. Credentials issued until then expire after their maximum
 * lifetime. */
void revoked_list_add_claims(struct revoked_list *list, const struct claims_account *claims)
{
    const struct value *revocations = &claims->revocations;

    for (size_t i = 0; revocations->kind == VALUE_MAP && i < revocations->map->count; i++) {
        const struct value_pair *pair = &revocations->map->pairs[i];

        if (value_is(&pair->key, VALUE_STR) && !str_is(pair->key.s, CLAIMS_ALL) &&
            value_is(&pair->value, VALUE_INT))
            (void)add_revoked_key(list, pair->key.s.p, pair->value.i,
                                  pair->value.i + IDENTITY_PEEL_SECONDS);
    }
}

/* Expired credentials need no entry. */
static bool is_needed(const struct revoked_key *revoked, int64_t now)
{
    return revoked->expires == 0 || revoked->expires + REVOCATION_SLACK_SECONDS > now;
}

struct value revoked_list_value(const struct revoked_list *list, struct arena *arena, int64_t now)
{
    struct value_map *map = value_map_new(arena, map_count(&list->keys));

    MAP_EACH (&list->keys, entry) {
        const struct revoked_key *revoked = entry->value;

        if (is_needed(revoked, now))
            value_map_set(arena, map, value_text(revoked->key), value_int(revoked->since));
    }
    return value_map(map);
}

struct value revoked_list_operators(const struct revoked_list *list, struct arena *arena)
{
    struct value_map *map = value_map_new(arena, 0);

    MAP_EACH (&list->keys, entry) {
        const struct revoked_key *revoked = entry->value;

        if (revoked->is_operator)
            value_map_set(arena, map, value_text(revoked->key), value_int(revoked->expires));
    }
    return value_map(map);
}

bool revoked_list_has_more(const struct revoked_list *list, const struct claims_account *claims,
                           int64_t now)
{
    MAP_EACH (&list->keys, entry) {
        const struct revoked_key *revoked = entry->value;
        const struct value *there = value_get(&claims->revocations, revoked->key);

        if (is_needed(revoked, now) && (!value_is(there, VALUE_INT) || there->i < revoked->since))
            return true;
    }
    return false;
}
