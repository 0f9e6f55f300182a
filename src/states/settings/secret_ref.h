/*
 * secret_ref - a reference to a secret in a back-end of the masters.
 *
 *     password: !secret_from vault:databases/main#password
 *                            name  path           field
 *
 * The field is optional. "{id}" in the path stands for the ID of the target machine. Facts are not
 * allowed in a path, since a machine chooses them itself.
 *
 * Pure. Memory: parts are views of the text. Threads: any.
 */
#ifndef STATES_SETTINGS_SECRET_REF_H
#define STATES_SETTINGS_SECRET_REF_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;
struct err;

#define SECRET_REF_NAME_MAX  32
#define SECRET_REF_PATH_MAX  512
#define SECRET_REF_FIELD_MAX 128
#define SECRET_REF_ID        "{id}"

struct secret_ref {
    struct str name, path;
    struct str field; /* empty: the whole value */
};

/* Is this a valid back-end name? */
bool secret_ref_is_name(struct str name);

/* Fails with ERR_INVALID, which names the invalid part. */
int secret_ref_parse(struct str text, struct secret_ref *ret, struct err *err);

/* The path for a machine, in the arena. */
const char *secret_ref_path(struct arena *arena, const struct secret_ref *ref, const char *machine);

#endif
