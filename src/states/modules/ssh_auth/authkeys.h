/*
 * authkeys - the ssh_auth.* states: a key and its file.
 *
 *     authkeys_validate (when the state is read) -> authkeys_check or authkeys_apply
 *
 * Folder and file are created as sshd requires: 0700 and 0600, owned by the user.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_SSH_AUTH_AUTHKEYS_H
#define STATES_MODULES_SSH_AUTH_AUTHKEYS_H

#include <stdbool.h>

#include "core/data/params.h"

struct diags;
struct err;
struct state_run;
struct value;

struct authkeys_args {
    const char *name; /* a blob, or a line */
    const char *user, *config, *enc, *comment, *source, *source_hash;
    struct param_strs options;
    struct param_strs keys; /* for ssh_auth.manage: exactly these */
    bool absent;            /* set by authkeys_check and authkeys_apply */
};

/* clang-format off */
#define AUTHKEYS_PARAMS(type, in)                                                                                     \
    PARAM("name", STR, type, in name, "the public key: its base64, or a whole line", .flags = PARAM_REQUIRED | PARAM_PRIMARY), \
    AUTHKEYS_FILE_PARAMS(type, in)
#define AUTHKEYS_FILE_PARAMS(type, in)                                                                                \
    PARAM("user", STR, type, in user, "the user who owns the key file"),                                                               \
    PARAM("config", STR, type, in config, "the file: a path, absolute or below the user's home; %h is the home, %u the user", .flags = PARAM_FILLED), \
    PARAM("enc", STR, type, in enc, "type of a key that is given as its base64 only", .default_text = "ssh-rsa"),    \
    PARAM("source", STR, type, in source, "a file with keys, instead of the name"),                                    \
    PARAM("source_hash", STR, type, in source_hash, "hash of the source: sha256=... (or sha512, sha1, md5), or a file of checksums")
/* For states that add keys. */
#define AUTHKEYS_ADDED_PARAMS(type)                                                                                   \
    PARAM("comment", STR, type, comment, "comment of a key that is added"),                                           \
    PARAM("options", STRS, type, options, "options of a key that is added: no-pty, command=\"...\", from=\"...\""),   \
    PARAM_IDLE("fingerprint_hash_type", "keys are compared whole")
/* clang-format on */

int authkeys_validate(const void *raw, const struct value *where, struct diags *diags);
/* The same for ssh_auth.manage. */
int authkeys_validate_keys(const void *raw, const struct value *where, struct diags *diags);
int authkeys_check(struct state_run *run, const struct authkeys_args *args, bool absent,
                   struct err *err);
int authkeys_apply(struct state_run *run, const struct authkeys_args *args, bool absent,
                   struct err *err);

/* The functions of a state whose arguments are authkeys_args, for keys that are present or
 * absent. */
#define AUTHKEYS_STATE(is_absent)                                                                  \
    static int state_check(struct state_run *run, const void *args, struct err *err)               \
    {                                                                                              \
        return authkeys_check(run, args, is_absent, err);                                          \
    }                                                                                              \
    static int state_apply(struct state_run *run, const void *args, struct err *err)               \
    {                                                                                              \
        return authkeys_apply(run, args, is_absent, err);                                          \
    }
#define AUTHKEYS_STATE_FIELDS                                                                      \
    .args_size = sizeof(struct authkeys_args), .check = state_check, .apply = state_apply

#endif
