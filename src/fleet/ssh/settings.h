/*
 * ssh_settings - the tree of settings, rendered for each machine.
 *
 * As on masters: files are read once, and an !encrypted secret is removed from its file and filled
 * in only for machines whose files have it. !secret_from is for masters, which have secret
 * back-ends.
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
    struct map files;   /* struct str by path; a NULL view: unchanged on disk */
    struct map secrets; /* struct sanitize_secret by name */
};

/* Fails with ERR_INVALID and the file name if a secret cannot be extracted. */
int ssh_settings_open(struct arena *arena, const char *folder, struct ssh_settings *ret,
                      struct err *err);
/* The settings for a machine with this name and facts. Returns -1 if it added to `diags`. */
int ssh_settings_render(const struct ssh_settings *settings, struct arena *arena, const char *name,
                        const struct value *facts, struct value *ret, struct diags *diags);

#endif
