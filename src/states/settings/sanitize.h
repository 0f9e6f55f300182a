/*
 * sanitize - prepares a settings file for all machines: secrets become placeholders.
 *
 *     password: !encrypted hunter2
 *     password: !secret_from vault:db#password
 *     password: '__ZESTER_SECRET:db.zy:db.password__'
 *
 * The first is the secret itself, the second refers to a back-end of the masters
 * (states/settings/secret_ref.h). A placeholder names the file and the path in it, so equal paths
 * of two files are two secrets. The rest of the text is unchanged, byte for byte: comments,
 * template tags, order, line numbers. Files are templates, so tags are blanked out before the text
 * is parsed as YAML; positions stay.
 *
 * When in doubt the file is refused: a secret value with a template tag, a tagged map or key,
 * !encrypted in a comment, invalid YAML around the tags.
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
/* Both, terminated by NULL. */
extern const char *const sanitize_tags[];

struct sanitize_secret {
    const char *name; /* in the placeholder */
    struct str text;  /* the secret, or a valid reference */
    bool is_reference;
};

struct sanitized {
    struct str text;
    VEC(struct sanitize_secret) secrets;
};

/* `path` is relative to the settings folder. Fails with ERR_INVALID; the error quotes nothing from
 * the file. */
int sanitize_settings(struct arena *arena, const char *path, struct str text, struct sanitized *ret,
                      struct err *err);

#endif
