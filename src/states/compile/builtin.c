#include "states/compile/builtin.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/object.h"
#include "language/jinja/render.h"
#include "states/state/host.h"
#include "states/compile/filter_by.h"
#include "states/compile/merging.h"
#include "states/compile/output.h"
#include "states/compile/tree.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

/* Groups of one user that user_info shows. */
#define USER_GROUPS_MAX 1024
/* Limit for the account database entry of one name. */
#define ACCOUNT_TEXT_MAX ((size_t)64 << 10)

static struct builtin_context *get_builtin_context(const struct bound_args *bound)
{
    return bound->user;
}

static int get_text_parameter(struct render *render, const struct bound_args *bound, size_t i,
                              const char **ret)
{
    struct str text;

    if (argument_text(render, &bound->args[i], &text) < 0)
        return -1;
    *ret = arena_strndup(render->arena, text.p, text.n);
    return 0;
}

struct value builtin_opts(struct arena *arena, const struct state_host *host)
{
    const char *root = host->tree ? tree_root(host->tree) : NULL;
    struct value_map *opts = value_map_new(arena, 8), *roots = value_map_new(arena, 1);
    struct value_list *base = value_list_new(arena, 1);
    const struct value saltenv = value_text(host->environment ? host->environment : "base");
    const char *pillarenv = host->settings_environment;

    if (root)
        value_list_push(arena, base, value_text(root));
    value_map_set(arena, roots, value_text("base"), value_list(base));
    value_map_set(arena, roots, saltenv, value_list(base)); /* one tree has all of them */

    const struct {
        const char *key;
        struct value value;
    } fields[] = {
        { "id", value_text(host->peel_id ? host->peel_id : "") },
        { "test", value_bool(host->test) },
        { "saltenv", saltenv },
        { "pillarenv", value_text(pillarenv ? pillarenv : "base") },
        { "file_client", value_text("local") },
        { "file_roots", value_map(roots) },
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        value_map_set(arena, opts, value_text(fields[i].key), fields[i].value);
    return value_map(opts);
}

/* --- facts and settings ------------------------------------------------------- */

/* Follow a path with either separator: a key that contains it wins, then ':', then '.'. */
static const struct value *follow_value_path(const struct value *tree, struct str path,
                                             const char *separators)
{
    const struct value *found = NULL;

    for (const char *s = separators; *s && !found; s++)
        found = value_path(tree, path, *s);
    return found;
}

/* The separator argument at `i`, or `usual`. */
static int pick_separators(struct render *render, const struct bound_args *bound, size_t i,
                           const char *usual, const char **ret)
{
    struct str text;

    *ret = usual;
    if (bound->count <= i || argument_is_none(&bound->args[i]))
        return 0;
    if (argument_text(render, &bound->args[i], &text) < 0)
        return -1;
    if (text.n != 1)
        return render_fail(render, RENDER_TYPE, "%s(): the delimiter must be one character",
                           bound->name);
    *ret = text.p;
    return 0;
}

/* `path` in `tree`, or the default; without a default `missing`. */
static int get_value_at_path(struct render *render, const struct bound_args *bound,
                             const struct value *tree, const char *separators, struct value missing,
                             struct value *ret)
{
    const struct value *found;
    struct str path;

    if (argument_text(render, &bound->args[0], &path) < 0)
        return -1;
    found = follow_value_path(tree, path, separators);
    if (found)
        *ret = *found;
    else
        *ret = value_is_absent(&bound->args[1]) ? missing : bound->args[1];
    return 0;
}

static int call_fact_lookup(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    return get_value_at_path(render, bound, host_facts(get_builtin_context(bound)->host),
                             ".:", value_null(), ret);
}

/* Shared values of other machines, as a list of {peel_id, value}. */
static int call_basket_get(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct state_host *host = get_builtin_context(bound)->host;
    struct value_list *list = value_list_new(render->arena, 4);
    struct str target, name;
    struct value shared;
    struct err err;

    *ret = value_list(list);
    if (argument_text(render, &bound->args[0], &target) < 0 ||
        argument_text(render, &bound->args[1], &name) < 0)
        return -1;
    if (!host->basket)
        return 0;
    if (host->basket(host,
                     &(struct state_basket){ .target = arena_str(render->arena, target).p,
                                             .type = "",
                                             .name = arena_str(render->arena, name).p },
                     render->arena, &shared, &err) < 0)
        return render_fail(render, RENDER_TYPE, "%s", err.text);
    for (size_t i = 0; i < shared.map->count; i++) {
        struct value_map *item = value_map_new(render->arena, 2);

        value_map_set(render->arena, item, value_text("peel_id"), shared.map->pairs[i].key);
        value_map_set(render->arena, item, value_text("value"), shared.map->pairs[i].value);
        value_list_push(render->arena, list, value_map(item));
    }
    return 0;
}

static int call_pillar_get(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return get_value_at_path(render, bound, get_builtin_context(bound)->host->settings, ":",
                             value_null(), ret);
}

/* Salt's form of a fact first: there, `os` is text, here a map. */
static int call_grains_get(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct state_host *host = get_builtin_context(bound)->host;
    const char *separators;
    struct str path;

    if (argument_text(render, &bound->args[0], &path) < 0 ||
        pick_separators(render, bound, 2, ":.", &separators) < 0)
        return -1;
    return get_value_at_path(render, bound,
                             follow_value_path(host_grains(host), path, separators)
                                 ? host_grains(host)
                                 : host_facts(host),
                             separators, value_text(""), ret);
}

static int get_grain(struct render *render, const struct bound_args *bound, const struct value *key,
                     const struct value *otherwise, struct value *ret)
{
    const struct value args[] = { *key, *otherwise, value_null() };
    const struct bound_args one = {
        .args = args, .count = ARRAY_LEN(args), .name = bound->name, .user = bound->user
    };

    return call_grains_get(render, &one, ret);
}

/* In Salt files a map of all requested facts; in .zy files one fact, with a default. */
static int call_grains_item(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    const struct value_list *keys = container_list(render, &bound->args[0]);
    const struct value empty = value_text("");
    struct value_map *found = container_new_map(render, keys->count);

    if (keys->count == 0 || (render->yaml != YAML_DIALECT_SALT && keys->count > 2))
        return render_fail(render, RENDER_TYPE, "%s() expects %s", bound->name,
                           keys->count == 0 ? "a path" : "a path and a default");
    if (render->yaml != YAML_DIALECT_SALT)
        return get_grain(render, bound, &keys->items[0], keys->count > 1 ? &keys->items[1] : &empty,
                         ret);
    for (size_t i = 0; i < keys->count; i++) {
        struct value value;

        if (get_grain(render, bound, &keys->items[i], &empty, &value) < 0)
            return -1;
        value_map_set(render->arena, found, keys->items[i], value);
    }
    *ret = value_map(found);
    return 0;
}

/* pillar.get(key, default?, merge=false, merge_nested_lists=false, delimiter=none): with
 * `merge`, the value found is merged over the default, if both are maps or both are lists. */
static int call_setting_lookup(struct render *render, const struct bound_args *bound,
                               struct value *ret)
{
    const struct value *fallback = &bound->args[1];
    const char *separators;
    struct value found;

    if (pick_separators(render, bound, 4, ":.", &separators) < 0 ||
        get_value_at_path(render, bound, get_builtin_context(bound)->host->settings, separators,
                          value_text(""), &found) < 0)
        return -1;
    if (value_is_true(&bound->args[2]) && fallback->kind == found.kind &&
        (found.kind == VALUE_MAP || found.kind == VALUE_LIST))
        return merging_make(render, fallback, &found,
                            found.kind == VALUE_LIST || value_is_true(&bound->args[3])
                                ? MERGING_JOIN
                                : MERGING_REPLACE,
                            ret);
    *ret = found;
    return 0;
}

static int call_facts_items(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    (void)render;
    *ret = *host_facts(get_builtin_context(bound)->host);
    return 0;
}

static int call_all_grains(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct state_host *host = get_builtin_context(bound)->host;

    (void)render;
    *ret = *host_grains(host);
    return 0;
}

static int call_settings_items(struct render *render, const struct bound_args *bound,
                               struct value *ret)
{
    (void)render;
    *ret = *get_builtin_context(bound)->host->settings;
    return 0;
}

/* Where config.get searches, in this order; earlier ones override later ones in a merge. */
#define CONFIG_PLACES 3

/* config.get(key, default?, delimiter=none, merge=none, omit_opts=false, omit_pillar=false,
 * omit_master=true, omit_grains=false): a value from the configuration, the grains or the
 * settings. With `merge`, all of them, the first on top. */
static int call_config_get(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct state_host *host = get_builtin_context(bound)->host;
    const struct value opts = builtin_opts(render->arena, host);
    const struct value *places[CONFIG_PLACES] = {
        value_is_true(&bound->args[4]) ? NULL : &opts,
        value_is_true(&bound->args[7]) ? NULL : host_grains(host),
        value_is_true(&bound->args[5]) ? NULL : host->settings,
    };
    const char *separators;
    struct value merged = value_absent();
    struct str path;

    if (argument_text(render, &bound->args[0], &path) < 0 ||
        pick_separators(render, bound, 2, ":.", &separators) < 0)
        return -1;
    for (size_t i = CONFIG_PLACES; i-- > 0;) {
        const struct value *found =
            places[i] ? follow_value_path(places[i], path, separators) : NULL;

        if (found && value_is_true(&bound->args[3]) && merged.kind == VALUE_MAP &&
            found->kind == VALUE_MAP) {
            if (merging_make(render, &merged, found, MERGING_REPLACE, &merged) < 0)
                return -1;
        } else if (found) {
            merged = *found;
        }
    }
    if (!value_is_absent(&merged))
        *ret = merged;
    else
        *ret = value_is_absent(&bound->args[1]) ? value_text("") : bound->args[1];
    return 0;
}

static int call_config_items(struct render *render, const struct bound_args *bound,
                             struct value *ret)
{
    *ret = builtin_opts(render->arena, get_builtin_context(bound)->host);
    return 0;
}

/* --- merging --------------------------------------------------------------------- */

static int check_argument_is_map(struct render *render, const struct bound_args *bound,
                                 const struct value *v, const char *what)
{
    if (v->kind == VALUE_MAP)
        return 0;
    return render_fail(render, RENDER_TYPE, "%s(): %s must be a map, not %s", bound->name, what,
                       value_describe(v));
}

/* The grain of a lookup: Salt's form first, where `os` is text. */
static const struct value *find_grain_value(const struct state_host *host, struct str path)
{
    const struct value *found = follow_value_path(host_grains(host), path, ":.");

    if (!found)
        found = follow_value_path(host_facts(host), path, ":.");
    return found || !str_is(path, "os_family")
               ? found
               : follow_value_path(host_facts(host), STR("os.family"), ".");
}

/* grains.filter_by(lookup, grain='os_family', merge=none, default='default', base=none) */
static int call_filter_by(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct str grain = STR("os_family");

    if (bound->args[1].kind != VALUE_MAP && argument_text(render, &bound->args[1], &grain) < 0)
        return -1;
    return filter_by(render, bound, find_grain_value(get_builtin_context(bound)->host, grain), ret);
}

/* pillar.filter_by(lookup, pillar, merge=none, default='default', base=none) */
static int call_pillar_filter_by(struct render *render, const struct bound_args *bound,
                                 struct value *ret)
{
    struct str path;

    if (argument_text(render, &bound->args[1], &path) < 0)
        return -1;
    return filter_by(render, bound,
                     follow_value_path(get_builtin_context(bound)->host->settings, path, ":."),
                     ret);
}

/* defaults.merge(dest, upd, merge_lists=false, in_place=true, convert_none=true) */
static int call_defaults_merge(struct render *render, const struct bound_args *bound,
                               struct value *ret)
{
    const enum merging_lists lists =
        value_is_true(&bound->args[2]) ? MERGING_JOIN : MERGING_REPLACE;
    const struct value nothing = value_map(container_new_map(render, 0));
    const struct value *base = &bound->args[0], *over = &bound->args[1];

    if (value_is_true(&bound->args[4])) {
        base = base->kind == VALUE_NULL ? &nothing : base;
        over = over->kind == VALUE_NULL ? &nothing : over;
    }
    if (check_argument_is_map(render, bound, base, "the first argument") < 0 ||
        check_argument_is_map(render, bound, over, "the second argument") < 0)
        return -1;
    if (!value_is_true(&bound->args[3]))
        return merging_make(render, base, over, lists, ret);
    *ret = *base;
    return merging_update(render, base, over, lists);
}

/* defaults.update(dest, defaults, merge_lists=true, in_place=true, convert_none=true): every map in
 * `dest` on top of the defaults. */
static int call_defaults_update(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    const enum merging_lists lists =
        value_is_true(&bound->args[2]) ? MERGING_JOIN : MERGING_REPLACE;
    const struct value nothing = value_map(container_new_map(render, 0));
    const struct value *nodes = &bound->args[0], *defaults = &bound->args[1];
    struct value_map *map;

    if (value_is_true(&bound->args[4]))
        defaults = defaults->kind == VALUE_NULL ? &nothing : defaults;
    if (check_argument_is_map(render, bound, nodes, "the first argument") < 0 ||
        check_argument_is_map(render, bound, defaults, "the second argument") < 0)
        return -1;
    *ret = *nodes;
    if (!value_is_true(&bound->args[3]) &&
        merging_make(render, nodes, &nothing, MERGING_REPLACE, ret) < 0)
        return -1;
    map = container_change_map(render, ret);
    for (size_t i = 0; i < map->count; i++) {
        const struct value *node = &map->pairs[i].value;
        struct value made;

        if (node->kind == VALUE_NULL && value_is_true(&bound->args[4]))
            node = &nothing;
        if (check_argument_is_map(render, bound, node, "a value of the first argument") < 0 ||
            merging_make(render, defaults, node, lists, &made) < 0)
            return -1;
        value_map_set(render->arena, map, map->pairs[i].key, made);
    }
    return 0;
}

/* --- the machine ------------------------------------------------------------------ */

static struct value list_group_names(struct render *render, const struct passwd *account,
                                     char *room)
{
    struct value_list *names = container_new_list(render, 0);
    AUTO_FREE gid_t *ids = mem_alloc(mem_product(USER_GROUPS_MAX, sizeof(*ids)));
    int count = USER_GROUPS_MAX;

    if (getgrouplist(account->pw_name, account->pw_gid, ids, &count) < 0)
        count = USER_GROUPS_MAX;
    for (int i = 0; i < count; i++) {
        struct group group, *found = NULL;

        if (getgrgid_r(ids[i], &group, room, ACCOUNT_TEXT_MAX, &found) == 0 && found)
            value_list_push(render->arena, names,
                            value_text(arena_strdup(render->arena, group.gr_name)));
    }
    return value_list(names);
}

/* "name,room,work phone,home phone,other" of an account. */
static void put_comment(struct render *render, struct value_map *info, const char *gecos)
{
    static const char *const keys[] = { "fullname", "roomnumber", "workphone", "homephone" };
    struct str rest = str_from(arena_strdup(render->arena, gecos));

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        value_map_set(render->arena, info, value_text(keys[i]),
                      rest.p ? value_str(str_cut(&rest, ',')) : value_text(""));
    value_map_set(render->arena, info, value_text("other"),
                  rest.p ? value_str(rest) : value_text(""));
}

static int call_user_info(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_map *info = container_new_map(render, 12);
    AUTO_FREE char *room = mem_alloc(ACCOUNT_TEXT_MAX);
    AUTO_FREE char *group_room = mem_alloc(ACCOUNT_TEXT_MAX);
    struct passwd account, *found = NULL;
    const char *name;

    if (get_text_parameter(render, bound, 0, &name) < 0)
        return -1;
    *ret = value_map(info);
    if (getpwnam_r(name, &account, room, ACCOUNT_TEXT_MAX, &found) != 0 || !found)
        return 0;

    const struct {
        const char *key;
        struct value value;
    } fields[] = {
        { "name", value_text(arena_strdup(render->arena, account.pw_name)) },
        { "uid", value_int(account.pw_uid) },
        { "gid", value_int(account.pw_gid) },
        { "home", value_text(arena_strdup(render->arena, account.pw_dir)) },
        { "shell", value_text(arena_strdup(render->arena, account.pw_shell)) },
        { "passwd", value_text("x") }, /* as in /etc/passwd */
        { "groups", list_group_names(render, &account, group_room) },
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        value_map_set(render->arena, info, value_text(fields[i].key), fields[i].value);
    put_comment(render, info, account.pw_gecos);
    return 0;
}

/* Sorted by name, as in Salt; none for an unknown user. */
static int call_list_groups(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    const struct value *groups;
    struct value info;

    if (call_user_info(render, bound, &info) < 0)
        return -1;
    groups = value_get(&info, "groups");
    *ret = groups ? *groups : value_list(container_new_list(render, 0));
    return filter_apply(render, STR("sort"), ret, &(struct function_call){ 0 }, ret);
}

static int call_has_exec(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const char *name, *path = getenv("PATH");
    struct str rest = str_from(path ? path : "/usr/bin:/bin");

    if (get_text_parameter(render, bound, 0, &name) < 0)
        return -1;
    *ret = value_bool(false);
    if (strchr(name, '/')) {
        *ret = value_bool(access(name, X_OK) == 0);
        return 0;
    }
    while (rest.p && name[0]) {
        const struct str folder = str_cut(&rest, ':');
        const char *whole = arena_printf(render->arena, "%.*s/%s", STR_ARG(folder), name);
        struct fs_info info;
        struct err ignored; /* skip folders of PATH that cannot be read */

        if (folder.n > 0 && fs_stat(whole, &info, &ignored) == 0 && info.kind == FS_FILE &&
            access(whole, X_OK) == 0) {
            *ret = value_bool(true);
            return 0;
        }
    }
    return 0;
}

static int call_dirname(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const char *path;

    if (get_text_parameter(render, bound, 0, &path) < 0)
        return -1;
    *ret = value_text(path_dirname(render->arena, path));
    return 0;
}

static int call_basename(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const char *path;

    if (get_text_parameter(render, bound, 0, &path) < 0)
        return -1;
    *ret = value_str(arena_str(render->arena, path_basename(path)));
    return 0;
}

static int check_path_kind(struct render *render, const struct bound_args *bound, enum fs_kind kind,
                           struct value *ret)
{
    struct fs_info info;
    const char *path;
    struct err err;

    if (get_text_parameter(render, bound, 0, &path) < 0)
        return -1;
    if (fs_stat(path, &info, &err) < 0)
        return render_fail(render, RENDER_HOST, "%s(): %s", bound->name, err.text);
    *ret = value_bool(info.kind == kind);
    return 0;
}

static int call_state_file_exists(struct render *render, const struct bound_args *bound,
                                  struct value *ret)
{
    return check_path_kind(render, bound, FS_FILE, ret);
}

static int call_directory_exists(struct render *render, const struct bound_args *bound,
                                 struct value *ret)
{
    return check_path_kind(render, bound, FS_FOLDER, ret);
}

/* --- outputs ------------------------------------------------------------------------- */

/* outputs('cmd.run:build'), with the attributes applied so far. Printing it creates the mark. */
struct output_object {
    struct object object;
    struct output_list *outputs;
    const char *target;
    struct str path;
    unsigned steps;
};

static const struct object_type output_type;

static int output_step(struct render *render, const struct output_object *from, struct str name,
                       struct value *ret)
{
    struct output_object *next = ARENA_NEW(render->arena, struct output_object);

    if (from->steps >= OUTPUT_STEPS_MAX)
        return render_fail(render, RENDER_LIMIT,
                           "outputs(): more than the limit of %d names after it", OUTPUT_STEPS_MAX);
    *next = *from;
    next->steps++;
    next->path = from->path.n == 0 ? arena_str(render->arena, name)
                                   : str_from(arena_printf(render->arena, "%.*s.%.*s",
                                                           STR_ARG(from->path), STR_ARG(name)));
    *ret = object_value(&next->object);
    return 0;
}

static int output_get(struct render *render, struct object *object, struct str name,
                      struct value *ret, bool *ret_found)
{
    *ret_found = true;
    return output_step(render, (const struct output_object *)object, name, ret);
}

static int output_item(struct render *render, struct object *object, const struct value *key,
                       struct value *ret, bool *ret_found)
{
    struct str name;

    if (argument_text(render, key, &name) < 0)
        return -1;
    return output_get(render, object, name, ret, ret_found);
}

static int output_print(struct render *render, struct object *object, struct buf *out)
{
    const struct output_object *output = (const struct output_object *)object;
    const struct str mark =
        output_mark(output->outputs, output->target, output->path, render_place(render));

    if (!mark.p)
        return render_fail(render, RENDER_LIMIT, "outputs(): used more than the limit of %d times",
                           OUTPUT_MARKS_MAX);
    buf_add_str(out, mark);
    return 0;
}

static const struct object_type output_type = {
    .name = "outputs",
    .get = output_get,
    .item = output_item,
    .print = output_print,
};

static int call_outputs(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct output_object *output = ARENA_NEW(render->arena, struct output_object);

    output->object.type = &output_type;
    output->outputs = get_builtin_context(bound)->outputs;
    if (!output->outputs)
        return render_fail(render, RENDER_HOST, "outputs() works in state files only");
    if (get_text_parameter(render, bound, 0, &output->target) < 0)
        return -1;
    *ret = object_value(&output->object);
    return 0;
}

static int call_raise(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct str text;

    (void)ret;
    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    return render_fail(render, RENDER_HOST, "%.*s", STR_ARG(text));
}

/* --- the tables -------------------------------------------------------------------------- */

/* clang-format off */
const struct function builtin_salt_functions[] = {
    { "config.get", "key, default?, delimiter=none, merge=none, omit_opts=false, omit_pillar=false, omit_master=true, omit_grains=false",
      call_config_get, "a value from the configuration, the facts or the settings" },
    { "config.items", "", call_config_items, "the configuration" },
    { "config.option", "value, default?, delimiter=none, merge=none, omit_opts=false, omit_pillar=false, omit_master=true, omit_grains=false",
      call_config_get, "a value from the configuration, the facts or the settings" },
    { "config.merge", "value, default?, delimiter=none, merge=true, omit_opts=false, omit_pillar=false, omit_master=true, omit_grains=false",
      call_config_get, "the values of the configuration, the facts and the settings, merged" },
    { "cmd.has_exec", "cmd", call_has_exec, "whether a program is in PATH" },
    { "defaults.merge", "dest, upd, merge_lists=false, in_place=true, convert_none=true",
      call_defaults_merge, "merge two maps, the second on top" },
    { "defaults.update", "dest, defaults, merge_lists=true, in_place=true, convert_none=true",
      call_defaults_update, "every map in the first on top of the defaults" },
    { "file.basename", "path", call_basename, "the last part of a path" },
    { "file.directory_exists", "path", call_directory_exists, "whether a folder exists" },
    { "file.dirname", "path", call_dirname, "all but the last part of a path" },
    { "file.file_exists", "path", call_state_file_exists, "whether a file exists" },
    { "facts.get", "key, default?", call_fact_lookup, "a fact by path" },
    { "facts.items", "", call_facts_items, "all facts" },
    { "grains.fetch", "key, default?, delimiter=none", call_grains_get, "a fact by path" },
    { "grains.filter_by", "lookup_dict, grain='os_family', merge=none, default='default', base=none",
      call_filter_by, "the entry of a map that matches this machine" },
    { "grains.get", "key, default?, delimiter=none", call_grains_get, "a fact by path" },
    { "grains.item", "*keys", call_grains_item, "facts by their paths: in Salt files a map of them; else a fact, or a default" },
    { "grains.items", "", call_all_grains, "all facts" },
    { "pillar.fetch", "key, default?, merge=false, merge_nested_lists=false, delimiter=none",
      call_setting_lookup, "a setting by path" },
    { "pillar.filter_by", "lookup_dict, pillar, merge=none, default='default', base=none",
      call_pillar_filter_by, "the entry of a map that matches a setting" },
    { "pillar.get", "key, default?, merge=false, merge_nested_lists=false, delimiter=none",
      call_setting_lookup, "a setting by path" },
    { "settings.get", "key, default?, merge=false, merge_nested_lists=false, delimiter=none",
      call_setting_lookup, "a setting by path" },
    { "settings.items", "", call_settings_items, "all settings" },
    { "user.info", "name", call_user_info, "information about a user account" },
    { "user.list_groups", "name", call_list_groups, "the groups of a user" },
    { "test.get_opts", "", call_config_items, "the configuration" },
    { 0 },
};

const struct function builtin_globals[] = {
    { "basket", "target, name", call_basket_get, "values that machines of the fleet share under a name: a list of peel_id and value" },
    { "cmd_has_exec", "name", call_has_exec, "whether a program is in PATH" },
    { "facts_get", "key, default?", call_fact_lookup, "a fact by dotted path" },
    { "file_dirname", "path", call_dirname, "all but the last part of a path" },
    { "grains_filter_by", "lookup, grain='os.family', merge=none, default='default', base=none",
      call_filter_by, "the entry of a map that matches this machine" },
    { "outputs", "state", call_outputs, "the output of an earlier state" },
    { "pillar_get", "key, default?", call_pillar_get, "a setting by path with colons" },
    { "raise", "message", call_raise, "fail with this message" },
    { "user_info", "name", call_user_info, "information about a user account" },
    { 0 },
};
/* clang-format on */
