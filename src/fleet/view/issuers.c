#include "fleet/view/issuers.h"

#include <string.h>

#include "fleet/view/enrollments.h"
#include "fleet/wire/peel_id.h"

/* One that was approved may have credentials from before: then it says when they end. */
static bool has_valid_credentials(const struct enrollment *record, int64_t now)
{
    return (record->state == ENROLLMENT_ISSUED || record->state == ENROLLMENT_ACTIVE ||
            record->state == ENROLLMENT_APPROVED) &&
           record->expires_at.seconds > now;
}

static struct issuer_peels *find_issuer_group(struct fleet_issuers *issuers,
                                              const struct fleet_issuer_keys *keys,
                                              const char *issuer)
{
    if (!issuer || !issuer[0])
        return keys->account ? &issuers->unmoved : &issuers->account;
    if (keys->account && strcmp(issuer, keys->account) == 0)
        return &issuers->account;
    for (size_t i = 0; i < keys->signing.n; i++)
        if (strcmp(keys->signing.p[i], issuer) == 0)
            return i == 0 ? &issuers->current : &issuers->older;
    return &issuers->gone;
}

void fleet_issuers_sort(const struct fleet_enrollments *enrollments,
                        const struct fleet_issuer_keys *keys, int64_t now,
                        struct fleet_issuers *ret_issuers)
{
    struct arena *arena = enrollments->arena;
    size_t read = 0;

    *ret_issuers = (struct fleet_issuers){ 0 };
    VEC_EACH (&enrollments->records, record) {
        if (!map_has(&enrollments->current, str_from(record->id)))
            continue;
        read++;
        if (has_valid_credentials(record, now))
            VEC_PUSH_IN(arena, &find_issuer_group(ret_issuers, keys, record->issuer)->list,
                        peel_id_name(arena, record->peel_id));
    }
    ret_issuers->unreadable = map_count(&enrollments->current) - read;
}
