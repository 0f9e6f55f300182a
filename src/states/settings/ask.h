/*
 * ask - functions of settings templates: facts_get('os.family'), pillar_get('ports:http', 80),
 * settings_get('ports.http'), and Salt's salt['grains.get']('roles', []); values shared by other
 * machines: basket('web*', 'roles'), salt['mine.get']('web*', 'roles'). The host supplies all
 * other functions.
 *
 * Memory and threads: those of the environment.
 */
#ifndef STATES_SETTINGS_ASK_H
#define STATES_SETTINGS_ASK_H

#include "language/jinja/dotted.h"
#include "states/settings/settings.h"

struct arena;
struct folder;
struct jinja;
struct value;

/* The data of the functions; may change between renderings. */
struct ask {
    const struct value *facts, *grains, *settings;
    dotted_fn *salt;             /* all other functions of `salt`, or NULL */
    dotted_names_fn *salt_names; /* their names, or NULL */
    void *salt_user;
    settings_basket_fn *basket; /* NULL: no shared values */
    void *basket_user;
    const struct folder *folder; /* the settings files, for pillar.file_exists */
};

/* Add the functions. `ask` is borrowed; allocates in the arena. */
void ask_add(struct jinja *jinja, struct arena *arena, struct ask *ask);

#endif
