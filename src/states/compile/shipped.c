#include "states/compile/shipped.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "states/compile/stamps.h"
#include "core/sys/fs.h"

/* Bytes of one list. */
#define LIST_MAX ((size_t)8 << 20)

/* Packages have folders of their own name there. */
static const char *const named_roots[] = {
    "/etc/", "/usr/share/", "/usr/lib/", "/var/lib/", "/var/log/", "/var/cache/", "/opt/",
};

static bool is_named_root(struct str folder)
{
    for (size_t i = 0; i < ARRAY_LEN(named_roots); i++)
        if (str_starts(folder, str_from(named_roots[i])))
            return true;
    return false;
}

static void add_to(struct shipped *shipped, struct map *map, struct str name, uint32_t state)
{
    void **place = map_place(map, arena_str(shipped->arena, name));
    struct shipped_states *states;

    if (!*place)
        *place = ARENA_NEW(shipped->arena, struct shipped_states);
    states = *place;
    if (states->list.n == 0 || states->list.p[states->list.n - 1] != state)
        VEC_PUSH_IN(shipped->arena, &states->list, state);
}

static void add_shipped_lines(struct shipped *shipped, struct map *map, struct str name,
                              const struct shipped_states *states)
{
    VEC_EACH (&states->list, state)
        add_to(shipped, map, name, *state);
}

void shipped_add(struct shipped *shipped, struct str package, uint32_t state)
{
    struct str rest = package;
    const struct str name = str_cut(&rest, ':'); /* without its architecture */

    if (name.n > 0 && str_find_char(name, '/', 0) == STR_NONE)
        add_to(shipped, &shipped->packages, name, state);
}

/* --- lists --------------------------------------------------------------------------------- */

static struct str find_base_name(struct str path)
{
    size_t n = path.n;

    while (n > 0 && path.p[n - 1] != '/')
        n--;
    return str_from_offset(path, n);
}

/* "/lib/systemd/system/nginx.service", "/etc/init.d/nginx": nginx; a NULL view: not a unit. */
static struct str cut_unit_name(struct str path)
{
    static const char *const folders[] = { "/lib/systemd/system/", "/usr/lib/systemd/system/",
                                           "/etc/init.d/" };
    const struct str base = find_base_name(path);

    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        if (str_starts(path, str_from(folders[i])) && path.n == strlen(folders[i]) + base.n)
            return str_ends(base, STR(".service"))
                       ? str_slice(base, 0, base.n - (sizeof(".service") - 1))
                       : base;
    return (struct str){ NULL, 0 };
}

/* Every line is a path; folders have lines of their own. */
static void read_shipped_list(struct shipped *shipped, struct str text,
                              const struct shipped_states *states)
{
    while (text.n > 0) {
        const struct str path = str_cut(&text, '\n'), unit = cut_unit_name(path);

        if (unit.n > 0)
            add_shipped_lines(shipped, &shipped->units, unit, states);
        else if (str_starts(path, STR("/etc/")))
            add_shipped_lines(shipped, &shipped->folders, path, states);
    }
}

/* A list that cannot be read is one that is not known. */
static bool read_package(struct shipped *shipped, struct str name,
                         const struct shipped_states *states)
{
    const char *path = arena_printf(shipped->arena, "%s/%.*s.list", shipped->lists, STR_ARG(name));
    struct str text;
    struct err ignored;

    stamps_add(shipped->stamps, path);
    if (fs_read(shipped->arena, path, LIST_MAX, &text, &ignored) < 0 || !text.p)
        return false;
    read_shipped_list(shipped, text, states);
    return true;
}

static void add_named_folders(struct shipped *shipped, struct str name,
                              const struct shipped_states *states)
{
    for (size_t i = 0; i < ARRAY_LEN(named_roots); i++)
        add_shipped_lines(
            shipped, &shipped->folders,
            str_from(arena_printf(shipped->arena, "%s%.*s", named_roots[i], STR_ARG(name))),
            states);
}

static void add_new_states(struct shipped *shipped, struct map *seen,
                           const struct shipped_states *states)
{
    VEC_EACH (&states->list, state) {
        const struct str key = { (const char *)state, sizeof(*state) };

        if (map_has(seen, key))
            continue;
        (void)map_set(seen, key, shipped);
        VEC_PUSH_IN(shipped->arena, &shipped->new.list, *state);
    }
}

static void read_shipped_tree(struct shipped *shipped)
{
    struct map seen = MAP_INIT_IN(shipped->arena);

    if (shipped->is_read)
        return;
    shipped->is_read = true;
    MAP_EACH (&shipped->packages, entry) {
        const struct shipped_states *states = entry->value;

        add_shipped_lines(shipped, &shipped->units, entry->key, states);
        add_named_folders(shipped, entry->key, states);
        if (!shipped->lists || !read_package(shipped, entry->key, states))
            add_new_states(shipped, &seen, states);
    }
}

/* --- questions ------------------------------------------------------------------------------ */

const struct shipped_states *shipped_find_unit(struct shipped *shipped, struct str service)
{
    if (map_count(&shipped->packages) == 0)
        return NULL;
    read_shipped_tree(shipped);
    if (str_ends(service, STR(".service")))
        service.n -= sizeof(".service") - 1;
    return map_find(&shipped->units, service);
}

const struct shipped_states *shipped_find_folder(struct shipped *shipped, struct str folder)
{
    if (map_count(&shipped->packages) == 0 || !is_named_root(folder))
        return NULL;
    read_shipped_tree(shipped);
    return map_find(&shipped->folders, folder);
}

const struct shipped_states *shipped_find_new(struct shipped *shipped)
{
    if (map_count(&shipped->packages) > 0)
        read_shipped_tree(shipped);
    return &shipped->new;
}
