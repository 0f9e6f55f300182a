/*
 * repos - a repository of packages as states speak of it, and the files it stands in.
 *
 *     repos_validate (when the state is read) -> repos_check, repos_apply
 *
 * with repos_resolve for what shall be there, and repos_absent_find for what shall go.
 *
 * Files are edited, not owned, unless they are named after the repository: what
 * others wrote into them stays.
 *
 * Memory: the arena of the run. Threads: as packages.
 */
#ifndef MODULES_PKGREPO_REPOS_H
#define MODULES_PKGREPO_REPOS_H

#include <stdbool.h>

#include "base/str.h"
#include "base/vec.h"
#include "data/params.h"

struct diags;
struct err;
struct packages;
struct state_run;
struct value;

#define REPOS_APT_LIST     "/etc/apt/sources.list"
#define REPOS_APT_KEYRINGS "/etc/apt/keyrings"

struct repos_args {
    const char *name, *humanname, *baseurl, *mirrorlist, *ppa, *file, *dist;
    struct param_strs comps, architectures;
    const char *key_url, *key_hash, *signedby;
    struct str key_text;
    struct param_strmap options;
    enum param_tristate aptkey;
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
    bool hidden; /* of no use for people: no diff */
};

struct repos_files {
    VEC(struct repos_file) list; /* keys before what needs them */
};

/* Which files a repository means. */
typedef int repos_fn(struct packages *packages, const struct repos_args *args,
                     struct repos_files *ret_files, struct err *err);
/* Those of one that shall be there; of one that shall not: repos_absent.h. */
repos_fn repos_resolve;

/* Is it a whole 'deb' line? NULL is none. */
bool repos_is_line(const char *text);
/* A file as it is; `ret` is valid until the next one. */
int repos_add_file(struct packages *packages, struct repos_files *files, const char *path,
                   struct repos_file **ret, struct err *err);

/* Of states whose arguments are a repos_wish. */
int repos_validate(const void *wish, const struct value *where, struct diags *diags);
/* Say what differs. */
int repos_check(struct state_run *run, const struct repos_wish *wish, repos_fn *find,
                struct err *err);
/* Write, or remove, what differs, then refresh the index when `refresh`. An index that cannot be
 * refreshed puts the files back, so that the next run tries again. `verb` is for the report. */
int repos_apply(struct state_run *run, const struct repos_wish *wish, repos_fn *find,
                const char *verb, struct err *err);

#endif
