/*
 * repos - a repository of packages as states speak of it, and the files it stands in.
 *
 *     repos_validate (when the state is read) -> repos_check, repos_apply
 *
 * with repos_resolve for what shall be there, and repos_find_absent for what shall go.
 *
 * Files are edited, not owned, unless they are named after the repository: what
 * others wrote into them stays.
 *
 * Memory: the arena of the run. Threads: as packages.
 */
#ifndef MODULES_REPOS_H
#define MODULES_REPOS_H

#include <stdbool.h>

#include "base/str.h"
#include "base/vec.h"
#include "data/params.h"

struct diags;
struct err;
struct packages;
struct state_run;
struct value;

struct repos_args {
    const char *name, *humanname, *baseurl, *mirrorlist, *ppa, *file, *dist;
    struct param_strs comps, architectures;
    const char *key_url, *key_hash, *signedby;
    struct str key_text;
    struct param_strmap options;
    bool enabled, disabled, gpgcheck, clean_file;
};

/* The arguments of states. */
struct repos_wish {
    struct repos_args repo;
    bool refresh;
};

/* A file as it is and as it shall be. A NULL view: not there. */
struct repos_file {
    const char *path;
    struct str old, now;
};

struct repos_files {
    VEC(struct repos_file) list; /* keys before what needs them */
};

/* Which files a repository means. */
typedef int repos_fn(struct packages *packages, const struct repos_args *args,
                     struct repos_files *ret_files, struct err *err);
/* Those of one that shall be there. */
repos_fn repos_resolve;
/* Those of one that shall not; name and file say which. */
repos_fn repos_find_absent;

/* Of states whose arguments are a repos_wish. */
int repos_validate(const void *args, const struct value *where, struct diags *diags);
/* Say what differs. */
int repos_check(struct state_run *run, const struct repos_wish *wish, repos_fn *find,
                struct err *err);
/* Write, or remove, what differs, then refresh the index when `refresh`. An index that cannot be
 * refreshed puts the files back, so that the next run tries again. `verb` is for the report. */
int repos_apply(struct state_run *run, const struct repos_wish *wish, repos_fn *find,
                const char *verb, struct err *err);

#endif
