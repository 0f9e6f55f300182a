/*
 * secret_ref - where the value of a setting is kept: in a secret back-end of the masters.
 *
 *     password: !secret_from vault:databases/main#password
 *                            name  path           field
 *
 * The field is optional. "{id}" in the path stands for the name of the machine that the value is
 * for. Nothing else of a machine can be in a path, since a machine chooses its facts itself.
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

/* Can a back-end be called this? */
bool secret_ref_is_name(struct str name);

/* Fails with ERR_INVALID, which says what is wrong with which part. */
int secret_ref_parse(struct str text, struct secret_ref *ret, struct err *err);

/* The path for a machine, in the arena. */
const char *secret_ref_path(struct arena *arena, const struct secret_ref *ref, const char *machine);

#endif
