#include "states/provider/package/db.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/glob.h"

static const char *const state_words[] = {
    [PACKAGE_ABSENT] = "not installed",
    [PACKAGE_CONFIG] = "removed, with remaining configuration files",
    [PACKAGE_BROKEN] = "half installed",
    [PACKAGE_INSTALLED] = "installed",
};

const char *package_state_word(enum package_state state)
{
    return state_words[state];
}

struct package_db *package_db_new(void)
{
    struct package_db *db = mem_zalloc(sizeof(*db));

    db->names.arena = &db->arena;
    db->provided.arena = &db->arena;
    return db;
}

void package_db_free(struct package_db *db)
{
    if (!db)
        return;
    arena_done(&db->arena);
    free(db);
}

static bool is_native_package(const struct package_db *db, const struct package *package)
{
    return !db->native || package->arch[0] == '\0' || strcmp(package->arch, "all") == 0 ||
           strcmp(package->arch, "noarch") == 0 || strcmp(package->arch, db->native) == 0;
}

/* The more completely installed one wins; among equals the later one, as in the managers' lists. */
static void enter_package(struct package_db *db, const char *key, struct package *package)
{
    const struct package *old = map_find(&db->names, str_from(key));

    if (!old || old->state <= package->state)
        map_set(&db->names, str_from(key), package);
}

/* Lists of managers contain words; anything else means a damaged list. */
static bool is_printable_word(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] <= ' ' || text.p[i] == 0x7f)
            return false;
    return true;
}

int package_db_add(struct package_db *db, struct str name, struct str version, struct str arch,
                   enum package_state state, struct package **ret_package, struct err *err)
{
    struct package *package;

    if (db->list.n >= PACKAGE_DB_MAX)
        return err_set(err, ERR_LIMIT, "more than the limit of %d packages", PACKAGE_DB_MAX);
    if (name.n > PACKAGE_TEXT_MAX || version.n > PACKAGE_TEXT_MAX || arch.n > PACKAGE_TEXT_MAX)
        return err_set(err, ERR_LIMIT, "a name or version exceeds the limit of %d bytes",
                       PACKAGE_TEXT_MAX);
    if (name.n == 0 || !is_printable_word(name) || !is_printable_word(version) ||
        !is_printable_word(arch))
        return err_set(err, ERR_INVALID, "'%.*s' '%.*s' is not a valid package and version",
                       STR_ARG(name), STR_ARG(version));
    package = ARENA_NEW(&db->arena, struct package);
    *package = (struct package){
        .name = arena_str(&db->arena, name).p,
        .version = arena_str(&db->arena, version).p,
        .arch = arena_str(&db->arena, arch).p,
        .state = state,
    };
    VEC_PUSH_IN(&db->arena, &db->list, package);
    if (is_native_package(db, package))
        enter_package(db, package->name, package);
    if (arch.n > 0)
        enter_package(db, arena_printf(&db->arena, "%s:%s", package->name, package->arch), package);
    *ret_package = package;
    return 0;
}

void package_db_provide(struct package_db *db, struct str name, struct package *package)
{
    if (name.n > 0 && name.n <= PACKAGE_TEXT_MAX && !map_has(&db->provided, name))
        map_set(&db->provided, arena_str(&db->arena, name), package);
}

void package_db_hold(struct package_db *db, struct str pattern)
{
    VEC_EACH (&db->list, package)
        if (glob_match(pattern, str_from((*package)->name)))
            (*package)->held = true;
}

const struct package *package_db_find(const struct package_db *db, struct str name)
{
    return map_find(&db->names, name);
}

const char *package_db_key(struct arena *arena, const struct package_db *db,
                           const struct package *package)
{
    if (package_db_find(db, str_from(package->name)) == package)
        return arena_strdup(arena, package->name);
    return arena_printf(arena, "%s:%s", package->name, package->arch);
}

const struct package *package_db_find_installed(const struct package_db *db, struct str name)
{
    const struct package *package = map_find(&db->names, name);

    if (package && package->state == PACKAGE_INSTALLED)
        return package;
    return map_find(&db->provided, name);
}
