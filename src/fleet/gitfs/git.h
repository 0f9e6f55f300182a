/*
 * git - runs git for repositories that this program manages.
 *
 * The environment does not influence git (variables GIT_* are removed); there is no password
 * prompt, no hook runs, and only https, ssh and files are allowed. The system's and the user's
 * configuration apply, with proxies, certificates and credential helpers. The URL is passed in
 * git's environment, not in its arguments, which all users of the machine can read.
 *
 *     const struct git git = { .arena = arena, .dir = ".../web.git", .remote = remote };
 *     git_run(&git, GIT("rev-parse", "HEAD"), &text, err);
 *
 * Blocks; for workers. Memory: the arena. Threads: any.
 */
#ifndef FLEET_GITFS_GIT_H
#define FLEET_GITFS_GIT_H

#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct cancel;
struct err;
struct process_result;
struct remote;

/* Timeout for local operations, and for a first clone. */
#define GIT_LOCAL_NS (INT64_C(120) * 1000000000)
#define GIT_CLONE_NS (INT64_C(300) * 1000000000)

struct git {
    struct arena *arena;
    const struct cancel *cancel; /* NULL: not cancelable */
    const char *dir;             /* the repository; NULL: the one of `work` */
    const char *work;            /* where it runs; NULL: the root folder */
    const struct remote *remote; /* its URL is that of the remote `origin`; NULL: none */
    int64_t timeout;             /* 0: GIT_LOCAL_NS */
};

#define GIT(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* The exit status is a result; no git, a timeout and a cancel are errors. */
int git_try(const struct git *git, const char *const *words, struct process_result *ret,
            struct err *err);
/* An exit status other than 0 is an error, too, with git's message. `ret_text`, which may be NULL,
 * is the trimmed output. */
int git_run(const struct git *git, const char *const *words, struct str *ret_text, struct err *err);
/* The same for an output of one word, as of rev-parse. */
int git_ask(const struct git *git, const char *const *words, const char **ret_text,
            struct err *err);

#endif
