/*
 * fleet_issuers - groups peels by the signing key of their credentials, from their enrollment
 * records.
 *
 * Pure. Memory: the arena of the enrollments. Threads: any.
 */
#ifndef FLEET_VIEW_ISSUERS_H
#define FLEET_VIEW_ISSUERS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/data/params.h"

struct fleet_enrollments;

struct issuer_peels {
    VEC(const char *) list; /* names */
};

/* Peels with unexpired credentials. */
struct fleet_issuers {
    struct issuer_peels current; /* of the key in use */
    struct issuer_peels older;   /* of a key that is still accepted */
    struct issuer_peels account; /* of the account itself */
    struct issuer_peels unmoved; /* of the fleet's account, although peels have their own */
    struct issuer_peels gone;    /* of a key that is no longer accepted; they must renew first */
    size_t unreadable;           /* peels with a malformed record */
};

/* Which credentials are accepted. */
struct fleet_issuer_keys {
    struct param_strs signing; /* the one in use first */
    const char *account;       /* of peels; NULL: they are in the fleet's */
};
/* `now` in seconds since 1970. */
void fleet_issuers_sort(const struct fleet_enrollments *enrollments,
                        const struct fleet_issuer_keys *keys, int64_t now,
                        struct fleet_issuers *ret_issuers);

#endif
