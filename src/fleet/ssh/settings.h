/*
 * ssh_settings - the tree of settings, from which each machine gets its own part.
 *
 * By the rules of masters: files are read once, and a secret that is written as !encrypted is taken
 * out of its file and filled in for those machines alone whose files have it. !secret_from is for
 * masters, which have secret back-ends.
 *
 *     ssh_settings_open -> ssh_settings_render...
 *
 * Memory: the arena of ssh_settings_open holds secrets; results are in that of the call. Threads:
 * any may render.
 */
#ifndef FLEET_SSH_SETTINGS_H
#define FLEET_SSH_SETTINGS_H

#include "core/base/map.h"

struct arena;
struct diags;
struct err;
struct value;

struct ssh_settings {
    const char *folder;
    struct map files;   /* struct str by path; a NULL view: as it is on disk */
    struct map secrets; /* struct sanitize_secret by name */
};

/* Fails with ERR_INVALID, and the file, where a secret cannot be taken out. */
int ssh_settings_open(struct arena *arena, const char *folder, struct ssh_settings *ret,
                      struct err *err);
/* What a machine with this name and these facts gets. Returns -1 when it added to `diags`. */
int ssh_settings_render(const struct ssh_settings *settings, struct arena *arena, const char *name,
                        const struct value *facts, struct value *ret, struct diags *diags);

#endif
