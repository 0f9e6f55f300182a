#include "states/modules/event/sending.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "states/modules/environ/environment.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/state/secrets.h"

#define ARGS struct sending_args

/* Limit for the data in a report. */
#define SHOWN_MAX ((size_t)64 << 10)

/* clang-format off */
const struct param sending_params[] = {
    PARAM("tag",          STR,  ARGS, tag,      "its tag, as in a/b/c", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "name"),
    PARAM("data",         MAP,  ARGS, data,     "event data"),
    PARAM("with_env",     ANY,  ARGS, env,      "add variables of the environment as 'environ': true for all, or a list of names", .kind_text = "true or list"),
    PARAM("with_grains",  ANY,  ARGS, facts,    "add facts as 'grains': true for all, or a list of names", .kind_text = "true or list", .aliases = "with_facts"),
    PARAM("with_pillar",  ANY,  ARGS, settings, "add settings as 'pillar': true for all, or a list of names; secrets are masked", .kind_text = "true or list", .aliases = "with_settings"),
    PARAM("show_changed", BOOL, ARGS, show_changed, "count it as a change", .default_text = "true"),
    PARAM("*",            MAP,  ARGS, more,     "in a Salt file: any other key is data", .flags = PARAM_REST),
    PARAM_IDLE("preload", "events have no other header here"),
    { 0 },
};
/* clang-format on */

/* --- data ------------------------------------------------------------------------------- */

/* Names that are not there are left out, as Salt does. */
static struct value pick_names(struct arena *arena, const struct value *tree,
                               const struct value *names)
{
    struct value_map *map = value_map_new(arena, names->list->count);

    for (size_t i = 0; i < names->list->count; i++) {
        const struct value *found = value_map_find(tree->map, &names->list->items[i]);

        if (found)
            value_map_set(arena, map, names->list->items[i], value_copy(arena, found));
    }
    return value_map(map);
}

/* `which` is true, a list of names, or nothing. */
static int add_event_tree(struct state_run *run, struct value_map *data, const char *key,
                          const struct value *which, const struct value *tree, struct err *err)
{
    if (!which || which->kind == VALUE_NULL || (which->kind == VALUE_BOOL && !which->b))
        return 0;
    if (which->kind == VALUE_BOOL)
        value_map_set(run->arena, data, value_text(key), value_copy(run->arena, tree));
    else if (which->kind == VALUE_LIST)
        value_map_set(run->arena, data, value_text(key), pick_names(run->arena, tree, which));
    else
        return err_set(err, ERR_INVALID, "'with_%s' must be true, false or a list of names",
                       strcmp(key, "environ") == 0 ? "env" : key);
    return 0;
}

static void add_pairs(struct state_run *run, struct value_map *data, const struct value *from)
{
    for (size_t i = 0; from && i < from->map->count; i++)
        value_map_set(run->arena, data, from->map->pairs[i].key,
                      value_copy(run->arena, &from->map->pairs[i].value));
}

/* The last one wins: trees, other keys, `data`. */
static int make_event_data(struct state_run *run, const struct sending_args *want,
                           struct value *ret, struct err *err)
{
    struct value_map *data = value_map_new(run->arena, 4);
    struct value environment = value_null();

    if (want->env && want->env->kind != VALUE_NULL)
        environment = environment_list(run->arena);
    if (add_event_tree(run, data, "environ", want->env, &environment, err) < 0 ||
        add_event_tree(run, data, "grains", want->facts, state_grains(run), err) < 0 ||
        add_event_tree(run, data, "pillar", want->settings, state_settings(run), err) < 0)
        return -1;
    add_pairs(run, data, want->more);
    add_pairs(run, data, want->data);
    *ret = value_map(data);
    secrets_mask_value(run->host->secrets, run->arena, ret);
    return 0;
}

static int make_sent_event(struct state_run *run, const struct sending_args *want,
                           struct state_event *ret, struct err *err)
{
    if (!run->host->send_event)
        return err_set(err, ERR_INVALID,
                       "event '%s' not sent: events belong to a fleet, and this run has none; "
                       "'zester PEEL state.apply' runs the states on a peel, which sends it",
                       want->tag);
    *ret = (struct state_event){ .tag = want->tag };
    return make_event_data(run, want, &ret->data, err);
}

/* " {...}", or nothing when it is too long to be read. */
static void print_event_data(struct buf *out, const struct value *data)
{
    struct err err;

    if (data->map->count == 0)
        return;
    buf_add_char(out, ' ');
    if (json_print(out, data, JSON_STYLE_COMPACT, &err) < 0 || out->full)
        buf_clear(out);
}

/* --- the module ---------------------------------------------------------------------------- */

int sending_check(struct state_run *run, const void *args, struct err *err)
{
    AUTO_BUF struct buf data = BUF_INIT(SHOWN_MAX);
    const struct sending_args *want = args;
    struct state_event event;

    if (make_sent_event(run, want, &event, err) < 0)
        return -1;
    if (!want->show_changed) {
        state_acts(run);
        return 0;
    }
    print_event_data(&data, &event.data);
    state_differs(run, "would send the event %s%s", want->tag, buf_text(&data));
    state_made(run, "sent the event %s%s", want->tag, buf_text(&data));
    return 0;
}

int sending_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct sending_args *want = args;
    struct state_event event;

    if (make_sent_event(run, want, &event, err) < 0 ||
        run->host->send_event(run->host, run->arena, &event, err) < 0)
        return -1;
    state_detail(run, "id", "%s", event.id);
    state_detail(run, "tag", "%s", want->tag);
    state_detail_value(run, "data", event.data);
    if (!want->show_changed)
        state_unchanged(run);
    return 0;
}

int sending_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct state_event event;

    if (make_sent_event(run, args, &event, err) < 0 ||
        (!run->test && run->host->send_event(run->host, run->arena, &event, err) < 0))
        return -1;
    *ret = value_bool(true);
    return 0;
}
