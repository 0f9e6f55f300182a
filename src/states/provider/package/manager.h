/*
 * package_manager - a common interface to apt, dnf, zypper and the like.
 *
 * A manager is one file of this folder: NAME.c, without a header of its own, exports `const struct
 * package_manager package_manager_NAME`. The build makes the table of all managers from the file
 * names. The struct says which programs a manager needs, how to read its lists, where its
 * repositories are defined and the arguments of its commands. Nothing here decides what to do; it
 * only answers queries and runs commands, non-interactively and in a fixed locale.
 *
 *     package_manager_find -> { installed_lock, package_offers_ask, package_request_run }...
 *
 * Memory: results are in the arena of the host. Threads: any; the callers keep two
 * runs of a manager apart.
 */
#ifndef STATES_PROVIDER_PACKAGE_MANAGER_H
#define STATES_PROVIDER_PACKAGE_MANAGER_H

#include <stdbool.h>

#include "states/provider/package/repo.h"
#include "states/provider/package/request.h"
#include "states/provider/package/version.h"
#include "states/provider/tool.h"

struct arena;
struct err;
struct package_db;
struct package_offers;

/* The environment of a manager. */
struct package_host {
    struct tool tool; /* arena and cancel */
    const char *root; /* prefix of database paths; "" for this machine */
};

/* A file that lists held packages. */
struct package_holds {
    const char *path;
    void (*parse)(struct package_db *db, struct str text);
};

/* A package, and the programs it provides, separated by spaces. */
struct package_programs {
    const char *package, *programs;
};

/* Exit statuses other than 0 that mean success; unused ones are 0. */
#define PACKAGE_FINE_MAX 4

/* Argument lists end in NULL; a NULL list: not supported by the manager. */
struct package_manager {
    const char *name;
    int rank;                    /* if a machine has several, the lowest is used */
    const char *families;        /* os.family values that use it, separated by spaces */
    const char *const *programs; /* all must be in PATH */
    const char *const *env;      /* added to our own */
    const struct package_programs *program_packages; /* ends in a NULL package; NULL: none known */
    version_compare_fn compare;

    /* Installed packages: the first existing file of a list, or the names in a folder, one per
     * line, or the output of a command. */
    const char *const *installed_files;
    const char *installed_folder;
    const char *const *installed_command;
    int (*parse_installed)(struct package_db *db, struct str text, struct err *err);
    const struct package_holds *holds; /* ends in a NULL path; NULL: part of the list */
    const char *const *databases;      /* other paths that change when packages do */
    const char *journal; /* a journal folder of changes since the list was written, left by a killed
                            run; or NULL */

    /* Available packages. Names are appended to the command. */
    const char *const *offers_command;
    int offers_none; /* the exit status when some or all are not available */
    void (*parse_offers)(struct package_offers *offers, struct arena *arena, struct str text);
    const char *const *names; /* the command that lists all names; NULL */
    const char *const *index; /* paths whose times tell when the index was refreshed */

    /* Commands. */
    const char *const *actions[PACKAGE_ACTIONS];
    int fine[PACKAGE_ACTIONS][PACKAGE_FINE_MAX];
    struct str (*reasons)(struct str output); /* finds the reason of a failure in the output, if
                                               * the errors do not have it; NULL */
    const char *const *repair;       /* the command that completes the journal, required before the
                                        manager works again */
    const char *const *download;     /* downloads packages without installing them */
    const char *const *pending;      /* prints the files to fetch: 'URL' FILE ... in each line */
    const char *archives;            /* the folder for it */
    const char *const *downgrade;    /* the command for downgrades, if it differs */
    const char *const *install_file; /* the command for files, if it differs */
    const char *const *show_file;    /* prints name and version of a file; NULL: unsupported */
    const char *const *refresh_list; /* option to refresh one list; NULL: all or none */
    const char *refresh_list_mark;   /* prefix for the path of the list */
    char pin;                        /* between name and version; 0: no versions can be chosen */
    char arch_mark;                  /* between name and architecture; 0: names have none */
    bool pin_to_upgrade;             /* installed packages change only for a named version */
    bool repo_in_name;               /* fromrepo is written as "repo/name" */
    const char *fromrepo_only;       /* an option before it; NULL */
    const char *fromrepo;            /* prefix for the name of a repository; NULL */
    const char *with_recommends, *without_recommends;
    const char *skip_verify, *change_held, *allow_downgrade, *reinstall;
    const char *const *verify; /* prints files of a package that differ, as rpm -V does; NULL */

    struct package_repo_kind repos;
};

/* All of them, by rank; ends in a NULL pointer. Written by tools/gen-providers. */
extern const struct package_manager *const package_manager_table[];

/* The manager `choice`, or that of the family, or the first one found. `choice` and `family` may be
 * NULL. Fails with ERR_NOT_FOUND and lists the programs and folders searched. Cached for the same
 * arguments and PATH. */
int package_manager_find(struct arena *arena, const char *choice, const char *descendants,
                         const struct package_manager **ret_manager, struct err *err);
/* By name, even if not on this machine; NULL: unknown. */
const struct package_manager *package_manager_called(const char *name);

/* The package of a program; NULL when unknown. */
const char *package_manager_program(struct arena *arena, const char *program);

/* Run a manager program and return its output. Fails with the end of the output unless the exit
 * status is 0 or in `fine`, which may be NULL. */
int package_manager_ask(const struct package_manager *manager, const struct package_host *host,
                        const char *const *argv, const int *fine, struct str *ret_output,
                        struct err *err);

#endif
