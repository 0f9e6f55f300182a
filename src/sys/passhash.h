/*
 * passhash - hashes of passwords, as they stand in /etc/shadow.
 *
 * The library that makes them is loaded when it is first needed.
 *
 * Threads: any.
 */
#ifndef SYS_PASSHASH_H
#define SYS_PASSHASH_H

#include <stdbool.h>

struct arena;
struct err;

/* Is `hash` one of this password? A hash of no known kind is of none. */
int passhash_matches(const char *password, const char *hash, bool *ret, struct err *err);
/* A new hash, with a salt of its own: SHA-512, which every system knows. */
int passhash_make(struct arena *arena, const char *password, const char **ret, struct err *err);

#endif
