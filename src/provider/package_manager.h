/*
 * package_manager - apt, dnf, yum, zypper, apk and pacman behind one table.
 *
 * A line of the table says which programs a manager needs, how its lists are read,
 * and with which words it is told to act. Nothing here decides what to do; it
 * answers what there is and runs what it is told, without questions asked by the
 * manager and in a fixed language.
 *
 *     package_manager_find -> { installed_lock, package_manager_offers,
 *                               package_manager_run }...
 *
 * Memory: results are in the arena of the host. Threads: any; the callers keep two
 * runs of a manager apart.
 */
#ifndef PROVIDER_PACKAGE_MANAGER_H
#define PROVIDER_PACKAGE_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "provider/tool.h"
#include "provider/version.h"

struct arena;
struct err;
struct package_db;

/* What a manager is given from outside. */
struct package_host {
    struct tool tool; /* its arena, and who cancels */
    const char *root; /* in front of the paths of databases; "" for this machine */
};

/* What the repositories have of a package. */
struct package_offer {
    const char *name;
    const char *candidate; /* the version that would be installed; NULL: none */
    VEC(const char *) versions;
};

struct package_offers {
    struct map by_name; /* to struct package_offer, in the order of the question */
};

enum package_action {
    PACKAGE_INSTALL, /* with versions, also upgrades, and downgrades when allowed */
    PACKAGE_REMOVE,
    PACKAGE_PURGE,     /* with configuration files, where the manager knows them */
    PACKAGE_MAY_ERASE, /* fails when other packages need them; changes nothing */
    PACKAGE_HOLD,
    PACKAGE_UNHOLD,
    PACKAGE_REFRESH, /* the index of what is there */
};
#define PACKAGE_ACTIONS (PACKAGE_REFRESH + 1)

/* One package of a request. */
struct package_target {
    const char *name;
    const char *version; /* NULL: the candidate */
    const char *file;    /* a package file instead; NULL */
    bool older;          /* the version is older than what is there */
};

struct package_request {
    enum package_action action;
    VEC(struct package_target) targets;
    const char *fromrepo; /* NULL: all of them */
    int recommends;       /* 1: with, -1: without, 0: as configured */
    const char *list;     /* refresh: only what this list of repositories names; NULL: all */
    bool skip_verify;     /* signatures do not matter */
    bool change_held;     /* also packages that are held */
};

enum package_repo_kind {
    PACKAGE_REPO_APT,    /* lines in sources.list.d */
    PACKAGE_REPO_INI,    /* sections in *.repo */
    PACKAGE_REPO_APK,    /* lines in one file */
    PACKAGE_REPO_PACMAN, /* sections in one file */
};

/* Exit statuses other than 0 of an action that was done all the same; unused ones are 0. */
#define PACKAGE_FINE_MAX 4

/* Words end in NULL; a NULL list: the manager cannot do that. */
struct package_manager {
    const char *name;
    const char *families;         /* os.family of machines that use it, with spaces between */
    const char *const *programs;  /* all must be in PATH */
    const char *const *databases; /* paths that change when packages do */
    const char *const *index;     /* paths that tell when the index was refreshed */
    version_compare_fn compare;
    int (*load)(const struct package_host *host, struct package_db *db, struct err *err);
    int (*offers)(const struct package_host *host, const char *const *names,
                  struct package_offers *offers, struct err *err);
    const char *const *actions[PACKAGE_ACTIONS];
    int fine[PACKAGE_ACTIONS][PACKAGE_FINE_MAX];
    const char *const *downgrade;    /* the command for older versions, where it is another */
    const char *const *install_file; /* the command for files, where it is another */
    const char *const *show_file;    /* prints name and version of a file; NULL: nobody can */
    const char *const *env;          /* in front of ours */
    char pin;                        /* between name and version; 0: no versions can be chosen */
    bool pin_to_upgrade;             /* what is installed is changed only for a named version */
    bool repo_in_name;               /* fromrepo is written as "repo/name" */
    struct str (*reasons)(struct str output); /* why it failed, where its errors do not say; NULL */
    const char *const *names;                 /* the command that lists all that can be had; NULL */
    const char *const *refresh_list;          /* before the word for one list; NULL: all or none */
    const char *refresh_list_mark;            /* what the path of the list is put behind */
    char arch_mark;            /* between name and architecture; 0: names have none */
    const char *fromrepo_only; /* a word before; NULL */
    const char *fromrepo;      /* what the name of a repository is put behind; NULL */
    const char *with_recommends, *without_recommends;
    const char *skip_verify, *change_held, *allow_downgrade;
    enum package_repo_kind repo_kind;
    const char *repo_place; /* folder, or file, of repositories */
};

/* Ends in a NULL pointer. */
extern const struct package_manager *const package_managers[];

/* The manager called `choice`, or that of the family, or the first that is there. `choice` and
 * `family` may be NULL. Fails with ERR_NOT_FOUND and tells what was looked for and where. Looked
 * for once in a process, for the same question and PATH. */
int package_manager_find(struct arena *arena, const char *choice, const char *family,
                         const struct package_manager **ret_manager, struct err *err);

/* What repositories have of these packages (ends in NULL), from the index as it is. A package
 * that is nowhere is not in the answer. */
int package_manager_offers(const struct package_manager *manager, const struct package_host *host,
                           const char *const *names, struct package_offers *ret_offers,
                           struct err *err);

/* The name of a package nearest to one that is nowhere; a NULL view when none is near, or nobody
 * can tell. */
struct str package_manager_suggest(const struct package_manager *manager,
                                   const struct package_host *host, const char *name);

/* Run the manager once for all of it (twice where older versions want a command of their own).
 * Fails with what it said. */
int package_manager_run(const struct package_manager *manager, const struct package_host *host,
                        const struct package_request *request, struct err *err);
static inline bool package_manager_can(const struct package_manager *manager,
                                       enum package_action action)
{
    return manager->actions[action] != NULL;
}

/* Run a program of the manager and take what it prints; fails with the end of what it said when its
 * exit status is neither 0 nor one of `fine`, which may be NULL. */
int package_manager_ask(const struct package_manager *manager, const struct package_host *host,
                        const char *const *argv, const int *fine, struct str *ret_output,
                        struct err *err);

/* Room for another name; NULL when it is not one that was asked for. */
struct package_offer *package_offers_find(const struct package_offers *offers, struct str name);
/* `version` can be had; the first, or the newest, is the candidate when nobody else says. */
void package_offer_add(struct package_offer *offer, struct arena *arena, struct str version);

#endif
