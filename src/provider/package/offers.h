/*
 * package_offers - what the repositories of a manager have.
 *
 *     package_offers_ask -> package_offers_find...
 *
 * Memory: the arena of the host. Threads: any.
 */
#ifndef PROVIDER_PACKAGE_OFFERS_H
#define PROVIDER_PACKAGE_OFFERS_H

#include <stddef.h>

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

struct arena;
struct err;
struct package_host;
struct package_manager;

/* What the repositories have of a package. */
struct package_offer {
    const char *name;
    const char *candidate; /* the version that would be installed; NULL: none */
    VEC(const char *) versions;
};

struct package_offers {
    struct map by_name; /* to struct package_offer, in the order of the question */
};

/* What repositories have of these packages (ends in NULL), from the index as it is. A package
 * that is nowhere is not in the answer. */
int package_offers_ask(const struct package_manager *manager, const struct package_host *host,
                       const char *const *names, struct package_offers *ret_offers,
                       struct err *err);
/* NULL when it is not one that was asked for, or nowhere. */
struct package_offer *package_offers_find(const struct package_offers *offers, struct str name);

/* The name of a package nearest to one that is nowhere; a NULL view when none is near, or nobody
 * can tell. */
struct str package_offers_suggest(const struct package_manager *manager,
                                  const struct package_host *host, const char *name);

/* --- for the readers of managers ----------------------------------------------------------- */

/* A reader is given offers with the names that were asked for; other names, and lines that make no
 * sense, are passed over. */

/* `version` can be had; the newest is the candidate when the reader sets none. */
void package_offer_add(struct package_offer *offer, struct arena *arena, struct str version);
/* How many blanks a line begins with. */
size_t package_offers_indent(struct str line);
/* Cut the next word, whatever blanks and ends of lines are before it. */
struct str package_offers_word(struct str *rest);

#endif
