/*
 * package_offers - the packages available from repositories.
 *
 *     package_offers_ask -> package_offers_find...
 *
 * Memory: the arena of the host. Threads: any.
 */
#ifndef STATES_PROVIDER_PACKAGE_OFFERS_H
#define STATES_PROVIDER_PACKAGE_OFFERS_H

#include <stddef.h>

#include "core/base/map.h"
#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct err;
struct package_host;
struct package_manager;

/* The available versions of a package. */
struct package_offer {
    const char *name;
    const char *candidate; /* the version that would be installed; NULL: none */
    VEC(const char *) versions;
};

struct package_offers {
    struct map by_name; /* to struct package_offer, in the order of the query */
};

/* The available versions of these packages (ends in NULL), from the index as it is. An unknown
 * package is not in the result. */
int package_offers_ask(const struct package_manager *manager, const struct package_host *host,
                       const char *const *names, struct package_offers *ret_offers,
                       struct err *err);
/* NULL if it was not queried, or is unknown. */
struct package_offer *package_offers_find(const struct package_offers *offers, struct str name);

/* The package name nearest to an unknown one; a NULL view when none is close. */
struct str package_offers_suggest(const struct package_manager *manager,
                                  const struct package_host *host, const char *name);

/* --- for manager readers ------------------------------------------------------------------- */

/* A reader gets offers with the queried names; it skips other names and malformed lines. */

/* `version` is available; the newest is the candidate unless the reader sets one. */
void package_offer_add(struct package_offer *offer, struct arena *arena, struct str version);
/* The number of leading blanks of a line. */
size_t package_offers_indent(struct str line);
/* Cut the next word, skipping blanks and newlines before it. */
struct str package_offers_word(struct str *rest);

#endif
