/*
 * package_manager - apt, dnf, zypper and the like behind one table.
 *
 * A manager is one file of this folder: NAME.c, without a header of its own, exports
 * `const struct package_manager package_manager_NAME`. The build makes the table of
 * all of them from the names of the files. The struct says which programs a manager
 * needs, how its lists are read, where its repositories stand and with which words it
 * is told to act. Nothing here decides what to do; it answers what there is and runs
 * what it is told, without questions asked by the manager and in a fixed language.
 *
 *     package_manager_find -> { installed_lock, package_offers_ask, package_request_run }...
 *
 * Memory: results are in the arena of the host. Threads: any; the callers keep two
 * runs of a manager apart.
 */
#ifndef PROVIDER_PACKAGE_MANAGER_H
#define PROVIDER_PACKAGE_MANAGER_H

#include <stdbool.h>

#include "provider/package/repo.h"
#include "provider/package/request.h"
#include "provider/package/version.h"
#include "provider/tool.h"

struct arena;
struct err;
struct package_db;
struct package_offers;

/* What a manager is given from outside. */
struct package_host {
    struct tool tool; /* its arena, and who cancels */
    const char *root; /* in front of the paths of databases; "" for this machine */
};

/* A file that says which packages stay at their version. */
struct package_holds {
    const char *path;
    void (*parse)(struct package_db *db, struct str text);
};

/* A package, and programs that it brings, with spaces between. */
struct package_programs {
    const char *package, *programs;
};

/* Exit statuses other than 0 of an action that was done all the same; unused ones are 0. */
#define PACKAGE_FINE_MAX 4

/* Words end in NULL; a NULL list: the manager cannot do that. */
struct package_manager {
    const char *name;
    int rank;                    /* where a machine has several, the lowest is its own */
    const char *families;        /* os.family of machines that use it, with spaces between */
    const char *const *programs; /* all must be in PATH */
    const char *const *env;      /* in front of ours */
    const struct package_programs *program_packages; /* ends in a NULL package; NULL: none known */
    version_compare_fn compare;

    /* What is installed: the first of some files that is there, or the names in a folder, one a
     * line, or what a command prints. */
    const char *const *installed_files;
    const char *installed_folder;
    const char *const *installed_command;
    int (*parse_installed)(struct package_db *db, struct str text, struct err *err);
    const struct package_holds *holds; /* ends in a NULL path; NULL: they are in the list */
    const char *const *databases;      /* other paths that change when packages do */

    /* What can be had. Names are put behind the command. */
    const char *const *offers_command;
    int offers_none; /* the exit status when nothing, or not all of it, is there */
    void (*parse_offers)(struct package_offers *offers, struct arena *arena, struct str text);
    const char *const *names; /* the command that lists the names of all; NULL */
    const char *const *index; /* paths that tell when the index was refreshed */

    /* What it is told. */
    const char *const *actions[PACKAGE_ACTIONS];
    int fine[PACKAGE_ACTIONS][PACKAGE_FINE_MAX];
    struct str (*reasons)(struct str output); /* why it failed, where its errors do not say; NULL */
    const char *const *downgrade;    /* the command for older versions, where it is another */
    const char *const *install_file; /* the command for files, where it is another */
    const char *const *show_file;    /* prints name and version of a file; NULL: nobody can */
    const char *const *refresh_list; /* before the word for one list; NULL: all or none */
    const char *refresh_list_mark;   /* what the path of the list is put behind */
    char pin;                        /* between name and version; 0: no versions can be chosen */
    char arch_mark;                  /* between name and architecture; 0: names have none */
    bool pin_to_upgrade;             /* what is installed is changed only for a named version */
    bool repo_in_name;               /* fromrepo is written as "repo/name" */
    const char *fromrepo_only;       /* a word before; NULL */
    const char *fromrepo;            /* what the name of a repository is put behind; NULL */
    const char *with_recommends, *without_recommends;
    const char *skip_verify, *change_held, *allow_downgrade;

    struct package_repo_kind repos;
};

/* All of them, by rank; ends in a NULL pointer. Written by tools/gen-providers. */
extern const struct package_manager *const package_manager_table[];

/* The manager called `choice`, or that of the family, or the first that is there. `choice` and
 * `family` may be NULL. Fails with ERR_NOT_FOUND and tells what was looked for and where. Looked
 * for once in a process, for the same question and PATH. */
int package_manager_find(struct arena *arena, const char *choice, const char *family,
                         const struct package_manager **ret_manager, struct err *err);
/* By its name, also when it is not on this machine; NULL: there is none of this name. */
const struct package_manager *package_manager_called(const char *name);

/* The package that brings a program to this machine; NULL when nobody knows. */
const char *package_manager_program(struct arena *arena, const char *program);

/* Run a program of the manager and take what it prints; fails with the end of what it said when its
 * exit status is neither 0 nor one of `fine`, which may be NULL. */
int package_manager_ask(const struct package_manager *manager, const struct package_host *host,
                        const char *const *argv, const int *fine, struct str *ret_output,
                        struct err *err);

#endif
