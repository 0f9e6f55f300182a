/*
 * alternatives - names that resolve to one of several programs, through update-alternatives.
 *
 * The state of a name is read from update-alternatives' own file, so a check runs no program:
 *
 *     alternatives_look -> alternatives_find -> alternatives_run
 *
 * Memory: the arena of the run. Threads: states take the lock ALTERNATIVES_LOCK.
 */
#ifndef STATES_MODULES_ALTERNATIVES_ALTERNATIVES_H
#define STATES_MODULES_ALTERNATIVES_ALTERNATIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/data/params.h"

struct diags;
struct err;
struct state_run;
struct value;

#define ALTERNATIVES_LOCK "alternatives"

/* Which name; first among the arguments of states. */
struct alternatives_ref {
    const char *name, *altdir, *admindir;
};

/* clang-format off */
#define ALTERNATIVES_REF(type, in)                                                                                            \
    PARAM("name", STR, type, in.name, "the name: editor", .flags = PARAM_REQUIRED | PARAM_PRIMARY),                            \
    PARAM("altdir", PATH, type, in.altdir, "the folder of links", .default_text = "/etc/alternatives"),                        \
    PARAM("admindir", PATH, type, in.admindir, "the administrative folder (default: that of the system)")
/* clang-format on */

/* A link that follows the first one, such as the manual page of a program. */
struct alternatives_slave {
    const char *name, *link;
};

struct alternatives_choice {
    const char *path;
    int64_t priority;
    VEC(const char *) slaves; /* a path for each slave of the group; "": none */
};

struct alternatives {
    bool known;
    bool automatic;      /* the highest priority wins */
    const char *link;    /* /usr/bin/editor */
    const char *current; /* the program it points to; NULL: none */
    VEC(struct alternatives_slave) slaves;
    VEC(struct alternatives_choice) choices;
};

int alternatives_validate(const void *args, const struct value *where, struct diags *diags);
int alternatives_look(struct state_run *run, const struct alternatives_ref *ref,
                      struct alternatives *ret, struct err *err);
const struct alternatives_choice *alternatives_find(const struct alternatives *group,
                                                    const char *path);

/* Run update-alternatives with these arguments, which end in NULL. */
int alternatives_run(struct state_run *run, const struct alternatives_ref *ref,
                     const char *const *words, struct err *err);
/* Set the name to a program; NULL goes back to automatic mode. */
int alternatives_choose(struct state_run *run, const struct alternatives_ref *ref, const char *path,
                        struct err *err);

/* Note the current choice, and whether it is automatic, before a change. */
int alternatives_note(struct state_run *run, const struct alternatives *group, struct err *err);
/* Restore the choice that was noted. */
int alternatives_choose_again(struct state_run *run, const struct alternatives_ref *ref,
                              struct err *err);
/* The arguments that make this choice, as a list; and the choice that such a list makes. */
struct value alternatives_words(struct state_run *run, const struct alternatives_ref *ref,
                                const struct alternatives *group,
                                const struct alternatives_choice *choice);
int alternatives_obey(struct state_run *run, const struct alternatives_ref *ref,
                      const struct value *words, struct err *err);

#endif
