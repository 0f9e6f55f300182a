#include "fleet/reactor/reaction.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "core/data/time_text.h"
#include "core/data/yaml.h"
#include "language/jinja/filters/builtins.h"
#include "language/jinja/jinja.h"
#include "language/jinja/relocate.h"
#include "language/jinja/trace.h"
#include "fleet/reactor/awaited.h"
#include "fleet/reactor/reaction_part.h"
#include "fleet/reactor/rule_set.h"

struct reaction_env {
    struct reaction_options options;
    struct jinja *jinja;
};

struct reaction_env *reaction_env_new(const struct reaction_options *options)
{
    const struct jinja_options jinja = {
        .lenient = options->lenient,
        .limits = {
            .template_bytes = REACTION_TEXT_MAX,
            .output_bytes = REACTION_TEXT_MAX,
            .memory_bytes = REACTION_MEMORY_MAX,
            .steps = UINT64_MAX, /* the time is the limit */
            .nanoseconds = REACTION_TIME_MAX,
        },
        .builtins = &filter_builtins,
        .is_stopped = options->is_stopped,
        .now = options->now,
        .user = options->user,
    };
    struct reaction_env *env = mem_zalloc(sizeof(*env));

    env->options = *options;
    env->jinja = jinja_new(&jinja);
    return env;
}

void reaction_env_free(struct reaction_env *env)
{
    if (!env)
        return;
    jinja_free(env->jinja);
    free(env);
}

/* --- what a template sees ------------------------------------------------------------- */

/* The keys of the context. */
static const char *const context_names[] = { "event",        "tag",        "data",
                                             "origin_facts", AWAITED_NAME, NULL };

static void put_reaction_value(struct arena *arena, struct value_map *map, const char *key,
                               struct value value)
{
    value_map_append(arena, map, value_text(key), value);
}

static struct value map_or_empty(struct arena *arena, const struct value *v)
{
    if (!v || v->kind != VALUE_MAP)
        return value_map(value_map_new(arena, 0));
    return *v;
}

static struct value print_ts(struct arena *arena, struct value_time ts)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (ts.seconds != 0 || ts.nanoseconds != 0)
        time_print(&text, ts);
    return value_str(buf_copy(&text, arena));
}

static struct value make_context(struct arena *arena, const struct reaction_event *about,
                                 struct awaited *awaited)
{
    const struct event_source *source = about->source;
    const struct event *event = about->event;
    const struct value data = map_or_empty(arena, &event->data);
    struct value_map *map = value_map_new(arena, 5), *inner = value_map_new(arena, 7);

    put_reaction_value(arena, inner, "id", value_text(event->id));
    put_reaction_value(arena, inner, "tag", value_text(source->tag));
    put_reaction_value(arena, inner, "peel",
                       value_text(source->type == EVENT_FROM_PEEL ? source->origin : ""));
    put_reaction_value(arena, inner, "origin", value_text(source->origin));
    put_reaction_value(arena, inner, "depth", value_int(event->depth));
    put_reaction_value(arena, inner, "ts", print_ts(arena, event->ts));
    put_reaction_value(arena, inner, "data", data);
    put_reaction_value(arena, map, "event", value_map(inner));
    put_reaction_value(arena, map, "tag", value_text(source->tag));
    put_reaction_value(arena, map, "data", data);
    put_reaction_value(arena, map, "origin_facts", map_or_empty(arena, about->facts));
    put_reaction_value(arena, map, AWAITED_NAME, awaited_object(awaited));
    return value_map(map);
}

/* --- data that would be structure --------------------------------------------------------- */

/* Line breaks in YAML besides "\n". */
static const struct str breaks[] = {
    { "\r", 1 }, { "\xc2\x85", 2 }, { "\xe2\x80\xa8", 3 }, { "\xe2\x80\xa9", 3 }
};
/* With these a text can make lines, maps and lists. */
static const struct str openings[] = { { "\n", 1 }, { "{", 1 }, { "[", 1 } };

static bool contains_any(struct str text, const struct str *marks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_find(text, marks[i], 0) != STR_NONE)
            return true;
    return false;
}

static bool value_has_structure(const struct value *v)
{
    if (value_is_textual(v))
        return contains_any(v->s, openings, ARRAY_LEN(openings));
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        if (value_has_structure(&v->list->items[i]))
            return true;
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        if (value_has_structure(&v->map->pairs[i].key) ||
            value_has_structure(&v->map->pairs[i].value))
            return true;
    return false;
}

/* Data printed without quotes can contain whole blocks. So actions must be written in the file,
 * unless no data of a peel could have made one. Other line breaks are refused, because lines
 * would be ambiguous. */
static int check_written(const struct reaction *reaction, const struct reaction_event *event,
                         struct diags *diags)
{
    int result = 0;

    VEC_EACH (&reaction->actions, action) {
        if (action_is_written(action) || (!value_has_structure(&event->event->data) &&
                                          (!event->facts || !value_has_structure(event->facts))))
            continue;
        result =
            value_diag(diags, action->key,
                       "action '%s' comes from an expression, not from the file", action->name);
        diag_hint(diags, "quote what comes from events: {{ data.text | tojson }}");
    }
    return result;
}

/* --- reading ---------------------------------------------------------------------------- */

/* The document with places in the file, whatever of it was rendered. */
static enum reaction_status render_reaction(struct reaction_env *env, struct arena *arena,
                                            const struct rule_file *file,
                                            const struct reaction_event *event,
                                            struct awaited *awaited, struct value *ret_doc,
                                            struct diags *diags)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(REACTION_TEXT_MAX);
    const struct yaml_options options = { .dialect = yaml_dialect_of(file->path) };
    const struct value context = make_context(&scratch, event, awaited);
    struct trace trace = TRACE_INIT(&scratch);
    size_t before;
    int result;

    if (jinja_render_traced(env->jinja, file->name, file->text, &context, &out, &trace, diags) < 0)
        return REACTION_RENDER_ERROR;
    if (contains_any(buf_view(&out), breaks, ARRAY_LEN(breaks)) &&
        !contains_any(file->text, breaks, ARRAY_LEN(breaks))) {
        diag_add(diags, (struct place){ .file = file->name },
                 "the event brings in line ends that are not a newline");
        diag_hint(diags, "quote what comes from events: {{ data.text | tojson }}");
        return REACTION_VALIDATE_ERROR;
    }
    before = diags->list.n;
    result = yaml_parse(arena, file->name, buf_view(&out), &options, ret_doc, diags);
    if (!str_eq(file->text, buf_view(&out)))
        relocate(arena, buf_view(&out), &trace, result < 0 ? NULL : ret_doc, diags, before);
    return result < 0 ? REACTION_VALIDATE_ERROR : REACTION_OK;
}

static bool is_action_awaited(const struct action *action)
{
    return action->kind == ACTION_DISPATCH && action->dispatch.wait;
}

static int count_reaction_waits(const struct reaction *reaction, struct diags *diags)
{
    size_t count = 0;

    VEC_EACH (&reaction->actions, action)
        if (is_action_awaited(action) && ++count > REACTION_WAITS_MAX)
            return value_diag(diags, action->key, "more than %d blocks wait", REACTION_WAITS_MAX);
    return 0;
}

static int read_reaction_blocks(const struct reaction_env *env, struct arena *arena,
                                const struct value *doc, struct reaction *reaction,
                                struct diags *diags)
{
    int result = 0;

    if (doc->kind == VALUE_NULL)
        return 0;
    if (doc->kind != VALUE_MAP)
        return value_diag(diags, doc, "expected a map of blocks, found %s", value_describe(doc));
    if (doc->map->count > REACTION_ACTIONS_MAX)
        return value_diag(diags, doc, "more than %d blocks", REACTION_ACTIONS_MAX);
    for (size_t i = 0; i < doc->map->count; i++) {
        const struct value_pair *pair = &doc->map->pairs[i];
        struct action action;

        if (action_read(arena, &pair->key, &pair->value, env->options.groups, &action, diags) < 0)
            result = -1;
        else
            VEC_PUSH_IN(arena, &reaction->actions, action);
    }
    if (count_reaction_waits(reaction, diags) < 0)
        result = -1;
    return result;
}

/* Read the file as it is when the jobs that have not ended end as `assumed`. */
static enum reaction_status
read_reaction_world(struct reaction_env *env, const struct rule_file *file,
                    const struct reaction_event *event, const struct awaited_end *assumed,
                    struct awaited *awaited, struct reaction *ret_reaction, struct diags *diags)
{
    struct arena *arena = awaited->arena;
    struct reaction reaction = { .actions = VEC_INIT };
    enum reaction_status status;
    struct value doc;

    awaited->ended = event->outcomes;
    awaited->assumed = assumed;
    *ret_reaction = reaction;
    status = render_reaction(env, arena, file, event, awaited, &doc, diags);
    if (status != REACTION_OK)
        return status;
    if (read_reaction_blocks(env, arena, &doc, &reaction, diags) < 0 ||
        check_written(&reaction, event, diags) < 0)
        return REACTION_VALIDATE_ERROR;
    *ret_reaction = reaction;
    return REACTION_OK;
}

/* Names that no block had in any of the worlds. */
static enum reaction_status check_awaited_names(const struct awaited *awaited,
                                                const struct map *blocks,
                                                const struct rule_file *file, struct diags *diags)
{
    enum reaction_status status = REACTION_OK;

    VEC_EACH (&awaited->names, name) {
        if (map_has(blocks, *name))
            continue;
        diag_add(diags, (struct place){ .file = file->name },
                 AWAITED_NAME ".%.*s: no block '%.*s' has 'wait: true'", STR_ARG(*name),
                 STR_ARG(*name));
        status = REACTION_VALIDATE_ERROR;
    }
    return status;
}

/* Before anything runs: is the file right however its jobs end? */
static enum reaction_status rehearse_reaction(struct reaction_env *env,
                                              const struct rule_file *file,
                                              const struct reaction_event *event,
                                              struct awaited *awaited, struct diags *diags)
{
    enum reaction_status status = REACTION_OK;
    struct map blocks = MAP_INIT;

    for (size_t i = 0; i < awaited_world_count && status == REACTION_OK; i++) {
        struct reaction reaction;

        status =
            read_reaction_world(env, file, event, &awaited_worlds[i], awaited, &reaction, diags);
        if (status != REACTION_OK && i > 0)
            diag_hint(diags, "when the job of a block is %s", awaited_worlds[i].status);
        VEC_EACH (&reaction.actions, action)
            if (is_action_awaited(action))
                *map_place(&blocks, str_from(action->block)) = awaited;
    }
    if (status == REACTION_OK)
        status = check_awaited_names(awaited, &blocks, file, diags);
    map_done(&blocks);
    return status;
}

bool reaction_uses_outcomes(const struct rule_file *file)
{
    return str_find(file->text, STR(AWAITED_NAME), 0) != STR_NONE;
}

static size_t count_sure(const struct rule_file *file, const struct reaction *reaction)
{
    for (size_t i = 0; i < reaction->actions.n; i++)
        if (is_action_awaited(&reaction->actions.p[i]) && reaction_uses_outcomes(file))
            return i + 1;
    return 0;
}

enum reaction_status reaction_read(struct reaction_env *env, struct arena *arena,
                                   const struct rule_file *file, const struct reaction_event *event,
                                   struct reaction *ret_reaction, struct diags *diags)
{
    struct awaited awaited = { .arena = arena };
    enum reaction_status status = REACTION_OK;

    *ret_reaction = (struct reaction){ .actions = VEC_INIT };
    if (!event->outcomes && reaction_uses_outcomes(file))
        status = rehearse_reaction(env, file, event, &awaited, diags);
    if (status == REACTION_OK)
        status = read_reaction_world(env, file, event, &awaited_worlds[0], &awaited, ret_reaction,
                                     diags);
    ret_reaction->sure = count_sure(file, ret_reaction);
    return status;
}

/* --- checking ----------------------------------------------------------------------------- */

/* An event of a peel, without data. */
static const struct event_source bare_source = { EVENT_FROM_PEEL, "peel", "tag", "peel/tag" };
static const struct event bare_event = { .id = "", .tag = "tag" };
static const struct reaction_event bare = { .source = &bare_source, .event = &bare_event };

static void check_blocks(struct arena *arena, const struct value *doc, struct diags *diags)
{
    if (doc->kind != VALUE_MAP && doc->kind != VALUE_NULL)
        value_diag(diags, doc, "expected a map of blocks, found %s", value_describe(doc));
    for (size_t i = 0; doc->kind == VALUE_MAP && i < doc->map->count; i++)
        (void)action_check(arena, &doc->map->pairs[i].value, diags);
}

/* Is the line the same for every event? */
static bool is_written_line(struct str text, uint32_t number)
{
    struct str line = { 0 };

    for (uint32_t i = 0; i < number && text.p; i++)
        line = str_cut(&text, '\n');
    return number > 0 && line.p && jinja_is_plain(line);
}

static bool has_diag(const struct diags *diags, const struct diag *diag)
{
    VEC_EACH (&diags->list, known)
        if (known->at.line == diag->at.line && known->at.column == diag->at.column &&
            strcmp(known->text, diag->text) == 0)
            return true;
    return false;
}

static bool has_statements(const struct rule_file *file)
{
    return str_find(file->text, STR("{%"), 0) != STR_NONE;
}

static void keep_diag(const struct rule_file *file, const struct diag *diag, struct diags *diags)
{
    if (has_diag(diags, diag))
        return;
    diag_add(diags, diag->at, "%s", diag->text);
    if (diag->hint)
        diag_hint(diags, "%s", diag->hint);
    diag_source(diags, file->text);
}

/* Without statements, the blocks and fields are the same for every event: fields that are missing
 * are missing for all of them, and what is wrong with a line that has no expression is wrong, too.
 */
static void keep_certain(const struct rule_file *file, const struct diags *found,
                         struct diags *diags)
{
    VEC_EACH (&found->list, diag)
        if (is_written_line(file->text, diag->at.line) || strstr(diag->text, "' is missing in "))
            keep_diag(file, diag, diags);
}

/* The rendering without data, with jobs ending as in one of the worlds. */
static void check_world(struct reaction_env *env, struct arena *arena, const struct rule_file *file,
                        const struct awaited_end *assumed, struct reaction *reaction,
                        struct diags *diags)
{
    struct awaited awaited = { .arena = arena, .assumed = assumed };
    struct diags found = DIAGS_INIT(arena);
    struct value doc;
    const enum reaction_status status =
        render_reaction(env, arena, file, &bare, &awaited, &doc, &found);

    if (status == REACTION_RENDER_ERROR)
        return;
    if (status == REACTION_OK) {
        check_blocks(arena, &doc, diags);
        (void)read_reaction_blocks(env, arena, &doc, reaction, &found);
    }
    if (!has_statements(file))
        keep_certain(file, &found, diags);
}

/* Blocks that a condition leaves out of a rendering without data, or that were not reached because
 * the file as a whole cannot be read. */
static void check_reaction_parts(struct reaction_env *env, struct arena *arena,
                                 const struct rule_file *file, struct reaction *reaction,
                                 struct diags *diags)
{
    struct reaction_part part = { .text = file->text };
    struct rule_file block = *file;

    while (reaction_part_next(arena, &part, &block.text)) {
        struct diags found = DIAGS_INIT(arena);

        check_world(env, arena, &block, &awaited_worlds[0], reaction, &found);
        VEC_EACH (&found.list, diag)
            keep_diag(file, diag, diags);
    }
}

static void check_template(struct reaction_env *env, struct arena *arena,
                           const struct rule_file *file, struct reaction *reaction,
                           struct diags *diags)
{
    const size_t worlds = reaction_uses_outcomes(file) ? awaited_world_count : 1;
    size_t before;

    /* what is not a template at all is not rendered below either */
    (void)jinja_check(env->jinja, file->name, file->text, context_names, diags);
    before = diags_count(diags);
    for (size_t i = 0; i < worlds && diags_count(diags) == before; i++)
        check_world(env, arena, file, &awaited_worlds[i], reaction, diags);
}

int reaction_check(struct reaction_env *env, struct arena *arena, const struct rule_file *file,
                   struct reaction *ret_reaction, struct diags *diags)
{
    const size_t before = diags_count(diags), kept = diags->list.n;

    *ret_reaction = (struct reaction){ .actions = VEC_INIT };
    if (jinja_is_plain(file->text))
        (void)reaction_read(env, arena, file, &bare, ret_reaction, diags);
    else
        check_template(env, arena, file, ret_reaction, diags);
    if (has_statements(file) || diags_count(diags) > before)
        check_reaction_parts(env, arena, file, ret_reaction, diags);
    diags_sort(diags, kept);
    return diags_count(diags) > before ? -1 : 0;
}
