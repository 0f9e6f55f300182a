/*
 * package_repo - a package repository as declared by a state, and the files that define it.
 *
 * Each manager has a kind: where repositories are defined, which parts they support, and two
 * functions that compute the files of a repository: one to add it, one to remove it. Nothing is
 * written here. Files are edited, not owned, unless they are named after the repository: other
 * content stays.
 *
 *     package_repo_managed or package_repo_absent -> write what differs
 *
 * Memory: the arena of the host. Threads: any.
 */
#ifndef STATES_PROVIDER_PACKAGE_REPO_H
#define STATES_PROVIDER_PACKAGE_REPO_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/params.h"

struct arena;
struct buf;
struct err;
struct package_manager;

struct package_repo {
    const char *name, *humanname, *baseurl, *mirrorlist, *ppa, *file, *dist;
    struct param_strs comps, architectures;
    const char *key_url, *key_hash, *signedby;
    struct str key_text;
    struct param_strmap options;
    enum param_tristate aptkey;
    bool enabled, disabled, gpgcheck, clean_file;
};

/* Parts of a repository; a part that the kind does not support is an error, not ignored. */
enum package_repo_part {
    PACKAGE_REPO_LINE = 1 << 0, /* a whole 'deb' line as its name or address */
    PACKAGE_REPO_PPA = 1 << 1,
    PACKAGE_REPO_DIST = 1 << 2,
    PACKAGE_REPO_COMPS = 1 << 3,
    PACKAGE_REPO_ARCHITECTURES = 1 << 4,
    PACKAGE_REPO_KEY_TEXT = 1 << 5,
    PACKAGE_REPO_SIGNEDBY = 1 << 6,
    PACKAGE_REPO_KEY_URL = 1 << 7,
    PACKAGE_REPO_OPTIONS = 1 << 8,
    PACKAGE_REPO_MIRRORLIST = 1 << 9,
    PACKAGE_REPO_HUMANNAME = 1 << 10,
    PACKAGE_REPO_UNSIGNED = 1 << 11,
    PACKAGE_REPO_CLEAN_FILE = 1 << 12,
};

/* The current and the wanted content of a file. A NULL view: no file. */
struct package_repo_file {
    const char *path;
    struct str old, now;
    bool hidden; /* binary: no diff */
};

struct package_repo_files {
    VEC(struct package_repo_file) list; /* keys first */
};

/* The environment of a kind. */
struct package_repo_host {
    struct arena *arena;
    const char *codename; /* of the system; NULL: unknown */
    void *owner;
    /* The bytes of a key; `hash` may be NULL. */
    int (*fetch)(void *owner, const char *source, const char *hash, struct str *ret,
                 struct err *err);
    const char *place; /* that of the kind; set by package_repo_managed and package_repo_absent */
};

typedef int package_repo_fn(const struct package_repo_host *host, const struct package_repo *repo,
                            struct package_repo_files *files, struct err *err);

struct package_repo_kind {
    const char *place; /* folder, or file, of repositories */
    unsigned parts;    /* of enum package_repo_part */
    package_repo_fn *managed, *absent;
};

/* The files of the repository for a manager. Fails with ERR_UNSUPPORTED when the manager does
 * not support one of its parts. */
int package_repo_managed(const struct package_manager *manager, struct package_repo_host host,
                         const struct package_repo *repo, struct package_repo_files *ret_files,
                         struct err *err);
int package_repo_absent(const struct package_manager *manager, struct package_repo_host host,
                        const struct package_repo *repo, struct package_repo_files *ret_files,
                        struct err *err);

bool package_repo_is_used(const struct package_repo *repo);
/* Sets a common error: "repository 'x' requires ...". Returns -1. */
int package_repo_lacks(const struct package_repo *repo, const char *what, struct err *err);

/* --- for kinds ----------------------------------------------------------------------- */

#define PACKAGE_REPO_TEXT_MAX ((size_t)8 << 20)

/* The current content of a file; `ret` is valid until the next call. */
int package_repo_add_file(const struct package_repo_host *host, struct package_repo_files *files,
                          const char *path, struct package_repo_file **ret, struct err *err);

/* `Remove the repository from `text` of the file at `path`; returns the number of occurrences. */
typedef int package_repo_drop_fn(const struct package_repo *repo, const char *path, struct str text,
                                 struct buf *out, size_t *ret_count, struct err *err);
/* The file without the repository. A file without any other is removed, if it is in the folder
 * of repositories. */
int package_repo_drop(const struct package_repo_host *host, const struct package_repo *repo,
                      const char *path, package_repo_drop_fn *drop,
                      struct package_repo_files *files, struct err *err);
/* The same for all files of the folder with this suffix. */
int package_repo_drop_each(const struct package_repo_host *host, const struct package_repo *repo,
                           struct str ending, package_repo_drop_fn *drop,
                           struct package_repo_files *files, struct err *err);

#endif
