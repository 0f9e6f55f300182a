/*
 * shipped - the service units and folders that the packages of a run install.
 *
 * Sources are dpkg's file lists of packages that are or were installed; and for every package,
 * installed or not, the unit and the folders of its name. Lists tell of folders below /etc; names
 * also of those below /usr/share, /usr/lib, /var/lib, /var/log, /var/cache and /opt.
 *
 * Lists are read when the first question is asked. Memory: the arena. Threads: one at a time.
 */
#ifndef STATES_COMPILE_SHIPPED_H
#define STATES_COMPILE_SHIPPED_H

#include <stdint.h>

#include "core/base/map.h"
#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct stamps;

struct shipped_states {
    VEC(uint32_t) list;
};

struct shipped {
    struct arena *arena;
    const char *lists;                   /* the folder of dpkg's lists, or NULL */
    struct stamps *stamps;               /* records that they were read; or NULL */
    struct map packages, units, folders; /* by name: struct shipped_states */
    struct shipped_states new;           /* of packages without a list */
    bool is_read;
};

#define SHIPPED_INIT(where, folder, notes)                                                         \
    {                                                                                              \
        .arena = (where), .lists = (folder), .stamps = (notes), .packages = MAP_INIT_IN(where),    \
        .units = MAP_INIT_IN(where), .folders = MAP_INIT_IN(where),                                \
    }

/* A state installs this package. */
void shipped_add(struct shipped *shipped, struct str package, uint32_t state);

/* The states whose packages have a unit of the service; NULL: none is known. */
const struct shipped_states *shipped_find_unit(struct shipped *shipped, struct str service);
/* The same for a folder. */
const struct shipped_states *shipped_find_folder(struct shipped *shipped, struct str folder);
/* The states with a package that is not installed as far as known: what it brings is unknown. Each
 * state is listed once. */
const struct shipped_states *shipped_find_new(struct shipped *shipped);

#endif
