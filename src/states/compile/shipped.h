/*
 * shipped - what the packages of a run bring: units of services, and folders below /etc.
 *
 * Known are the lists of files that dpkg keeps of packages that are installed, or were once; and
 * for every package, installed or not, the unit and the folder that have its name.
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
    const char *lists;                   /* the folder of dpkg's lists; NULL: there is none */
    struct stamps *stamps;               /* where reading them is noted; or NULL */
    struct map packages, units, folders; /* by name: struct shipped_states */
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
/* The same for a folder; only those below /etc are known. */
const struct shipped_states *shipped_find_folder(struct shipped *shipped, struct str folder);

#endif
