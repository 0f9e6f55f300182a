/*
 * api_token - the API tokens: names, secret files, and permissions.
 *
 *     api:
 *       tokens:
 *         - username: ci
 *           token_file: /etc/zester/api-tokens/ci
 *           role: operator
 *           target: web*
 *           functions: [state.*]
 *         - username: alice-laptop
 *           token_file: /etc/zester/api-tokens/alice
 *           operator: alice
 *
 * A token has a policy, as a named operator has (fleet/wire/operator.h): its own, or that of an
 * operator, which is read from the bus for each request.
 *
 * Files are read at every request, so that replacing a file replaces the secret. Secrets are
 * compared by digest in constant time.
 *
 *     api_tokens_read, with the configuration -> api_tokens_find, for each request
 *
 * Memory: tokens live in the arena of the configuration; secrets are wiped. Threads: any.
 */
#ifndef FLEET_MASTER_API_TOKEN_H
#define FLEET_MASTER_API_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/sha256.h"
#include "core/base/str.h"
#include "core/data/params.h"
#include "fleet/wire/operator.h"

struct arena;
struct diags;
struct value;

#define API_TOKENS_MAX     64
#define API_TOKEN_FILE_MAX 4096
/* Maximum length of a name. */
#define API_TOKEN_NAME_MAX 64
/* Shorter secrets can be guessed: they work, with a warning. */
#define API_TOKEN_SHORT 16

/* User prefix of tokens with their own policy; no operator name begins with it. */
#define API_USER_PREFIX "api:"

struct api_token {
    const char *username, *token_file;
    const char *operator_name;     /* the operator whose policy applies; NULL: its own */
    struct operator_policy policy; /* its own; the name is "api:<username>" */
    bool has_role;
};

struct api_tokens {
    size_t n;
    const struct api_token *p;
};

/* Reads the configured list; NULL: none. Every mistake goes to `diags`, with its place. */
void api_tokens_read(struct arena *arena, const struct value *list, struct api_tokens *ret,
                     struct diags *diags);

/* The keys of an item. */
extern const struct param api_token_params[];

struct api_digest {
    unsigned char bytes[SHA256_SIZE];
};

/* Returns the secret of "Bearer <secret>" (any case); false: there is none. */
bool api_token_bearer(const char *authorization, struct str *ret_secret);
struct api_digest api_token_digest(struct str secret);
bool api_token_same(const struct api_digest *a, const struct api_digest *b);

/* Is there a token with a policy of its own for this user, "api:<username>"? */
bool api_tokens_has_user(const struct api_tokens *tokens, const char *user);

/* Finds the token with this secret; NULL: none. Files are relative to `folder`. */
const struct api_token *api_tokens_find(const struct api_tokens *tokens, const char *folder,
                                        const struct api_digest *digest);

/* Log problems of the files: missing, empty, short, readable by others. */
void api_tokens_warn(const struct api_tokens *tokens, const char *folder);

#endif
