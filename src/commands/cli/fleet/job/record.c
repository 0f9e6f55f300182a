#include "commands/cli/fleet/job/record.h"

#include "commands/cli/fleet/answers.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/list.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/shared/local_time.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/vec.h"
#include "core/data/json.h"
#include "core/sys/clock.h"
#include "fleet/view/jobs.h"
#include "fleet/wire/peel_id.h"

struct record_lines {
    struct arena *arena;
    VEC(const char *) cells; /* pairs of name and text */
};

static void add_record_line(struct record_lines *lines, const char *name, const char *text)
{
    if (!text || !text[0])
        return;
    VEC_PUSH_IN(lines->arena, &lines->cells, name);
    VEC_PUSH_IN(lines->arena, &lines->cells, text);
}

static const char *duration_text(struct arena *arena, int64_t ns)
{
    AUTO_BUF struct buf text = BUF_INIT(64);

    number_print_duration(ns, &text);
    return buf_copy(&text, arena).p;
}

/* "a=1 b=[1,2]": maps as they are written on the command line. */
static const char *pairs_text(struct arena *arena, const struct value *map)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    for (size_t i = 0; value_is(map, VALUE_MAP) && i < map->map->count; i++) {
        const struct value_pair *pair = &map->map->pairs[i];

        buf_printf(&out, "%s%.*s=", i > 0 ? " " : "", (int)pair->key.s.n, pair->key.s.p);
        if (value_is_textual(&pair->value))
            buf_add_str(&out, pair->value.s);
        else
            (void)json_print(&out, &pair->value, JSON_STYLE_TEXT, &err);
    }
    return buf_copy(&out, arena).p;
}

static const char *target_text(struct arena *arena, const struct job *job)
{
    return arena_printf(arena, "%s%s%zu peel%s%s", job->target_expr ? job->target_expr : "",
                        job->target_expr && job->target_expr[0] ? "  (" : "", job->targets.n,
                        job->targets.n == 1 ? "" : "s",
                        job->target_expr && job->target_expr[0] ? ")" : "");
}

static const char *status_text(struct arena *arena, const struct job *job)
{
    return arena_printf(arena, "%s: %d of %zu returned, %d succeeded", job_status_name(job->status),
                        job->return_count, job->targets.n, job->success_count);
}

static void add_record_times(struct record_lines *lines, const struct job *job)
{
    const bool is_over = job_status_is_final(job->status);

    add_record_line(lines, "Started", local_time_text(lines->arena, job->created));
    add_record_line(lines, is_over ? "Ended" : "Changed",
                    local_time_text(lines->arena, job->updated));
    if (is_over)
        add_record_line(lines, "Took", duration_text(lines->arena, fleet_job_duration(job)));
    else
        add_record_line(lines, "Deadline", local_time_text(lines->arena, job->deadline));
    add_record_line(lines, "Timeout", duration_text(lines->arena, job->timeout));
}

static void add_record(struct record_lines *lines, const struct job *job,
                       const struct value *queued)
{
    struct arena *arena = lines->arena;
    const struct value all = fleet_job_value(arena, job, queued);

    add_record_line(lines, "Job", job->jid);
    add_record_line(lines, "Function", job->function);
    add_record_line(lines, "Argument", job->state_id);
    add_record_line(lines, "Arguments", pairs_text(arena, value_get(&all, "args")));
    add_record_line(lines, "Secrets", pairs_text(arena, value_get(&all, "sealed_args")));
    add_record_line(lines, "Target", target_text(arena, job));
    add_record_line(lines, "Status", status_text(arena, job));
    add_record_line(lines, "User", job->user);
    add_record_line(lines, "Owner", job->owner);
    add_record_times(lines, job);
    add_record_line(lines, "Notes", pairs_text(arena, value_get(&all, "metadata")));
    if (value_get(&all, "offline_at_dispatch"))
        add_record_line(lines, "Offline",
                        fleet_list_join(arena, value_get(&all, "offline_at_dispatch")));
    if (value_get(&all, "queued"))
        add_record_line(lines, "Queued", fleet_list_join(arena, value_get(&all, "queued")));
}

static void print_record_returns(struct arena *arena, const struct fleet_answers *answers,
                                 struct buf *out)
{
    enum { COLUMNS = 4 };
    static const char *const heads[COLUMNS] = { "PEEL", "STATUS", "SUCCESS", "DURATION" };
    const char **cells = ARENA_ARRAY(arena, const char *, (answers->count + 1) * COLUMNS);
    size_t rows = 1;

    for (size_t i = 0; i < COLUMNS; i++)
        cells[i] = heads[i];
    for (size_t i = 0; i < answers->count; i++) {
        const struct fleet_answer *answer = &answers->list[i];
        const char **row = &cells[rows * COLUMNS];

        if (!answer->has_come)
            continue;
        row[0] = peel_id_name(arena, answer->peel);
        row[1] = fleet_answer_status(answer);
        row[2] = answer->success ? "true" : "false";
        row[3] = duration_text(arena, answer->duration);
        rows++;
    }
    buf_add_text(out, "\nReturns:\n");
    columns_print(out, cells, COLUMNS, rows);
}

/* The first error of each peel. */
static void print_record_errors(struct arena *arena, const struct fleet_answers *answers,
                                struct buf *out)
{
    bool has_head = false;

    for (size_t i = 0; i < answers->count; i++) {
        const struct fleet_answer *answer = &answers->list[i];
        const char *error = answer->has_come ? fleet_answer_first_error(arena, answer) : "";
        struct str rest = str_from(error);

        if (!error[0])
            continue;
        buf_add_text(out, has_head ? "" : "\nErrors:\n");
        has_head = true;
        buf_printf(out, "%s: ", peel_id_name(arena, answer->peel));
        buf_add_str(out, str_cut(&rest, '\n'));
        buf_add_char(out, '\n');
    }
}

void job_record_print(const struct job *job, const struct value *queued,
                      const struct fleet_answers *answers, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct record_lines lines = { .arena = &arena };

    add_record(&lines, job, queued);
    columns_print(out, lines.cells.p, 2, lines.cells.n / 2);
    print_record_returns(&arena, answers, out);
    print_record_errors(&arena, answers, out);
}
