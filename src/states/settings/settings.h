/*
 * settings - values for a machine: Salt's pillar.
 *
 * A folder of files with a top file, which assigns them to machines:
 *
 *     top.zy            base: {'*': [common], 'web*': [web.nginx]}
 *     common.zy         ports: {http: 80}
 *     web/nginx.zy      ports: {https: 443}
 *
 * A reference is a path with dots: web.nginx is web/nginx.zy or web/nginx/init.zy, or
 * the same with .sls. Files are rendered as templates, in the order of the top file,
 * with facts and the settings so far; maps are merged deeply, anything else is
 * replaced by the later file. A file may include others, which come before it:
 *
 *     include:
 *       - users
 *       - users.bob: {key: 'accounts:bob', defaults: {shell: /bin/sh}}
 *
 * A value with the tag !secret, and all below it, is marked VALUE_SECRET. One with !encrypted or
 * !secret_from is an error: masters replace it by a placeholder (states/settings/placeholder.h),
 * which `open_secret` fills in before later files see it. Placeholders are valid only in the text
 * of a loaded file: one from a fact or another machine is plain text.
 *
 * All mistakes of all files are reported at once. Memory: the arena. Threads: any.
 */
#ifndef STATES_SETTINGS_SETTINGS_H
#define STATES_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "language/jinja/dotted.h"
#include "states/settings/placeholder.h"
#include "language/target/target.h"

#define SETTINGS_FILE_MAX     ((size_t)4 << 20)
#define SETTINGS_RENDERED_MAX ((size_t)16 << 20)
#define SETTINGS_FILES_MAX    5000 /* rendered for one machine */
#define SETTINGS_DEPTH_MAX    32   /* include depth */

/* Shared values of the fleet: a map of peel IDs to values. */
struct settings_shared {
    const char *target, *type, *name;
    const char *scope; /* a second target expression, over the settings so far; "": none */
};
typedef int settings_basket_fn(void *user, const struct settings_shared *question,
                               struct arena *arena, struct value *ret, struct err *err);

struct settings_options {
    const char *folder;              /* if missing, there are no settings */
    const struct map *files;         /* see states/settings/folder.h; NULL: all are on disk */
    struct target_subject subject;   /* the machine: id and facts */
    const struct value *grains;      /* facts in Salt's form, for templates; NULL: the facts */
    const struct value *groups;      /* for targets, or NULL */
    const char *environment;         /* of the machine (language/target/top.h), or NULL */
    const struct builtins *builtins; /* NULL: those of language/jinja/filters/builtins.h */
    dotted_fn *salt;                 /* handles other salt['...'] calls; NULL: none */
    dotted_names_fn *salt_names;     /* their names */
    void *salt_user;
    settings_basket_fn *basket; /* for basket() and mine.get; NULL: no shared values */
    void *basket_user;
    placeholder_fn *open_secret; /* NULL: placeholders stay as they are */
    void *secret_user;
    /* Called with the document of each file: its marked values are secrets, which a mistake of a
     * later file may quote. NULL: not called. */
    void (*read)(void *user, const struct value *doc);
    void *read_user;
    bool strict_templates; /* an undefined name is an error, not empty */
};

/* Sets a map. Returns -1 when it added to `diags`. Settings files without a top file are a mistake.
 *  */
int settings_load(struct arena *arena, const struct settings_options *options,
                  const struct value **ret_settings, struct diags *diags);

#endif
