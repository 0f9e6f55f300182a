/*
 * authkeys - what ssh_auth.* states say of a key, and the file that it belongs into.
 *
 *     authkeys_validate (when the state is read) -> authkeys_find_file ->
 *     authkeys_check or authkeys_apply
 *
 * Folder and file are made as sshd wants them: 0700 and 0600, owned by the user.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef MODULES_SSH_AUTH_AUTHKEYS_H
#define MODULES_SSH_AUTH_AUTHKEYS_H

#include <stdbool.h>

#include "data/params.h"

struct diags;
struct err;
struct state_run;
struct value;

struct authkeys_args {
    const char *name; /* a blob, or a line */
    const char *user, *config, *enc, *comment, *source, *source_hash;
    struct param_strs options;
    bool absent;
};

/* clang-format off */
#define AUTHKEYS_PARAMS(type, in)                                                                                     \
    PARAM("name", STR, type, in.name, "the public key: its base64, or a whole line", .flags = PARAM_REQUIRED | PARAM_PRIMARY), \
    PARAM("user", STR, type, in.user, "whose key file"),                                                               \
    PARAM("config", STR, type, in.config, "the file: a path, or one below the home of the user; %h is the home, %u the user", .flags = PARAM_FILLED), \
    PARAM("enc", STR, type, in.enc, "kind of the key when the name is only its base64", .default_text = "ssh-rsa"),    \
    PARAM("source", STR, type, in.source, "a file with keys, instead of the name"),                                    \
    PARAM("source_hash", STR, type, in.source_hash, "sha256=... (or sha512, sha1, md5) of the source, or a file of checksums")
/* clang-format on */

int authkeys_validate(const struct authkeys_args *args, const struct value *where,
                      struct diags *diags);
int authkeys_check(struct state_run *run, const struct authkeys_args *args, struct err *err);
int authkeys_apply(struct state_run *run, const struct authkeys_args *args, struct err *err);

#endif
