/*
 * sanitize - a file of settings as every machine may read it: secrets become placeholders.
 *
 *     password: !encrypted hunter2
 *     password: !secret_from vault:db#password
 *     password: '__ZESTER_SECRET:db.zy:db.password__'
 *
 * The first is the secret itself, the second says where masters get it
 * (states/settings/secret_ref.h). A placeholder names the file and the path in it, so that equal
 * paths of two files are two secrets. The rest of the text stays as it is, byte for byte: comments,
 * template tags, order; and each line keeps its number. Files are templates, so tags are blanked
 * out before the text is read as YAML; positions stay.
 *
 * When in doubt the file is refused: a value that has a template tag in it, a map or a key that is
 * tagged, !encrypted in a comment, a text that is not YAML around its tags.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef STATES_SETTINGS_SANITIZE_H
#define STATES_SETTINGS_SANITIZE_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct err;

#define SANITIZE_ENCRYPTED   "!encrypted"
#define SANITIZE_SECRET_FROM "!secret_from"
/* Both; NULL ends them. */
extern const char *const sanitize_tags[];

struct sanitize_secret {
    const char *name; /* in the placeholder */
    struct str text;  /* the secret, or a reference that can be parsed */
    bool is_reference;
};

struct sanitized {
    struct str text;
    VEC(struct sanitize_secret) secrets;
};

/* `path` is that of the file below the folder of settings. Fails with ERR_INVALID; no words of the
 * file are in the error. */
int sanitize_settings(struct arena *arena, const char *path, struct str text, struct sanitized *ret,
                      struct err *err);

#endif
