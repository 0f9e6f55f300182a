#include "commands/cli/fleet/top/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/number.h"
#include "core/base/utf8.h"
#include "commands/cli/shared/color.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/fleet/top/model.h"
#include "commands/cli/fleet/top/view.h"
#include "core/data/time_text.h"
#include "core/sys/clock.h"

/* Lines that are not rows: summary, lists, blank; head; blank, last event, last reaction, keys. */
#define LINES_AROUND 8
#define COLUMNS_MOST 7
/* Narrower terminals have shorter words and ids. */
#define COLUMNS_WIDE 110
#define ID_SHOWN     12

/* One list: its rows as cells. */
struct top_table {
    struct arena *arena;
    const struct top_model *model;
    int64_t now;
    bool is_narrow;                  /* long ids are cut */
    const struct fleet_peel **peels; /* of TOP_MACHINES: in order */
};

struct list_kind {
    const char *name;
    const char *const *heads;
    size_t columns;
    size_t (*count)(const struct top_table *table);
    /* Cells in the arena; returns the colour of the row. */
    enum color (*fill)(const struct top_table *table, size_t row, const char **cells);
    /* unique among the rows, in the arena */
    const char *(*id)(const struct top_table *table, size_t row);
    /* Lines below the cells of a row that is open. */
    void (*more)(const struct top_table *table, size_t row, struct buf *out);
};

/* --- cells -------------------------------------------------------------------------- */

static const char *print_row_age(const struct top_table *table, int64_t time)
{
    AUTO_BUF struct buf text = BUF_INIT(64);

    if (time <= 0)
        return "-";
    number_print_age(table->now - time, &text);
    return buf_copy(&text, table->arena).p;
}

static const char *print_clock(const struct top_table *table, int64_t time)
{
    const time_t seconds = (time_t)(time / CLOCK_SECOND);
    struct tm tm = { 0 };

    if (time <= 0 || !gmtime_r(&seconds, &tm))
        return "-";
    return arena_printf(table->arena, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* The beginning of an id is enough for commands, and Enter shows the rest. */
static const char *short_id(const struct top_table *table, const char *id)
{
    return table->is_narrow ? arena_printf(table->arena, "%.*s", ID_SHOWN, id) : id;
}

static size_t count_machines(const struct top_table *table)
{
    return table->model->peels.list.n;
}

static enum color fill_machine(const struct top_table *table, size_t row, const char **cells)
{
    static const enum color colors[DRIFTS] = {
        [DRIFT_FAILED] = COLOR_RED,
        [DRIFT_FOUND] = COLOR_YELLOW,
    };
    const struct fleet_peel *peel = table->peels[row];
    const bool online = fleet_peel_is_online(peel, table->now);

    cells[0] = peel->name;
    cells[1] = peel->os;
    cells[2] = online ? "yes" : "no";
    cells[3] = print_row_age(table, peel->seen);
    cells[4] = print_row_age(table, peel->has_run ? peel->run.converged.seconds * CLOCK_SECOND : 0);
    cells[5] = fleet_peel_describe_drift(table->arena, peel);
    return online ? colors[fleet_peel_drift(peel)] : COLOR_DIM;
}

static size_t count_jobs(const struct top_table *table)
{
    return table->model->job_count;
}

static enum color fill_job_row(const struct top_table *table, size_t row, const char **cells)
{
    const struct top_job *job = &table->model->jobs[row];
    const bool is_over = job_status_is_final(job->status);

    cells[0] = short_id(table, job->jid);
    cells[1] = job->function;
    cells[2] = job->target;
    cells[3] = job_status_name(job->status);
    cells[4] = arena_printf(table->arena, "%u/%u", job->returned, job->targets);
    cells[5] = print_row_age(table, job->created);
    cells[6] = job->user;
    return !is_over ? COLOR_CYAN : job->status == JOB_COMPLETE ? COLOR_NONE : COLOR_RED;
}

static size_t count_events(const struct top_table *table)
{
    return table->model->event_count;
}

static enum color fill_event(const struct top_table *table, size_t row, const char **cells)
{
    const struct top_event *event = &table->model->events[row];

    cells[0] = print_clock(table, event->time);
    cells[1] = event->key;
    cells[2] = event->depth > 0 ? arena_printf(table->arena, "%d", event->depth) : "";
    cells[3] = short_id(table, event->id);
    return COLOR_NONE;
}

static size_t count_reactions(const struct top_table *table)
{
    return table->model->reaction_count;
}

static enum color fill_reaction(const struct top_table *table, size_t row, const char **cells)
{
    const struct top_reaction *reaction = &table->model->reactions[row];

    cells[0] = print_clock(table, reaction->time);
    cells[1] = reaction->rule;
    cells[2] = reaction->result;
    cells[3] = reaction->key;
    return strcmp(reaction->result, "dispatched") == 0 ? COLOR_NONE : COLOR_YELLOW;
}

/* --- a row that is open --------------------------------------------------------------- */

static const char *find_machine_id(const struct top_table *table, size_t row)
{
    return table->peels[row]->name;
}

static const char *find_job_id(const struct top_table *table, size_t row)
{
    return table->model->jobs[row].jid;
}

static const char *find_event_id(const struct top_table *table, size_t row)
{
    return table->model->events[row].id;
}

static const char *find_reaction_id(const struct top_table *table, size_t row)
{
    const struct top_reaction *reaction = &table->model->reactions[row];

    return arena_printf(table->arena, "%s %s", reaction->event, reaction->rule);
}

static void add_machine_run(const struct top_table *table, size_t row, struct buf *out)
{
    const struct fleet_peel *peel = table->peels[row];
    const struct lastrun *run = &peel->run;

    buf_printf(out, "agent      %s, %s\n", peel->version[0] ? peel->version : "-", peel->arch);
    if (peel->has_run) {
        buf_printf(out, "last run   %s%s, %s ago, %u states, %u changed, %u failed\n",
                   run->function, run->test ? " (dry run)" : "",
                   print_row_age(table, run->time.seconds * CLOCK_SECOND), run->states,
                   run->changed, run->failed);
        if (run->error[0])
            buf_printf(out, "error      %s\n", run->error);
        for (size_t i = 0; i < run->differs.n; i++)
            buf_printf(out, "%-10s %s\n", i == 0 ? "differs" : "", run->differs.p[i]);
    }
    buf_printf(out, "\nzester %s state.last\nzester report %s\n", peel->name, peel->name);
}

static void add_job_commands(const struct top_table *table, size_t row, struct buf *out)
{
    const struct top_job *job = &table->model->jobs[row];

    buf_printf(out, "\nzester job show %s\nzester why %s\n", job->jid, job->jid);
    if (!job_status_is_final(job->status))
        buf_printf(out, "zester job follow %s\nzester job kill %s\n", job->jid, job->jid);
}

static void add_event_commands(const struct top_table *table, size_t row, struct buf *out)
{
    const char *id = table->model->events[row].id;

    buf_printf(out, "\nzester event why %s\nzester why %s\n", id, id);
}

static void add_reaction_commands(const struct top_table *table, size_t row, struct buf *out)
{
    const struct top_reaction *reaction = &table->model->reactions[row];

    buf_printf(out, "EVENT ID   %s\n\nzester event why %s\n", reaction->event, reaction->event);
}

/* --- lists -------------------------------------------------------------------------- */

static const char *const machine_heads[] = { "MACHINE", "OS", "UP", "SEEN", "CONVERGED", "DRIFT" };
static const char *const job_heads[] = { "JID",     "FUNCTION", "TARGET", "STATUS",
                                         "RETURNS", "AGE",      "USER" };
static const char *const event_heads[] = { "TIME", "KEY", "DEPTH", "ID" };
static const char *const reaction_heads[] = { "TIME", "RULE", "RESULT", "EVENT" };

/* clang-format off */
static const struct list_kind kinds[] = {
    [TOP_MACHINES]  = { "machines",  machine_heads,  ARRAY_LEN(machine_heads),  count_machines,  fill_machine, find_machine_id, add_machine_run },
    [TOP_JOBS]      = { "jobs",      job_heads,      ARRAY_LEN(job_heads),      count_jobs,      fill_job_row, find_job_id, add_job_commands },
    [TOP_EVENTS]    = { "events",    event_heads,    ARRAY_LEN(event_heads),    count_events,    fill_event, find_event_id, add_event_commands },
    [TOP_REACTIONS] = { "reactions", reaction_heads, ARRAY_LEN(reaction_heads), count_reactions, fill_reaction, find_reaction_id, add_reaction_commands },
};
/* clang-format on */
_Static_assert(ARRAY_LEN(kinds) == TOP_LISTS, "every list has a row");

/* --- order -------------------------------------------------------------------------- */

/* Machines that need attention come first, except by name. */
static int64_t sort_value(const struct fleet_peel *peel, enum top_sort sort)
{
    switch (sort) {
    case TOP_SORT_NAME: return 0;
    case TOP_SORT_DRIFT: return -(int64_t)fleet_peel_drift(peel);
    case TOP_SORT_SEEN: return peel->seen;
    case TOP_SORT_CONVERGED: return peel->has_run ? peel->run.converged.seconds : 0;
    }
    return 0;
}

static int compare_peel_rows(const void *a, const void *b, void *self)
{
    const struct fleet_peel *left = *(const struct fleet_peel *const *)a;
    const struct fleet_peel *right = *(const struct fleet_peel *const *)b;
    const struct top_view *view = self;
    const int64_t x = sort_value(left, view->sort), y = sort_value(right, view->sort);
    const int order = x != y ? (x < y ? -1 : 1) : strcmp(left->name, right->name);

    return view->reverse ? -order : order;
}

static void sort_peels(struct top_table *table, struct top_view *view)
{
    const size_t count = table->model->peels.list.n;

    table->peels = ARENA_ARRAY(table->arena, const struct fleet_peel *, count + 1);
    for (size_t i = 0; i < count; i++)
        table->peels[i] = table->model->peels.list.p[i];
    if (count > 1)
        qsort_r(table->peels, count, sizeof(table->peels[0]), compare_peel_rows, view);
}

/* --- lines -------------------------------------------------------------------------- */

/* A line of parts in colours, cut to the width. */
struct top_line {
    const struct list_view *view;
    struct buf *out;
    size_t used;
};

static void add_part(struct top_line *line, enum color color, const char *part)
{
    struct str text = str_from(part);

    if (line->view->rows > 0)
        text = str_slice(text, 0, utf8_offset(text, line->view->columns - line->used));
    line->used += utf8_count(text);
    color_begin(line->out, color, line->view->color);
    buf_add_str(line->out, text);
    color_end(line->out, color, line->view->color);
}

/* A number that is coloured unless it is 0. */
static void add_count(struct top_line *line, const struct top_table *table, size_t count,
                      const char *words, enum color color)
{
    add_part(line, count > 0 ? color : COLOR_NONE,
             arena_printf(table->arena, "%zu %s", count, words));
}

static void add_machine_counts(struct top_line *line, const struct top_table *table)
{
    const char *gap = table->is_narrow ? " " : ", ";
    const size_t all = table->model->peels.list.n;
    size_t online = 0, counts[DRIFTS] = { 0 };

    VEC_EACH (&table->model->peels.list, peel) {
        online += fleet_peel_is_online(*peel, table->now);
        counts[fleet_peel_drift(*peel)]++;
    }
    add_count(line, table, all, all == 1 ? "machine" : "machines", COLOR_NONE);
    add_part(line, COLOR_NONE, gap);
    add_count(line, table, online, table->is_narrow ? "up" : "online",
              online == all ? COLOR_GREEN : COLOR_YELLOW);
    add_part(line, COLOR_NONE, gap);
    add_count(line, table, counts[DRIFT_FAILED], "failed", COLOR_RED);
    add_part(line, COLOR_NONE, gap);
    add_count(line, table, counts[DRIFT_FOUND], "drifted", COLOR_YELLOW);
}

static void print_fleet_summary(const struct top_table *table, const struct top_view *view,
                                struct buf *out)
{
    struct top_line line = { &view->base, out, 0 };
    const char *gap = table->is_narrow ? " " : "   ";
    const struct top_model *model = table->model;
    const size_t masters = top_model_count_masters(model, table->now);
    const long long lag = (long long)(model->waiting + model->pending);

    add_part(&line, COLOR_CYAN, "zester top");
    add_part(&line, COLOR_NONE, table->is_narrow ? "  " : "   ");
    add_machine_counts(&line, table);
    add_part(&line, COLOR_NONE, table->is_narrow ? "  " : "   ");
    add_part(&line, masters > 0 ? COLOR_NONE : COLOR_RED,
             arena_printf(table->arena, "%zu master%s", masters, masters == 1 ? "" : "s"));
    add_part(&line, COLOR_NONE, gap);
    add_count(&line, table, top_model_count_active(model),
              table->is_narrow ? "jobs" : "active jobs", COLOR_CYAN);
    add_part(&line, COLOR_NONE,
             arena_printf(table->arena, "%s%.1f%s%s", gap, top_model_rate(model, table->now),
                          table->is_narrow ? "/s" : " events/s", gap));
    add_part(&line, model->has_lag && lag > 0 ? COLOR_YELLOW : COLOR_NONE,
             model->has_lag ? arena_printf(table->arena, "lag %lld", lag) : "lag -");
    buf_add_char(out, '\n');
}

static void add_lists(const struct top_table *table, const struct top_view *view, struct buf *out)
{
    struct top_line line = { &view->base, out, 0 };

    for (size_t i = 0; i < TOP_LISTS; i++)
        add_part(&line, i == view->list ? COLOR_CYAN : COLOR_NONE,
                 arena_printf(table->arena, "%s%c%zu %s%s", i > 0 ? " " : "",
                              i == view->list ? '[' : ' ', i + 1, kinds[i].name,
                              i == view->list     ? "]"
                              : i + 1 < TOP_LISTS ? " "
                                                  : ""));
    buf_add_char(out, '\n');
}

static void add_last(const struct top_table *table, const struct top_view *view, const char *title,
                     enum top_panel list, struct buf *out)
{
    AUTO_BUF struct buf line = BUF_INIT(4096);
    const char *cells[COLUMNS_MOST] = { 0 };

    buf_printf(&line, "%-15s", title);
    if (kinds[list].count(table) == 0) {
        buf_add_char(&line, '-');
    } else {
        (void)kinds[list].fill(table, 0, cells);
        for (size_t i = 0; i < 3; i++) {
            buf_add_text(&line, i > 0 && cells[i][0] ? "  " : "");
            columns_print_text(&line, cells[i]);
        }
    }
    list_view_line(&view->base, buf_view(&line), COLOR_DIM, false, out);
}

static void print_key_help(const struct top_view *view, struct buf *out)
{
    AUTO_BUF struct buf line = BUF_INIT(512);

    if (view->base.is_typing) {
        buf_add_text(&line, "filter: ");
        columns_print_text(&line, view->base.filter);
        buf_add_text(&line, "_   Enter keeps it, Escape clears it");
    } else {
        buf_printf(&line, "q quit  ? keys  Enter open  1-4 list  s sort: %s%s  / filter",
                   top_sort_name(view->sort), view->reverse ? " (reversed)" : "");
        if (view->base.filter[0]) {
            buf_add_text(&line, ": ");
            columns_print_text(&line, view->base.filter);
        }
    }
    list_view_line(&view->base, buf_view(&line), COLOR_NONE, false, out);
}

/* --- rows --------------------------------------------------------------------------- */

static bool has_filter_text(const char *const *cells, size_t columns, const char *part)
{
    for (size_t i = 0; i < columns; i++)
        if (strcasestr(cells[i], part))
            return true;
    return false;
}

/* The numbers of the rows that the filter lets through. */
static size_t filter_rows(const struct top_table *table, const struct list_kind *kind,
                          const char *filter, size_t **ret_rows)
{
    const size_t count = kind->count(table);
    size_t *rows = ARENA_ARRAY(table->arena, size_t, count + 1), found = 0;

    for (size_t i = 0; i < count; i++) {
        const char *cells[COLUMNS_MOST] = { 0 };

        if (filter[0])
            (void)kind->fill(table, i, cells);
        if (!filter[0] || has_filter_text(cells, kind->columns, filter))
            rows[found++] = i;
    }
    *ret_rows = rows;
    return found;
}

static void add_rows(const struct top_table *table, struct top_view *view, struct buf *out)
{
    const struct list_kind *kind = &kinds[view->list];
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    size_t *rows, shown;
    const size_t count = filter_rows(table, kind, view->base.filter, &rows);
    const size_t page = view->base.rows > LINES_AROUND ? view->base.rows - LINES_AROUND
                        : view->base.rows              ? 1
                                                       : count;
    const char **cells = ARENA_ARRAY(table->arena, const char *, (page + 1) * kind->columns);
    enum color *colors = ARENA_ARRAY(table->arena, enum color, page + 1);
    struct str rest;

    list_view_clamp(&view->base, count, page);
    shown = count - view->base.first < page ? count - view->base.first : page;
    memcpy(cells, kind->heads, kind->columns * sizeof(cells[0]));
    colors[0] = COLOR_DIM;
    for (size_t i = 0; i < shown; i++)
        colors[i + 1] =
            kind->fill(table, rows[view->base.first + i], &cells[(i + 1) * kind->columns]);
    columns_print(&text, cells, kind->columns, shown + 1);
    rest = buf_view(&text);
    for (size_t i = 0; i <= shown; i++)
        list_view_line(
            &view->base, str_cut(&rest, '\n'), colors[i],
            view->base.rows > 0 && i > 0 && view->base.first + i - 1 == view->base.selected, out);
    for (size_t i = shown; view->base.rows > 0 && i < page; i++)
        buf_add_char(out, '\n');
}

/* --- pages -------------------------------------------------------------------------- */

/* The row that is open; rows move, since newer ones come above them. */
static bool find_open_row(const struct top_table *table, struct top_view *view, size_t *ret_row)
{
    const struct list_kind *kind = &kinds[view->list];
    size_t *rows;
    const size_t count = filter_rows(table, kind, view->base.filter, &rows);

    if (!view->open[0] && view->base.selected < count)
        (void)snprintf(view->open, sizeof(view->open), "%s",
                       kind->id(table, rows[view->base.selected]));
    for (size_t i = 0; i < kind->count(table) && view->open[0]; i++)
        if (strncmp(kind->id(table, i), view->open, sizeof(view->open) - 1) == 0) {
            *ret_row = i;
            return true;
        }
    return false;
}

static void print_open_row(struct top_table *table, struct top_view *view, struct buf *out)
{
    const struct list_kind *kind = &kinds[view->list];
    const char *cells[COLUMNS_MOST] = { 0 };
    size_t row;

    if (!find_open_row(table, view, &row)) {
        buf_add_text(out, "nothing to show\n");
        return;
    }
    table->is_narrow = false;
    (void)kind->fill(table, row, cells);
    for (size_t i = 0; i < kind->columns; i++)
        buf_printf(out, "%-10s %s\n", kind->heads[i], cells[i][0] ? cells[i] : "-");
    kind->more(table, row, out);
}

static const char help[] = "1 2 3 4, Tab      choose the list\n"
                           "j k, arrows       move; g and G: to the first and last row\n"
                           "Space, PageUp     a page down, a page up\n"
                           "Enter             open the row: all of it, and commands to go on with\n"
                           "s                 order of machines: name, drift, seen, converged\n"
                           "r                 reverse that order\n"
                           "/                 filter the rows; Escape clears the filter\n"
                           "?                 these keys\n"
                           "q, Ctrl-C         quit\n"
                           "\n"
                           "up: machines with a heartbeat. drifted: a dry run found differences.\n"
                           "lag: events that no master has handled yet.\n";

static void print_page_line(const struct top_view *view, struct str line, struct buf *out)
{
    AUTO_BUF struct buf raw = BUF_INIT(BUF_NO_LIMIT), safe = BUF_INIT(BUF_NO_LIMIT);

    buf_add_str(&raw, line);
    columns_print_text(&safe, buf_text(&raw));
    list_view_line(&view->base, buf_view(&safe), COLOR_NONE, false, out);
}

/* Instead of a list: as many lines as the terminal has. */
static void print_top_page(struct top_view *view, const char *title, struct str text,
                           struct buf *out)
{
    size_t line = 2;

    list_view_line(&view->base, str_from(title), COLOR_CYAN, false, out);
    buf_add_char(out, '\n');
    for (; text.n > 0 && line + 1 < view->base.rows; line++)
        print_page_line(view, str_cut(&text, '\n'), out);
    for (; line + 1 < view->base.rows; line++)
        buf_add_char(out, '\n');
    list_view_line(&view->base, STR("q back"), COLOR_NONE, false, out);
}

static void print_page_instead(struct top_table *table, struct top_view *view, struct buf *out)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (view->has_help) {
        print_top_page(view, "zester top: keys", str_from(help), out);
        return;
    }
    print_open_row(table, view, &text);
    print_top_page(view, arena_printf(table->arena, "zester top: %s", kinds[view->list].name),
                   buf_view(&text), out);
}

void top_frame_print(const struct top_model *model, struct top_view *view, int64_t now,
                     struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct top_table table = { .arena = &arena,
                               .model = model,
                               .now = now,
                               .is_narrow =
                                   view->base.rows > 0 && view->base.columns < COLUMNS_WIDE };

    sort_peels(&table, view);
    if (view->base.rows > 0 && (view->has_help || view->is_open)) {
        print_page_instead(&table, view, out);
        return;
    }
    print_fleet_summary(&table, view, out);
    add_lists(&table, view, out);
    buf_add_char(out, '\n');
    add_rows(&table, view, out);
    buf_add_char(out, '\n');
    add_last(&table, view, "last event", TOP_EVENTS, out);
    add_last(&table, view, "last reaction", TOP_REACTIONS, out);
    if (view->base.rows > 0)
        print_key_help(view, out);
}

/* --- data --------------------------------------------------------------------------- */

static void put_frame_value(struct arena *arena, struct value *map, const char *key, struct value v)
{
    value_map_set(arena, map->map, value_text(key), v);
}

static struct value make_time_value(struct arena *arena, int64_t time)
{
    if (time <= 0)
        return value_null();
    return value_text(time_text(arena, (struct value_time){ time / CLOCK_SECOND, 0 }));
}

static struct value list_machines(struct arena *arena, const struct top_model *model, int64_t now)
{
    struct value list = value_list(value_list_new(arena, model->peels.list.n));

    VEC_EACH (&model->peels.list, item) {
        const struct fleet_peel *peel = *item;
        struct value map = value_map(value_map_new(arena, 6));

        put_frame_value(arena, &map, "peel_id", value_text(peel->name));
        put_frame_value(arena, &map, "os", value_text(peel->os));
        put_frame_value(arena, &map, "online", value_bool(fleet_peel_is_online(peel, now)));
        put_frame_value(arena, &map, "last_seen", make_time_value(arena, peel->seen));
        put_frame_value(
            arena, &map, "converged",
            make_time_value(arena, peel->has_run ? peel->run.converged.seconds * CLOCK_SECOND : 0));
        put_frame_value(arena, &map, "drift", value_text(drift_name(fleet_peel_drift(peel))));
        value_list_push(arena, list.list, map);
    }
    return list;
}

static struct value list_jobs(struct arena *arena, const struct top_model *model)
{
    struct value list = value_list(value_list_new(arena, model->job_count));

    for (size_t i = 0; i < model->job_count; i++) {
        const struct top_job *job = &model->jobs[i];
        struct value map = value_map(value_map_new(arena, 8));

        put_frame_value(arena, &map, "jid", value_text(job->jid));
        put_frame_value(arena, &map, "function", value_text(job->function));
        put_frame_value(arena, &map, "target", value_text(job->target));
        put_frame_value(arena, &map, "status", value_text(job_status_name(job->status)));
        put_frame_value(arena, &map, "targets", value_int(job->targets));
        put_frame_value(arena, &map, "returned", value_int(job->returned));
        put_frame_value(arena, &map, "created", make_time_value(arena, job->created));
        put_frame_value(arena, &map, "user", value_text(job->user));
        value_list_push(arena, list.list, map);
    }
    return list;
}

static struct value list_events(struct arena *arena, const struct top_model *model)
{
    struct value list = value_list(value_list_new(arena, model->event_count));

    for (size_t i = 0; i < model->event_count; i++) {
        const struct top_event *event = &model->events[i];
        struct value map = value_map(value_map_new(arena, 4));

        put_frame_value(arena, &map, "ts", make_time_value(arena, event->time));
        put_frame_value(arena, &map, "key", value_text(event->key));
        put_frame_value(arena, &map, "id", value_text(event->id));
        put_frame_value(arena, &map, "depth", value_int(event->depth));
        value_list_push(arena, list.list, map);
    }
    return list;
}

static struct value list_reactions(struct arena *arena, const struct top_model *model)
{
    struct value list = value_list(value_list_new(arena, model->reaction_count));

    for (size_t i = 0; i < model->reaction_count; i++) {
        const struct top_reaction *reaction = &model->reactions[i];
        struct value map = value_map(value_map_new(arena, 5));

        put_frame_value(arena, &map, "ts", make_time_value(arena, reaction->time));
        put_frame_value(arena, &map, "rule", value_text(reaction->rule));
        put_frame_value(arena, &map, "result", value_text(reaction->result));
        put_frame_value(arena, &map, "key", value_text(reaction->key));
        put_frame_value(arena, &map, "event", value_text(reaction->event));
        value_list_push(arena, list.list, map);
    }
    return list;
}

struct value top_frame_value(struct arena *arena, const struct top_model *model, int64_t now)
{
    struct value map = value_map(value_map_new(arena, 8));
    const struct value lag = value_int(model->waiting + model->pending);

    put_frame_value(arena, &map, "time", make_time_value(arena, now));
    put_frame_value(arena, &map, "masters",
                    value_int((int64_t)top_model_count_masters(model, now)));
    put_frame_value(arena, &map, "lag", model->has_lag ? lag : value_null());
    put_frame_value(arena, &map, "events_per_second", value_double(top_model_rate(model, now)));
    put_frame_value(arena, &map, "machines", list_machines(arena, model, now));
    put_frame_value(arena, &map, "jobs", list_jobs(arena, model));
    put_frame_value(arena, &map, "events", list_events(arena, model));
    put_frame_value(arena, &map, "reactions", list_reactions(arena, model));
    return map;
}
