/*
 * repo - a git working copy, through the git program.
 *
 * git never prompts for a password: that is an error. It runs with the rights of the owner of the
 * copy, and runs no program that the copy names (states/modules/git/guard.h).
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_GIT_REPO_H
#define STATES_MODULES_GIT_REPO_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/params.h"

struct diags;
struct err;
struct process_result;
struct state_run;
struct value;

/* Parameters of both git states. */
struct repo_args {
    const char *url, *path, *branch, *rev, *remote, *user, *identity;
    const char *https_user, *https_pass;
    int64_t depth;
    bool force, submodules;
    bool no_tags;      /* a fetch brings only tags of the commits that it brings */
    bool bare, mirror; /* not a working copy: states/modules/git/mirror.h */
};

/* clang-format off */
#define REPO_PARAMS(type, in)                                                                                     \
    PARAM("branch", STR, type, in.branch, "branch or tag", .flags = PARAM_FILLED),                                  \
    PARAM("rev", STR, type, in.rev, "commit, tag or branch; wins over branch", .flags = PARAM_FILLED),              \
    PARAM("depth", INT, type, in.depth, "depth of history to clone; 0: all", PARAM_RANGE(0, INT32_MAX)), \
    PARAM("remote", STR, type, in.remote, "name of the remote", .default_text = "origin"),                         \
    PARAM("user", STR, type, in.user, "user that runs git and owns the files (default: the owner of the copy or of its parent folder)", .aliases = "runas"), \
    PARAM("identity", PATH, type, in.identity, "private key file for ssh"),                                  \
    PARAM("https_user", STR, type, in.https_user, "user name for https", .flags = PARAM_FILLED),       \
    PARAM("https_pass", STR, type, in.https_pass, "password for https", .flags = PARAM_FILLED | PARAM_SECRET),            \
    PARAM("submodules", BOOL, type, in.submodules, "update submodules too")
/* clang-format on */

int repo_validate(const struct repo_args *args, const struct value *where, struct diags *diags);

/* Run git in the working copy (or anywhere, with a NULL path); arguments end in NULL. */
int repo_try(struct state_run *run, const struct repo_args *args, const char *path,
             const char *const *words, struct process_result *ret, struct err *err);
/* The same; its failure is an error. `ret`, trimmed, may be NULL. */
int repo_git(struct state_run *run, const struct repo_args *args, const char *path,
             const char *const *words, struct str *ret, struct err *err);

/* The current state of a working copy. */
struct repo {
    bool exists;        /* the path exists */
    bool is_repo;       /* and is a working copy, or a bare repository */
    const char *url;    /* remote URL; NULL: none */
    const char *head;   /* commit; NULL: none */
    const char *branch; /* NULL: none is checked out */
};
int repo_look(struct state_run *run, const struct repo_args *args, struct repo *ret,
              struct err *err);

/* The commit that a name resolves to here; NULL: none. */
int repo_resolve(struct state_run *run, const struct repo_args *args, const char *name,
                 const char **ret_commit, struct err *err);
/* Could it be a commit, abbreviated or not? */
bool repo_is_hex(const char *text);
/* Is `rev` checked out? */
int repo_is_at(struct state_run *run, const struct repo_args *args, const struct repo *now,
               const char *rev, bool *ret, struct err *err);

/* Clone, with missing parent folders; noted for repo_revert. */
int repo_clone(struct state_run *run, const struct repo_args *args, struct err *err);
/* Make the folder and run git with these words, which put a repository into it. */
int repo_make(struct state_run *run, const struct repo_args *args, const char *const *words,
              struct err *err);
/* In a fresh clone: check out `rev`, fetching it if the shallow history does not have it. */
int repo_check_out_rev(struct state_run *run, const struct repo_args *args, struct err *err);
/* Set the URL of the remote, if it differs. */
int repo_set_url(struct state_run *run, const struct repo_args *args, const struct repo *now,
                 struct err *err);
/* ERR_NOT_FOUND when the repository does not have the wanted revision. */
int repo_fetch(struct state_run *run, const struct repo_args *args, struct err *err);
int repo_update_submodules(struct state_run *run, const struct repo_args *args, struct err *err);
/* Note the current revision and branch before a change. */
int repo_note(struct state_run *run, const struct repo *now, struct err *err);
/* Restore the noted URL of the remote. */
int repo_restore_url(struct state_run *run, const struct repo_args *args, struct err *err);
/* Remove a clone that the run made, else go back to the noted revision. */
int repo_revert(struct state_run *run, const struct repo_args *args, struct err *err);

#endif
