/*
 * api_token - who may use the API: names, the files with their secrets, and roles.
 *
 *     api:
 *       tokens:
 *         - username: ci
 *           token_file: /etc/zester/api-tokens/ci
 *         - username: dashboard
 *           token_file: /etc/zester/api-tokens/dashboard
 *           role: viewer
 *
 * A file is read at every request, so that a secret is replaced by replacing its file. Secrets are
 * compared by their digests and without a branch, so that the time tells nothing about them.
 *
 *     api_tokens_read, with the configuration -> api_tokens_find, for each request
 *
 * Memory: tokens live in the arena of the configuration; secrets are wiped. Threads: any.
 */
#ifndef MASTER_API_TOKEN_H
#define MASTER_API_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sha256.h"
#include "base/str.h"
#include "data/params.h"

struct arena;
struct diags;
struct value;

#define API_TOKENS_MAX     64
#define API_TOKEN_FILE_MAX 4096
/* Characters of a name. */
#define API_TOKEN_NAME_MAX 64
/* A secret with fewer can be guessed: it works, with a warning. */
#define API_TOKEN_SHORT 16

enum api_role {
    API_ROLE_ADMIN,
    API_ROLE_VIEWER, /* sees everything, changes nothing */
};
#define API_ROLES "admin|viewer"

struct api_token {
    const char *username, *token_file;
    enum api_role role;
};

struct api_tokens {
    size_t n;
    const struct api_token *p;
};

/* The list of the configuration; NULL: none. Every mistake goes to `diags`, at its place. */
void api_tokens_read(struct arena *arena, const struct value *list, struct api_tokens *ret,
                     struct diags *diags);

/* The keys of an item. */
extern const struct param api_token_params[];

struct api_digest {
    unsigned char bytes[SHA256_SIZE];
};

/* The secret of "Bearer <secret>", whatever the case of its first word; false: there is none. */
bool api_token_bearer(const char *authorization, struct str *ret_secret);
struct api_digest api_token_digest(struct str secret);
bool api_token_same(const struct api_digest *a, const struct api_digest *b);

/* Whose secret is it? NULL: nobody's. Files are relative to `folder`. */
const struct api_token *api_tokens_find(const struct api_tokens *tokens, const char *folder,
                                        const struct api_digest *digest);

/* Log what is wrong with the files: missing, empty, short, readable by others. */
void api_tokens_warn(const struct api_tokens *tokens, const char *folder);

#endif
