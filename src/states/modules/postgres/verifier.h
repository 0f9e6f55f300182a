/*
 * verifier - what PostgreSQL stores of a password: md5 of password and role, or SCRAM-SHA-256
 * (RFC 7677) with salt.
 *
 *     md5 and 32 digits
 *     SCRAM-SHA-256$4096:SALT$STORED:SERVER     with base64 of salt and keys
 *
 * Made here, so that a password is never sent, and not written to the log of a server. Passwords
 * are taken as they are; those that SASLprep would change are not normalised.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_MODULES_POSTGRES_VERIFIER_H
#define STATES_MODULES_POSTGRES_VERIFIER_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;
struct err;

enum verifier_kind { VERIFIER_MD5, VERIFIER_SCRAM };

#define VERIFIER_SALT_SIZE 16

/* Is it what a server stores, and not a password? */
bool verifier_is(struct str text);
enum verifier_kind verifier_kind_of(struct str text);

/* `salt` is for SCRAM; the caller chooses it. */
int verifier_make(struct arena *arena, enum verifier_kind kind, const char *role,
                  const char *password, const unsigned char salt[static VERIFIER_SALT_SIZE],
                  const char **ret, struct err *err);
/* Is `stored` of this password? */
int verifier_matches(struct arena *arena, struct str stored, const char *role, const char *password,
                     bool *ret, struct err *err);

#endif
