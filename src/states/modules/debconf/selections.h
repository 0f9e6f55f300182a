/*
 * selections - answers to the questions of Debian packages, in the database of debconf.
 *
 *     wishes (selections_add, selections_parse) -> selections_check
 *                                               -> selections_apply -> selections_revert
 *
 * Answers reach debconf by standard input, so that passwords are on no command line; those of
 * questions of the type password are never shown.
 *
 * Memory: the arena of the run. Threads: states that use it share SELECTIONS_LOCK, the one of
 * package managers, which hold the database while they install.
 */
#ifndef STATES_MODULES_DEBCONF_SELECTIONS_H
#define STATES_MODULES_DEBCONF_SELECTIONS_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "states/modules/pkg/packages.h"

struct arena;
struct err;
struct state_run;

#define SELECTIONS_LOCK PACKAGES_LOCK

/* One question: `type` is that of the question, or "seen" for the flag alone. */
struct selection {
    const char *package, *question, *type, *value;
};

struct selections {
    VEC(struct selection) list;
};

/* Fails with ERR_INVALID when debconf-set-selections could not read it. */
int selections_add(struct arena *arena, struct selections *all, const struct selection *one,
                   struct err *err);
/* Lines as debconf-set-selections reads them: PACKAGE QUESTION TYPE VALUE. The error names the
 * line. */
int selections_parse(struct arena *arena, struct str text, struct selections *all, struct err *err);

int selections_check(struct state_run *run, const struct selections *all, struct err *err);
int selections_apply(struct state_run *run, const struct selections *all, struct err *err);
/* From what apply noted. */
int selections_revert(struct state_run *run, struct err *err);

#endif
