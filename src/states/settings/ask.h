/*
 * ask - functions that templates of settings can call: facts_get('os.family'),
 * pillar_get('ports:http', 80), settings_get('ports.http'), and Salt's
 * salt['grains.get']('roles', []); what other machines share: basket('web*', 'roles'),
 * salt['mine.get']('web*', 'roles'). Other functions are those of the host.
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

/* What the functions read; may change between renderings. */
struct ask {
    const struct value *facts, *grains, *settings;
    dotted_fn *salt;             /* every other function of `salt`; NULL: there is none */
    dotted_names_fn *salt_names; /* their names; NULL: none */
    void *salt_user;
    settings_basket_fn *basket; /* NULL: nobody shares anything */
    void *basket_user;
    const struct folder *folder; /* the files of settings, for pillar.file_exists */
};

/* Add the functions. `ask` is borrowed, what is made for it is in the arena. */
void ask_add(struct jinja *jinja, struct arena *arena, struct ask *ask);

#endif
