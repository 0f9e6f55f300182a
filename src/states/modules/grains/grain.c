#include "states/modules/grains/grain.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "core/data/yaml_print.h"
#include "states/modules/file/editor.h"
#include "states/state/host.h"
#include "states/state/module.h"

/* Parts of the path of one grain. */
#define DEPTH_MAX 32

/* Arguments of the editor plan. */
struct task {
    const struct grain_args *want;
    grain_decide_fn *decide;
};

int grain_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct grain_args *want = args;
    const struct str name = str_from(want->name);
    size_t parts = 1;

    if (strlen(want->delimiter) != 1)
        return value_diag(diags, value_point(where, "delimiter"),
                          "'delimiter' must be one character, got '%s'", want->delimiter);
    for (size_t i = 0; i < name.n; i++)
        parts += name.p[i] == *want->delimiter;
    if (parts > DEPTH_MAX)
        return value_diag(diags, value_point(where, "name"), "a grain has at most %d parts",
                          DEPTH_MAX);
    return 0;
}

int grain_check_force(const struct grain_args *want, const struct value *now, struct err *err)
{
    if (want->force || !now || (now->kind != VALUE_LIST && now->kind != VALUE_MAP))
        return 0;
    return err_set(err, ERR_INVALID, "grain '%s' is %s; set 'force' to overwrite it", want->name,
                   value_describe(now));
}

bool grain_has(const struct value *list, const struct value *item)
{
    for (size_t i = 0; i < list->list->count; i++)
        if (value_equal(&list->list->items[i], item))
            return true;
    return false;
}

void grain_each(struct state_run *run, const struct grain_args *want, grain_visit_fn *visit,
                struct value *list)
{
    if (want->value->kind != VALUE_LIST)
        visit(run, list, want->value);
    for (size_t i = 0; want->value->kind == VALUE_LIST && i < want->value->list->count; i++)
        visit(run, list, &want->value->list->items[i]);
}

/* --- the file of facts ------------------------------------------------------------------ */

static int read_grain_facts(struct state_run *run, const struct editor_file *file,
                            struct value *ret, struct err *err)
{
    struct diags diags = DIAGS_INIT(run->arena);

    *ret = value_null();
    if (file->exists && yaml_parse(run->arena, file->path, file->text, NULL, ret, &diags) < 0)
        return diags_to_err(&diags, err);
    if (ret->kind == VALUE_NULL)
        *ret = value_map(value_map_new(run->arena, 1));
    if (ret->kind != VALUE_MAP)
        return err_set(err, ERR_INVALID, "%s: facts must be a map, got %s", file->path,
                       value_describe(ret));
    return 0;
}

/* The map that the last part of the path is in; new ones are made on the way. NULL: something else
 * is in the way, or there is none and `make` is false. */
static struct value_map *walk_grain_path(struct arena *arena, struct value_map *map,
                                         struct str *path, char delimiter, bool make)
{
    while (map && str_find_char(*path, delimiter, 0) != STR_NONE) {
        const struct value key = value_str(arena_str(arena, str_cut(path, delimiter)));
        const struct value *next = value_map_find(map, &key);

        if (!next && make) {
            struct value_map *made = value_map_new(arena, 1);

            value_map_set(arena, map, key, value_map(made));
            map = made;
        } else {
            map = next && next->kind == VALUE_MAP ? next->map : NULL;
        }
    }
    return map;
}

static int put_grain(struct state_run *run, const struct grain_args *want, const struct value *v,
                     struct value *facts, struct err *err)
{
    struct str path = str_from(want->name);
    struct value_map *map =
        walk_grain_path(run->arena, facts->map, &path, *want->delimiter, v != NULL);
    const struct value key = value_str(path);

    if (v && !map)
        return err_set(err, ERR_INVALID, "a part of '%s' is not a map", want->name);
    if (v)
        value_map_set(run->arena, map, key, *v);
    else if (map)
        (void)value_map_remove(map, &key);
    return 0;
}

/* The value in the file, else the detected one; only a grain of the file can be removed. */
static const struct value *find_present_grain(struct state_run *run, const struct grain_args *want,
                                              const struct value *facts)
{
    const struct str path = str_from(want->name);
    const struct value *own = value_path(facts, path, *want->delimiter);

    return own || want->destructive ? own : value_path(state_grains(run), path, *want->delimiter);
}

static int plan_facts(struct state_run *run, const void *args, const struct editor_file *file,
                      struct editor_plan *plan, struct err *err)
{
    const struct task *task = args;
    const struct grain_args *want = task->want;
    enum grain_fate fate = GRAIN_STAYS;
    struct value facts, v = value_null();

    if (read_grain_facts(run, file, &facts, err) < 0)
        return -1;
    facts = value_copy(run->arena, &facts);
    if (task->decide(run, want, find_present_grain(run, want, &facts), &v, &fate, err) < 0)
        return -1;
    plan->pending = arena_printf(run->arena, "grain '%s' differs", want->name);
    plan->done = arena_printf(run->arena, "%s grain '%s'",
                              fate == GRAIN_IS_REMOVED ? "removed" : "set", want->name);
    plan->remark = arena_printf(run->arena, "grain '%s' is as wanted", want->name);
    if (fate == GRAIN_STAYS) {
        buf_add_str(&plan->text, file->text);
        return 0;
    }
    if (put_grain(run, want, fate == GRAIN_IS_SET ? &v : NULL, &facts, err) < 0)
        return -1;
    return yaml_print(&plan->text, &facts, err);
}

static int edit_facts(struct state_run *run, const struct task *task,
                      int (*edit)(struct state_run *, const struct editor *, const void *,
                                  struct err *),
                      struct err *err)
{
    const struct editor editor = {
        .path = run->host->facts_file,
        .plan = plan_facts,
        .makedirs = true,
    };

    if (!editor.path)
        return err_set(err, ERR_UNSUPPORTED, "cannot write facts here");
    return edit(run, &editor, task, err);
}

int grain_check(struct state_run *run, const struct grain_args *want, grain_decide_fn *decide,
                struct err *err)
{
    return edit_facts(run, &(struct task){ want, decide }, editor_check, err);
}

int grain_apply(struct state_run *run, const struct grain_args *want, grain_decide_fn *decide,
                struct err *err)
{
    return edit_facts(run, &(struct task){ want, decide }, editor_apply, err);
}
