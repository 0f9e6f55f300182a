#include "commands/cli/fleet/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/number.h"
#include "core/base/utf8.h"
#include "commands/cli/shared/color.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/fleet/job.h"
#include "fleet/nats/conn.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/subject.h"

/* A quick command draws nothing. */
#define FIRST_DRAW (400 * CLOCK_MS)
#define DRAW_EVERY (200 * CLOCK_MS)
/* Lines that the block leaves free. */
#define ROWS_FREE 2
#define ROWS_MAX  40
/* Limit on a message of a peel. */
#define MESSAGE_MAX ((size_t)1 << 20)

/* --- what is known ------------------------------------------------------------------ */

/* In the order in which lines are shown. */
enum rank { RANK_FAILED, RANK_RUNNING, RANK_QUEUED, RANK_SILENT, RANK_DONE };

struct progress_line {
    enum rank rank;
    const struct fleet_answer *answer;
    const struct fleet_progress_row *row;
};

static enum rank find_progress_rank(const struct fleet_answer *answer,
                                    const struct fleet_progress_row *row)
{
    if (answer->has_come)
        return answer->success && !answer->is_unreachable ? RANK_DONE : RANK_FAILED;
    if (row->failed > 0)
        return RANK_FAILED;
    return row->is_queued ? RANK_QUEUED : row->has_begun ? RANK_RUNNING : RANK_SILENT;
}

/* Less done is slower. */
static int compare_progress_lines(const void *a, const void *b)
{
    const struct progress_line *left = a, *right = b;
    const uint64_t less = (uint64_t)left->row->done * right->row->total,
                   more = (uint64_t)right->row->done * left->row->total;

    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    if (left->answer->has_come != right->answer->has_come)
        return left->answer->has_come ? -1 : 1;
    if (less != more)
        return less < more ? -1 : 1;
    return strcmp(left->answer->peel, right->answer->peel);
}

static void set_progress_text(struct fleet_progress_row *row, const char *text)
{
    const struct str part = str_slice(str_from(text), 0, sizeof(row->text) - 1);

    memcpy(row->text, part.p, part.n);
    row->text[part.n] = '\0';
}

/* --- the screen --------------------------------------------------------------------- */

static void clear_progress_lines(struct fleet_progress *progress)
{
    if (progress->shown > 0)
        (void)fprintf(stderr, "\r\x1b[%zuA\x1b[J", progress->shown);
    progress->shown = 0;
}

/* A line that stays, above the block. */
static void print_progress_line(struct fleet_progress *progress, const char *peel, const char *text)
{
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);
    char name[PEEL_ID_SIZE];

    peel_id_decode(str_from(peel), name);
    columns_print_text(&line, name);
    buf_add_text(&line, ": ");
    columns_print_text(&line, text);
    clear_progress_lines(progress);
    (void)fprintf(stderr, "%s\n", buf_text(&line));
}

static void print_progress_state(struct fleet_progress *progress, const char *peel,
                                 const struct exec_progress *message,
                                 const struct exec_result *result)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_printf(&text, "%u/%u %s, %s, ", message->done, message->total, result->name,
               answer_text_outcome(result, progress->is_test));
    number_print_duration(result->duration, &text);
    print_progress_line(progress, peel, buf_text(&text));
}

static const char *cell_of(struct arena *arena, const struct progress_line *line)
{
    const struct fleet_progress_row *row = line->row;

    if (line->answer->has_come)
        return line->answer->is_unreachable ? "unreachable" : "failed";
    if (row->failed > 0)
        return arena_printf(arena, "%u/%u, %u failed", row->done, row->total, row->failed);
    if (line->rank == RANK_RUNNING)
        return arena_printf(arena, "%u/%u", row->done, row->total);
    return line->rank == RANK_QUEUED ? "queued" : "no answer yet";
}

static struct progress_line *sort_lines(const struct fleet_progress *progress, struct arena *arena,
                                        size_t counts[RANK_DONE + 1])
{
    const struct fleet_answers *answers = progress->answers;
    struct progress_line *lines = ARENA_ARRAY(arena, struct progress_line, answers->count);

    for (size_t i = 0; i < answers->count; i++) {
        lines[i] =
            (struct progress_line){ find_progress_rank(&answers->list[i], &progress->rows[i]),
                                    &answers->list[i], &progress->rows[i] };
        counts[lines[i].rank]++;
    }
    if (answers->count > 1)
        qsort(lines, answers->count, sizeof(lines[0]), compare_progress_lines);
    return lines;
}

static void draw_counts(const struct fleet_progress *progress, const size_t *counts, size_t hidden,
                        int64_t elapsed, struct buf *out)
{
    buf_printf(out, "%zu/%zu returned, %zu failed, %zu running, %zu queued, ",
               progress->answers->come, progress->answers->count, counts[RANK_FAILED],
               counts[RANK_RUNNING], counts[RANK_QUEUED]);
    number_print_duration(elapsed / CLOCK_SECOND * CLOCK_SECOND, out);
    if (hidden > 0)
        buf_printf(out, " (%zu more not shown)", hidden);
    buf_add_char(out, '\n');
}

/* No line may wrap: the block is erased by the number of its lines. */
static void add_cut_lines(struct buf *out, struct str text, size_t columns)
{
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n');

        buf_add_str(out, str_slice(line, 0, utf8_offset(line, columns - 1)));
        buf_add_char(out, '\n');
    }
}

void fleet_progress_draw(const struct fleet_progress *progress, int64_t elapsed,
                         struct screen screen, struct buf *out)
{
    enum { COLUMNS = 3 };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    size_t counts[RANK_DONE + 1] = { 0 }, shown = 0, room;
    const struct progress_line *lines = sort_lines(progress, &arena, counts);
    const size_t wanted = progress->answers->count - counts[RANK_DONE];
    const char **cells;

    room = screen.rows > ROWS_FREE + 1 ? screen.rows - ROWS_FREE - 1 : 0;
    room = room > ROWS_MAX ? ROWS_MAX : room;
    room = room > wanted ? wanted : room;
    cells = ARENA_ARRAY(&arena, const char *, room *COLUMNS + 1);
    for (; shown < room; shown++) {
        cells[shown * COLUMNS] = peel_id_name(&arena, lines[shown].answer->peel);
        cells[shown * COLUMNS + 1] = cell_of(&arena, &lines[shown]);
        cells[shown * COLUMNS + 2] = lines[shown].row->text;
    }
    columns_print(&text, cells, COLUMNS, room);
    draw_counts(progress, counts, wanted - room, elapsed, &text);
    add_cut_lines(out, buf_view(&text), screen.columns);
}

static void on_progress_draw(struct timer *timer)
{
    struct fleet_progress *progress = container_of(timer, struct fleet_progress, timer);
    AUTO_BUF struct buf block = BUF_INIT(BUF_NO_LIMIT);
    const int64_t now = clock_now();

    fleet_progress_draw(progress, now - progress->began, screen_size(), &block);
    clear_progress_lines(progress);
    for (size_t i = 0; i < block.n; i++)
        progress->shown += block.p[i] == '\n';
    (void)fputs(buf_text(&block), stderr);
    timer_set(progress->timers, timer, clock_after(now, DRAW_EVERY), on_progress_draw);
}

/* --- messages ----------------------------------------------------------------------- */

static void note_progress_state(struct fleet_progress *progress, const char *peel,
                                struct fleet_progress_row *row, const struct exec_progress *message)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct exec_result result;
    struct err err;

    row->has_begun = true;
    row->is_queued = false;
    row->done = message->done;
    row->total = message->total;
    if (record_read(&arena, &exec_result_type, 1, &message->result, &result, &err) < 0)
        return;
    row->failed += result.error[0] != '\0';
    set_progress_text(row, result.name);
    if (progress->is_live && progress->is_small)
        print_progress_state(progress, peel, message, &result);
}

void fleet_progress_note(struct fleet_progress *progress, struct str peel,
                         const struct exec_progress *message)
{
    const struct fleet_answer *answer = map_find(&progress->answers->by_peel, peel);
    struct fleet_progress_row *row;

    if (!answer || answer->has_come || !str_eq_text(peel, message->peel_id))
        return;
    row = &progress->rows[answer - progress->answers->list];
    switch (message->type) {
    case EXEC_QUEUED:
        row->is_queued = true;
        set_progress_text(row, message->text);
        if (progress->is_small)
            print_progress_line(progress, answer->peel, message->text);
        break;
    case EXEC_STARTED:
        row->has_begun = true;
        row->is_queued = false;
        row->total = message->total;
        set_progress_text(row, "");
        break;
    case EXEC_STATE: note_progress_state(progress, answer->peel, row, message); break;
    }
}

static void on_progress_message(void *self, const struct nats_msg *msg)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct exec_progress message;
    enum subject_kind kind;
    struct subject_names names;
    struct err err;

    if (msg->payload.n <= MESSAGE_MAX && subject_parse(msg->subject, &kind, &names) &&
        kind == SUBJECT_JOB_PROGRESS &&
        record_decode(&arena, &exec_progress_type, 1, msg->payload, &message, &err) == 0)
        fleet_progress_note(self, names.peel, &message);
}

/* --- life --------------------------------------------------------------------------- */

int fleet_progress_begin(struct fleet_progress *progress, struct fleet *fleet,
                         const struct job *job, const struct fleet_answers *answers, bool quiet,
                         struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);

    *progress = (struct fleet_progress){
        .answers = answers,
        .timers = loop_timers(fleet->loop),
        .began = clock_now(),
        .is_live = color_is_terminal(STDERR_FILENO),
        .is_test = fleet_job_is_dry_run(job),
    };
    progress->is_small = answers->count <= FLEET_HEADERS_MAX && (progress->is_live || !quiet);
    if (!progress->is_live && !progress->is_small)
        return 0; /* stderr is not shown */
    progress->rows = mem_zalloc((answers->count ? answers->count : 1) * sizeof(progress->rows[0]));
    if (subject_print_pattern(&subject, SUBJECT_JOB_PROGRESS,
                              &(struct subject_names){ .jid = str_from(job->jid) }, err) < 0)
        return -1;
    progress->sub = nats_sub_new(fleet->js.conn,
                                 &(struct nats_sub_options){ .subject = buf_text(&subject),
                                                             .message = on_progress_message,
                                                             .self = progress },
                                 err);
    if (progress->is_live)
        timer_set(progress->timers, &progress->timer, clock_after(clock_now(), FIRST_DRAW),
                  on_progress_draw);
    return progress->sub ? 0 : -1;
}

void fleet_progress_end(struct fleet_progress *progress)
{
    nats_sub_free(progress->sub);
    progress->sub = NULL;
    if (progress->timers)
        timer_clear(progress->timers, &progress->timer);
    clear_progress_lines(progress);
    free(progress->rows);
    progress->rows = NULL;
}
