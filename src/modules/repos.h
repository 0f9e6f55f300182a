/*
 * repos - a repository of packages as states speak of it, and the files it stands in.
 *
 *     repos_validate (when the state is read) -> repos_resolve -> repos_refresh
 *     repos_find_absent                                           for what shall go
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

/* A file as it is and as it shall be. A NULL view: not there. */
struct repos_file {
    const char *path;
    struct str old, now;
};

struct repos_files {
    VEC(struct repos_file) list; /* keys before what needs them */
};

int repos_validate(const struct repos_args *args, const struct value *where, struct diags *diags);

/* The files of a repository that shall be there. */
int repos_resolve(struct packages *packages, const struct repos_args *args,
                  struct repos_files *ret_files, struct err *err);
/* Those of one that shall not; name and file say which. */
int repos_find_absent(struct packages *packages, const struct repos_args *args,
                      struct repos_files *ret_files, struct err *err);

/* Say what differs. */
void repos_tell(struct state_run *run, const struct repos_files *files);
/* Write, or remove, what differs, then refresh the index when `refresh`. An index that cannot be
 * refreshed puts the files back, so that the next run tries again. */
int repos_apply(struct packages *packages, const struct repos_files *files, bool refresh,
                struct err *err);

#endif
