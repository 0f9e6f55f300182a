/*
 * package_db - which packages a machine has, in memory.
 *
 * Filled once from the package manager's database (a status file, a list, a folder) and then
 * queried by name, so that a thousand states need one read and no process. A package of a foreign
 * architecture is known as "name:arch" only; a native one by both names.
 *
 *     package_db_new -> package_db_add... or a reader -> package_db_find...
 *                    -> package_db_free
 *
 * Memory: owns its arena; packages go with it. Threads: any number of readers.
 */
#ifndef STATES_PROVIDER_PACKAGE_DB_H
#define STATES_PROVIDER_PACKAGE_DB_H

#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/map.h"
#include "core/base/vec.h"

struct err;

enum package_state {
    PACKAGE_ABSENT,
    PACKAGE_CONFIG, /* removed; its configuration files are still there */
    PACKAGE_BROKEN, /* unpacked, half installed, half configured */
    PACKAGE_INSTALLED,
};

struct package {
    const char *name, *version, *arch;
    enum package_state state;
    bool held; /* held at its version */
};

struct package_db {
    struct arena arena;
    struct map names;    /* "name" and "name:arch" to struct package */
    struct map provided; /* virtual names to the package that provides them */
    VEC(struct package *) list;
    const char *native; /* architecture of the machine; NULL: all are alike */
};

/* Limits far above any real machine. */
#define PACKAGE_DB_MAX   500000
#define PACKAGE_TEXT_MAX 1024

struct package_db *package_db_new(void);
void package_db_free(struct package_db *db);

/* Texts are copied. A second package of the same name and architecture replaces the first if it
 * is more completely installed or later in the list. Fails with ERR_LIMIT, and with ERR_INVALID
 * when a text is not a single word. */
int package_db_add(struct package_db *db, struct str name, struct str version, struct str arch,
                   enum package_state state, struct package **ret_package, struct err *err);
/* `name` is virtual, and provided by `package`. */
void package_db_provide(struct package_db *db, struct str name, struct package *package);

/* Hold the packages whose names match; missing ones are skipped. */
void package_db_hold(struct package_db *db, struct str pattern);

/* By "name" or "name:arch"; NULL: no record. */
const struct package *package_db_find(const struct package_db *db, struct str name);
/* The same, installed and whole; also one that provides the name. */
const struct package *package_db_find_installed(const struct package_db *db, struct str name);
/* The name to use for a package in requests, in the arena: foreign ones include the
 * architecture. */
const char *package_db_key(struct arena *arena, const struct package_db *db,
                           const struct package *package);
/* "installed", "half installed", ... */
const char *package_state_word(enum package_state state);

#endif
