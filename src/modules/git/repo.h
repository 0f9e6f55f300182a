/*
 * repo - a git working copy, through the git program.
 *
 * git never asks for a password here: what it would ask for is an error. It runs with the rights of
 * who owns the copy, and runs no program that the copy names (modules/git/guard.h).
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef MODULES_GIT_REPO_H
#define MODULES_GIT_REPO_H

#include <stdbool.h>
#include <stdint.h>

#include "data/params.h"

struct diags;
struct err;
struct process_result;
struct state_run;
struct value;

/* What both states of git have in common. */
struct repo_args {
    const char *url, *path, *branch, *rev, *remote, *user, *identity;
    const char *https_user, *https_pass;
    int64_t depth;
    bool force, submodules;
    bool bare, mirror; /* no working copy: modules/mirror.h */
};

/* clang-format off */
#define REPO_PARAMS(type, in)                                                                                     \
    PARAM("branch", STR, type, in.branch, "branch or tag", .flags = PARAM_FILLED),                                  \
    PARAM("rev", STR, type, in.rev, "commit, tag or branch; wins over branch", .flags = PARAM_FILLED),              \
    PARAM("depth", INT, type, in.depth, "commits of history that a clone gets; 0: all", PARAM_RANGE(0, INT32_MAX)), \
    PARAM("remote", STR, type, in.remote, "name of the remote", .default_text = "origin"),                         \
    PARAM("user", STR, type, in.user, "who runs git and owns what it makes; without it the owner of the copy, or of the folder it is made in", .aliases = "runas"), \
    PARAM("identity", PATH, type, in.identity, "file of the private key for ssh"),                                  \
    PARAM("https_user", STR, type, in.https_user, "name for a repository over https", .flags = PARAM_FILLED),       \
    PARAM("https_pass", STR, type, in.https_pass, "its password", .flags = PARAM_FILLED | PARAM_SECRET),            \
    PARAM("submodules", BOOL, type, in.submodules, "submodules too")
/* clang-format on */

int repo_validate(const struct repo_args *args, const struct value *where, struct diags *diags);

/* git in the working copy (or anywhere, with a NULL path); words end in NULL. */
int repo_try(struct state_run *run, const struct repo_args *args, const char *path,
             const char *const *words, struct process_result *ret, struct err *err);
/* The same; its failure is an error. `ret`, trimmed, may be NULL. */
int repo_git(struct state_run *run, const struct repo_args *args, const char *path,
             const char *const *words, struct str *ret, struct err *err);

/* What a working copy is now. */
struct repo {
    bool exists;        /* something is at the path */
    bool is_repo;       /* and it is a working copy, or what else is wanted */
    const char *url;    /* of the remote; NULL: none */
    const char *head;   /* commit; NULL: none */
    const char *branch; /* NULL: none is checked out */
};
int repo_look(struct state_run *run, const struct repo_args *args, struct repo *ret,
              struct err *err);

/* The commit that a name stands for here; NULL when it stands for none. */
int repo_resolve(struct state_run *run, const struct repo_args *args, const char *name,
                 const char **ret_commit, struct err *err);
/* Is `rev` what is checked out? */
int repo_is_at(struct state_run *run, const struct repo_args *args, const struct repo *now,
               const char *rev, bool *ret, struct err *err);

/* Clone, with the folders above it; what was made is noted for repo_revert. */
int repo_clone(struct state_run *run, const struct repo_args *args, struct err *err);
/* Make the folder and run git with these words, which put a repository into it. */
int repo_make(struct state_run *run, const struct repo_args *args, const char *const *words,
              struct err *err);
/* In a fresh clone: go to `rev`, also when its history is too short to hold it. */
int repo_check_out_rev(struct state_run *run, const struct repo_args *args, struct err *err);
/* Point the remote to the url, if it does not. */
int repo_set_url(struct state_run *run, const struct repo_args *args, const struct repo *now,
                 struct err *err);
/* ERR_NOT_FOUND when what is wanted is not in the repository. */
int repo_fetch(struct state_run *run, const struct repo_args *args, struct err *err);
int repo_update_submodules(struct state_run *run, const struct repo_args *args, struct err *err);
/* Before something moves: note where everything was. */
int repo_note(struct state_run *run, const struct repo *now, struct err *err);
/* Point the remote to where it pointed when it was noted. */
int repo_restore_url(struct state_run *run, const struct repo_args *args, struct err *err);
/* Remove a clone that was made here, else go back to where it was. */
int repo_revert(struct state_run *run, const struct repo_args *args, struct err *err);

#endif
