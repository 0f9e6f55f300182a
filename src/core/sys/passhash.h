/*
 * passhash - hashes of passwords, as in /etc/shadow.
 *
 * The library is loaded on first use.
 *
 * Threads: any.
 */
#ifndef CORE_SYS_PASSHASH_H
#define CORE_SYS_PASSHASH_H

#include <stdbool.h>

struct arena;
struct err;

/* Is `hash` a hash of this password? False for an unknown kind. */
int passhash_matches(const char *password, const char *hash, bool *ret, struct err *err);
/* A new hash with a random salt: SHA-512, which every system supports. */
int passhash_make(struct arena *arena, const char *password, const char **ret, struct err *err);

#endif
