/*
 * operator_book - the operators of a fleet: their policies on the bus, and new credentials.
 *
 * Memory: the arena of the fleet. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_OPERATOR_OPERATOR_BOOK_H
#define COMMANDS_CLI_FLEET_OPERATOR_OPERATOR_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "fleet/wire/operator.h"

struct err;
struct fleet;

struct operator_book {
    VEC(struct operator_policy) list; /* by name; those that were removed, too */
};

int operator_book_read(struct fleet *fleet, struct operator_book *ret_book, struct err *err);

/* One of them. Fails with ERR_NOT_FOUND, also for one that was removed unless `with_removed`. */
int operator_book_find(struct fleet *fleet, const char *name, bool with_removed,
                       struct operator_policy *ret_policy, uint64_t *ret_revision, struct err *err);
/* In place of `revision`; 0: a new one. */
int operator_book_write(struct fleet *fleet, const struct operator_policy *policy,
                        uint64_t revision, struct err *err);

/* Where new credentials come from and go to. */
struct operator_issue {
    const char *auth_dir; /* of the account's seed */
    const char *file;     /* must not exist */
    int64_t life;         /* nanoseconds */
};
/* Write credentials to the file, and add their key to the policy, which the caller writes. Keys
 * that have expired are forgotten. */
int operator_book_issue(struct fleet *fleet, const struct operator_issue *issue,
                        struct operator_policy *policy, struct err *err);
/* Remove the file, when the policy could not be written. */
void operator_book_withdraw(struct fleet *fleet, const struct operator_issue *issue);

/* "active", "expired" or "removed". */
const char *operator_book_state(const struct operator_policy *policy, int64_t now);
/* When the last of the keys ends; zero: there is none. */
struct value_time operator_book_end(const struct operator_policy *policy);

#endif
