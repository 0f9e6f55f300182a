/*
 * revoked_list - the revoked keys, for the claims of the accounts.
 *
 * Pure. Memory: its own; revoked_list_done frees it. Threads: one.
 */
#ifndef FLEET_MASTER_ENROLL_REVOKED_LIST_H
#define FLEET_MASTER_ENROLL_REVOKED_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/data/value.h"

struct claims_account;
struct enrollment;
struct operator_policy;

struct revoked_list {
    struct map keys; /* public key -> struct revoked_key */
};

void revoked_list_done(struct revoked_list *list);

size_t revoked_list_count(const struct revoked_list *list);
/* Is a credential of this key revoked that was issued then? */
bool revoked_list_has(const struct revoked_list *list, const char *key, int64_t issued);
bool revoked_list_has_key(const struct revoked_list *list, const char *key);

void revoked_list_add_record(struct revoked_list *list, const struct enrollment *record);
/* False: none of its keys is revoked. */
bool revoked_list_add_operator(struct revoked_list *list, const struct operator_policy *policy);
void revoked_list_add_claims(struct revoked_list *list, const struct claims_account *claims);

/* Key -> start of the revocation, for claims; expired ones are left out. */
struct value revoked_list_value(const struct revoked_list *list, struct arena *arena, int64_t now);
/* Operator key -> expiry of its credentials. */
struct value revoked_list_operators(const struct revoked_list *list, struct arena *arena);
/* Do the claims revoke less? */
bool revoked_list_has_more(const struct revoked_list *list, const struct claims_account *claims,
                           int64_t now);

#endif
