#include "states/compile/touch.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "states/compile/plan.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

/* Parameters with which a local state touches only its path. */
static const char *const local_params[] = {
    "name",
    "path",
    "content",
    "contents",
    "contents_pillar",
    "contents_facts",
    "contents_grains",
    "contents_settings",
    "contents_newline",
    "allow_empty",
    "mode",
    "dir_mode",
    "user",
    "group",
    "owner",
    "makedirs",
    "replace",
    "create",
    "show_changes",
    "show_diff",
    "text",
    "pattern",
    "repl",
    "count",
    "flags",
    "regex",
    "char",
    "match",
    "before",
    "after",
    "location",
    "indent",
    "marker_start",
    "marker_end",
    "append_if_not_found",
    "prepend_if_not_found",
    "not_found_content",
    "key",
    "value",
    "key_values",
    "separator",
    "ignore_if_missing",
    "ignore_missing",
    "quiet",
    "dataset",
    "dataset_pillar",
    "formatter",
    "serializer",
    "serializer_opts",
    "atime",
    "mtime",
    "comment",
    "result",
    "changes",
    "warnings",
};

/* Attributes of folders that a state creates. */
static const char *const folder_params[] = {
    "user", "owner", "group", "dir_mode", "mode", "umask"
};

enum touched {
    TOUCHED_ANYTHING,
    TOUCHED_NOTHING,
    TOUCHED_PATH,
    TOUCHED_PACKAGES,
};

static bool is_listed_key(struct str key, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(key, names[i]))
            return true;
    return false;
}

/* Does it have anything that may read or change more than its module declares? */
static bool is_plain_state(const struct plan_state *state)
{
    return !state->deferred && !state->alone && !state->failhard && state->onlyif.n == 0 &&
           state->unless.n == 0 && state->check_cmd.n == 0 && state->creates.n == 0 &&
           state->requisites[REQUISITE_PREREQ].n == 0;
}

static bool has_local_params(const struct plan_state *state)
{
    const struct value_map *body = state->body.map;

    for (size_t i = 0; i < body->count; i++) {
        const struct value_pair *pair = &body->pairs[i];

        if (str_is(pair->key.s, "source") && pair->value.kind == VALUE_STR &&
            str_starts(pair->value.s, STR("salt://")))
            continue;
        if (!is_listed_key(pair->key.s, local_params, ARRAY_LEN(local_params)))
            return false;
    }
    return true;
}

static bool has_package_params(const struct plan_state *state)
{
    static const char *const names[] = { "name", "pkgs" };
    const struct value_map *body = state->body.map;

    for (size_t i = 0; i < body->count; i++)
        if (!is_listed_key(body->pairs[i].key.s, names, ARRAY_LEN(names)))
            return false;
    return true;
}

static const char *find_primary_path(const struct plan_state *state)
{
    const struct param *primary = params_find_primary(state->module->params);

    if (!state->args || !primary || primary->kind != PARAM_PATH)
        return NULL;
    return *(const char *const *)(const void *)((const char *)state->args + primary->offset);
}

static enum touched classify_state(const struct plan_state *state)
{
    if (!(state->module->flags & MODULE_LOCAL) || !is_plain_state(state))
        return TOUCHED_ANYTHING;
    if (state->module->lock)
        return has_package_params(state) ? TOUCHED_PACKAGES : TOUCHED_ANYTHING;
    if (!has_local_params(state))
        return TOUCHED_ANYTHING;
    return find_primary_path(state) ? TOUCHED_PATH : TOUCHED_NOTHING;
}

/* --- paths ------------------------------------------------------------------------------- */

/* The real path of a folder; NULL when it does not exist. */
static const char *find_real_folder(struct touch_window *window, const char *folder)
{
    void **place = map_place(&window->folders, arena_str(&window->folder_arena, str_from(folder)));

    if (!*place) {
        char *real = realpath(folder, NULL);

        *place = arena_strdup(&window->folder_arena, real ? real : "");
        free(real);
    }
    return *(char *)*place ? *place : NULL;
}

/* Resolve the path. Sets `ret_new` when its folder does not exist yet. False: it is a link, or
 * cannot be read. */
static bool find_real_path(struct touch_window *window, const char *path, const char **ret,
                           bool *ret_new)
{
    const char *normal = path_normalise(&window->arena, path);
    const char *folder = path_dirname(&window->arena, normal);
    const char *real = find_real_folder(window, folder);
    struct fs_info info;
    struct err ignored;

    *ret_new = !real;
    *ret = path_join(&window->arena, real ? real : folder, path_basename(normal).p);
    return !real || (fs_lstat(*ret, &info, &ignored) == 0 && info.kind != FS_LINK);
}

static bool is_above_or_below(struct touch_window *window, const char *path)
{
    if (map_has(&window->things, str_from(path)) || map_has(&window->above, str_from(path)))
        return true;
    for (const char *up = path_dirname(&window->arena, path); strcmp(up, "/") != 0;
         up = path_dirname(&window->arena, up))
        if (map_has(&window->things, str_from(up)))
            return true;
    return false;
}

static void add_window_path(struct touch_window *window, const char *path)
{
    (void)map_set(&window->things, str_from(path), window);
    for (const char *up = path_dirname(&window->arena, path);
         strcmp(up, "/") != 0 && !map_has(&window->above, str_from(up));
         up = path_dirname(&window->arena, up))
        (void)map_set(&window->above, str_from(up), window);
}

static bool is_given_alike(const struct plan_state *one, const struct plan_state *other,
                           const char *key)
{
    const struct value *a = value_get(&one->body, key), *b = value_get(&other->body, key);

    return a && b ? value_equal(a, b) : a == b;
}

/* Do both create missing folders with the same attributes? */
static bool make_alike(const struct plan_state *one, const struct plan_state *other)
{
    for (size_t i = 0; i < ARRAY_LEN(folder_params); i++)
        if (!is_given_alike(one, other, folder_params[i]))
            return false;
    return one->has_umask == other->has_umask && one->umask == other->umask;
}

static bool joins_paths(struct touch_window *window, const struct plan_state *state)
{
    const bool makes = value_get(&state->body, "makedirs") != NULL;
    const char *path, *folder;
    bool is_new;

    if (!find_real_path(window, find_primary_path(state), &path, &is_new) || (is_new && !makes))
        return false;
    folder = is_new ? path_dirname(&window->arena, path) : NULL;
    if (window->count > 0 &&
        (window->packages > 0 || is_above_or_below(window, path) ||
         (makes && window->makes && !make_alike(window->makes, state)) ||
         (is_new && window->new_folder && strcmp(window->new_folder, folder) != 0)))
        return false;
    add_window_path(window, path);
    if (makes && !window->makes)
        window->makes = state;
    if (is_new)
        window->new_folder = folder;
    return true;
}

/* --- packages ------------------------------------------------------------------------------ */

/* Adds a package to the window; false when it is already there, or not a plain name. */
static bool take_package(struct touch_window *window, const struct value *name)
{
    void **place;

    if (name->kind != VALUE_STR)
        return false;
    place = map_place(&window->things, arena_str(&window->arena, name->s));
    if (*place)
        return false;
    *place = window;
    return true;
}

static bool joins_packages(struct touch_window *window, const struct plan_state *state)
{
    const struct value *pkgs = value_get(&state->body, "pkgs");
    const struct value *name = value_get(&state->body, "name");
    const struct value id = value_text(state->id);

    if (window->count - window->parallel > window->packages)
        return false;
    window->packages++;
    if (!pkgs)
        return take_package(window, name ? name : &id);
    if (pkgs->kind != VALUE_LIST)
        return false;
    for (size_t i = 0; i < pkgs->list->count; i++)
        if (!take_package(window, &pkgs->list->items[i]))
            return false;
    return true;
}

/* --- windows --------------------------------------------------------------------------------- */

void touch_init(struct touch_window *window)
{
    *window = (struct touch_window){ .arena = ARENA_INIT, .folder_arena = ARENA_INIT };
    window->folders = (struct map)MAP_INIT;
    touch_clear(window);
}

void touch_done(struct touch_window *window)
{
    map_done(&window->folders);
    arena_done(&window->folder_arena);
    arena_done(&window->arena);
}

void touch_clear(struct touch_window *window)
{
    arena_clear(&window->arena);
    window->things = (struct map)MAP_INIT_IN(&window->arena);
    window->above = (struct map)MAP_INIT_IN(&window->arena);
    window->new_folder = NULL;
    window->makes = NULL;
    window->any = false;
    window->count = window->parallel = window->packages = 0;
}

static bool join_window(struct touch_window *window, const struct plan_state *state)
{
    switch (classify_state(state)) {
    case TOUCHED_NOTHING: return !window->any;
    case TOUCHED_PATH: return !window->any && joins_paths(window, state);
    case TOUCHED_PACKAGES: return !window->any && joins_packages(window, state);
    case TOUCHED_ANYTHING: break;
    }
    return false;
}

bool touch_joins(struct touch_window *window, const struct plan_state *state)
{
    const bool first = window->count == window->parallel;

    if (state->parallel) {
        window->parallel++;
        window->count++;
        return true;
    }
    if (!join_window(window, state)) {
        if (!first)
            return false;
        window->any = true;
    }
    window->count++;
    return true;
}

const char *touch_path(const struct plan_state *state)
{
    static const unsigned paths = MODULE_LOCAL | MODULE_TREE;
    const struct value *target = value_get(&state->body, "target");

    if (!(state->module->flags & paths) || state->module->lock || state->check_cmd.n > 0 ||
        !state->args)
        return NULL;
    if (str_starts(str_from(state->module->name), STR("git.")) && value_is(target, VALUE_STR) &&
        target->s.n > 0 && target->s.p[0] == '/')
        return target->s.p;
    return find_primary_path(state);
}
