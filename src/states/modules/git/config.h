/*
 * config - one file of git's configuration: that of a repository, or of a user.
 *
 *     config_validate (when the state is read) -> config_open -> config_keep -> config_git
 *
 * The file is kept for a revert before git writes it.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_GIT_CONFIG_H
#define STATES_MODULES_GIT_CONFIG_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/params.h"

struct diags;
struct err;
struct state_run;
struct value;

struct config_args {
    const char *name, *repo, *user;
    bool global;
};

/* clang-format off */
#define CONFIG_PARAMS(type, in)                                                                                        \
    PARAM("name", STR, type, in.name, "the key: user.email", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),  \
    PARAM("repo", PATH, type, in.repo, "the repository that it is for"),                                               \
    PARAM("global", BOOL, type, in.global, "it is for all repositories of the user"),                                  \
    PARAM("user", STR, type, in.user, "user that runs git; with 'global', the owner of the configuration", .aliases = "runas"), \
    PARAM_IDLE("password", "Windows only"),                                                                            \
    PARAM_IDLE("output_encoding", "the output of git is not converted")
/* clang-format on */

struct config_pair {
    const char *key;
    struct str value;
};

struct git_config {
    const char *path;
    const char *repo; /* whose owner runs git; NULL: the user */
    const struct config_args *args;
    VEC(struct config_pair) pairs;
};

int config_validate(const struct config_args *args, const struct value *where, struct diags *diags);
/* Which file it is, and what is in it; one that is not there is empty. */
int config_open(struct state_run *run, const struct config_args *args, struct git_config *ret,
                struct err *err);
/* git config with these words, for the file. */
int config_git(struct state_run *run, const struct git_config *config, const char *const *words,
               struct err *err);
/* Before the first of them: the file comes back with a revert. */
int config_keep(struct state_run *run, const struct git_config *config, struct err *err);

#endif
