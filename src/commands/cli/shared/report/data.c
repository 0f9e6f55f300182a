#include "commands/cli/shared/report/data.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "commands/cli/shared/report/page.h"
#include "core/data/record.h"
#include "core/data/time_text.h"
#include "states/run/lastrun.h"

/* A map that grows. */
struct fields {
    struct arena *arena;
    struct value_map *map;
};

static struct fields begin_map(struct arena *arena)
{
    return (struct fields){ arena, value_map_new(arena, 8) };
}

static void put_report_value(struct fields *fields, const char *key, struct value v)
{
    value_map_set(fields->arena, fields->map, value_text(key), v);
}

static void put_report_text(struct fields *fields, const char *key, const char *text)
{
    if (text[0])
        put_report_value(fields, key, value_text(text));
}

static void put_count(struct fields *fields, const char *key, size_t count)
{
    put_report_value(fields, key, value_int((int64_t)count));
}

static struct value describe_summary(struct arena *arena, const struct report_page *page)
{
    static const struct {
        const char *drift, *key;
    } kinds[] = {
        { "none", "converged" },
        { "drifted", "drifted" },
        { "failed", "failed" },
        { "unknown", "unknown" },
    };
    struct fields fields = begin_map(arena);

    put_count(&fields, "machines", page->count);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        put_count(&fields, kinds[i].key, report_page_count(page, kinds[i].drift));
    return value_map(fields.map);
}

/* --- machines ------------------------------------------------------------------------- */

static struct value describe_report_state(struct arena *arena, const struct report_state *state)
{
    struct fields fields = begin_map(arena);

    put_report_value(&fields, "name", value_text(state->name));
    put_count(&fields, "level", state->level);
    put_report_value(&fields, "outcome", value_text(report_outcome_name(state->outcome)));
    put_report_value(&fields, "duration", value_int(state->duration));
    put_report_text(&fields, "error", state->error);
    put_report_text(&fields, "reason", state->reason);
    put_report_text(&fields, "would_change_again", state->again ? state->again : "");
    put_report_text(&fields, "diff", state->diff);
    return value_map(fields.map);
}

static struct value describe_states(struct arena *arena, const struct report_machine *machine)
{
    struct value_list *list = value_list_new(arena, machine->states.n);

    VEC_EACH (&machine->states, state)
        value_list_push(arena, list, describe_report_state(arena, state));
    return value_list(list);
}

static struct value describe_report_machine(struct arena *arena,
                                            const struct report_machine *machine)
{
    struct fields fields = begin_map(arena);

    put_report_value(&fields, "machine", value_text(machine->name));
    put_report_text(&fields, "os", machine->os);
    put_report_value(&fields, "online", value_bool(machine->is_online));
    put_report_value(&fields, "drift", value_text(machine->drift));
    put_report_text(&fields, "drift_text", machine->drift_text);
    if (machine->run)
        put_report_value(&fields, "last_run", record_value(arena, &lastrun_type, machine->run));
    if (machine->shown)
        put_report_value(&fields, "states_of", value_text(machine->shown->id));
    put_report_text(&fields, "note", machine->note);
    put_report_value(&fields, "states", describe_states(arena, machine));
    return value_map(fields.map);
}

static struct value describe_machines(struct arena *arena, const struct report_page *page)
{
    struct value_list *list = value_list_new(arena, page->count);

    for (size_t i = 0; i < page->count; i++)
        value_list_push(arena, list, describe_report_machine(arena, &page->machines[i]));
    return value_list(list);
}

/* --- folds ---------------------------------------------------------------------------- */

static struct value describe_causes(struct arena *arena, const struct report_page *page)
{
    struct value_list *list = value_list_new(arena, 0);
    struct report_causes causes;

    report_fold_causes(arena, page->machines, page->count, &causes);
    VEC_EACH (&causes.list, cause) {
        struct value_list *names = value_list_new(arena, (*cause)->machines.n);
        struct fields fields = begin_map(arena);

        VEC_EACH (&(*cause)->machines, machine)
            value_list_push(arena, names, value_text((*machine)->name));
        put_report_value(&fields, "state", value_text((*cause)->state));
        put_report_value(&fields, "error", value_text((*cause)->error));
        put_report_value(&fields, "machines", value_list(names));
        put_count(&fields, "skipped", (*cause)->skipped);
        value_list_push(arena, list, value_map(fields.map));
    }
    return value_list(list);
}

static struct value describe_slow(struct arena *arena, const struct report_page *page)
{
    struct value_list *list = value_list_new(arena, 0);
    struct report_slows slows;

    report_fold_slow(arena, page->machines, page->count, &slows);
    for (size_t i = 0; i < slows.list.n && i < REPORT_SLOW_MAX; i++) {
        const struct report_slow *slow = slows.list.p[i];
        struct fields fields = begin_map(arena);

        put_report_value(&fields, "state", value_text(slow->state));
        put_report_value(&fields, "longest", value_int(slow->longest));
        put_report_value(&fields, "mean", value_int(report_slow_mean(slow)));
        put_count(&fields, "count", slow->count);
        put_report_value(&fields, "machine", value_text(slow->machine->name));
        value_list_push(arena, list, value_map(fields.map));
    }
    return value_list(list);
}

struct value report_data(struct arena *arena, const struct report_page *page)
{
    AUTO_BUF struct buf time = BUF_INIT(BUF_NO_LIMIT);
    struct fields fields = begin_map(arena);

    time_print(&time, (struct value_time){ page->now.seconds, 0 });
    put_report_value(&fields, "about", value_text(page->about));
    put_report_value(&fields, "time", value_str(buf_copy(&time, arena)));
    put_report_text(&fields, "warning", page->warning);
    put_report_value(&fields, "summary", describe_summary(arena, page));
    put_report_value(&fields, "machines", describe_machines(arena, page));
    put_report_value(&fields, "failures", describe_causes(arena, page));
    put_report_value(&fields, "slowest", describe_slow(arena, page));
    return value_map(fields.map);
}
