#include "commands/cli/shared/report/text.h"

#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/number.h"
#include "core/base/utf8.h"
#include "commands/cli/shared/color.h"
#include "core/data/value.h"
#include "states/state/outcome.h"

/* How many of the slowest states are listed, and the shortest duration to list. */
#define SLOWEST_SHOWN    3
#define SLOWEST_LEAST    (100 * NUMBER_NS_PER_MS)
#define DETAIL_SHOWN_MAX 4000
/* Characters shown of a line; the records of --format json have all of it. */
#define LINE_SHOWN_MAX 240

struct printer {
    struct buf *out;
    enum report_detail detail;
    bool color, test, revert;
};

static void print_state_line(struct printer *printer, struct str line)
{
    const size_t shown = line.n <= LINE_SHOWN_MAX ? line.n : utf8_offset(line, LINE_SHOWN_MAX);

    buf_add_str(printer->out, str_slice(line, 0, shown));
    if (shown < line.n)
        buf_printf(printer->out, "... [%zu more bytes; --format json shows them]", line.n - shown);
}

static void print_indented_text(struct printer *printer, struct str text, bool diff)
{
    struct str rest = str_trim_right(text);

    while (rest.p && rest.n > 0) {
        struct str line = str_cut(&rest, '\n');
        enum color color = !diff || line.n == 0 ? COLOR_NONE
                           : line.p[0] == '+'   ? COLOR_GREEN
                           : line.p[0] == '-'   ? COLOR_RED
                                                : COLOR_NONE;

        buf_add_text(printer->out, "    ");
        color_begin(printer->out, color, printer->color);
        print_state_line(printer, line);
        color_end(printer->out, color, printer->color);
        buf_add_char(printer->out, '\n');
    }
}

static void print_head(struct printer *printer, const char *word, enum color color,
                       const struct state_result *state)
{
    color_begin(printer->out, color, printer->color);
    buf_printf(printer->out, "%-13s", word);
    color_end(printer->out, color, printer->color);
    buf_printf(printer->out, " %s  ", state->name);
    number_print_duration(state->duration, printer->out);
    buf_add_char(printer->out, '\n');
}

/* The output of a command. */
static void print_state_streams(struct printer *printer, const struct state_result *state)
{
    static const char *const streams[] = { "stdout", "stderr" };
    const struct value details = value_map(state->details);

    for (size_t i = 0; state->details && i < ARRAY_LEN(streams); i++) {
        const struct value *text = value_get(&details, streams[i]);

        if (!value_is(text, VALUE_STR) || str_trim(text->s).n == 0)
            continue;
        buf_printf(printer->out, "    %s:\n", streams[i]);
        print_indented_text(printer, str_slice(text->s, 0, DETAIL_SHOWN_MAX), false);
        if (text->s.n > DETAIL_SHOWN_MAX)
            buf_printf(printer->out, "    [%zu more bytes; --format json shows them]\n",
                       text->s.n - DETAIL_SHOWN_MAX);
    }
}

/* Is a line for the state all that is wanted? */
static bool is_short(const struct printer *printer)
{
    return printer->detail == REPORT_TERSE || printer->detail == REPORT_MIXED;
}

static void print_failed_states(struct printer *printer, const struct state_result *state)
{
    print_head(printer, "failed", COLOR_RED, state);
    if (printer->detail == REPORT_TERSE)
        return;
    if (state->error)
        print_indented_text(printer, str_from(state->error), false);
    if (state->at.file) {
        buf_add_text(printer->out, "    at ");
        place_print(state->at, printer->out);
        buf_add_char(printer->out, '\n');
    }
    if (state->handler)
        buf_printf(printer->out, "    handled by %s\n", state->handler);
    print_state_streams(printer, state);
    print_indented_text(printer, state->diff, true);
}

static void print_changed(struct printer *printer, const struct state_result *state)
{
    const char *word = printer->revert && printer->test       ? "would revert"
                       : printer->test || state->would_change ? "would change"
                       : printer->revert                      ? "reverted"
                                                              : "changed";

    print_head(printer, word, COLOR_GREEN, state);
    if (is_short(printer))
        return;
    if (state->cause)
        buf_printf(printer->out, "    because %s\n", state->cause);
    print_indented_text(printer, state->diff, true);
    print_state_streams(printer, state);
}

static void print_would_change(struct printer *printer, const struct state_result *state)
{
    if (state->would_change)
        print_changed(printer, state);
}

/* A single unchanged state may still show its comment. */
static void print_remark(struct printer *printer, const struct state_result *state)
{
    if (state->diff.n == 0 || state->would_change)
        return;
    print_head(printer, "unchanged", COLOR_NONE, state);
    print_indented_text(printer, state->diff, false);
}

static void print_unchanged(struct printer *printer, const struct state_result *state)
{
    if (state->would_change)
        return;
    print_head(printer, "unchanged", COLOR_NONE, state);
    if (!is_short(printer))
        print_indented_text(printer, state->diff, false);
}

static void print_skipped(struct printer *printer, const struct state_result *state)
{
    const char *reason = skip_reason_text(state->skip_reason);

    color_begin(printer->out, COLOR_YELLOW, printer->color);
    buf_printf(printer->out, "%-13s", "skipped");
    color_end(printer->out, COLOR_YELLOW, printer->color);
    buf_printf(printer->out, " %s  %s%s%s\n", state->name, reason[0] ? reason : "canceled",
               state->cause ? ": " : "", state->cause ? state->cause : "");
}

/* The findings of the look at the end of the run. */
static void print_again(struct printer *printer, const struct state_result *state)
{
    if (!state->again)
        return;
    color_begin(printer->out, COLOR_YELLOW, printer->color);
    buf_add_text(printer->out, "not converged");
    color_end(printer->out, COLOR_YELLOW, printer->color);
    buf_printf(printer->out, " %s\n", state->name);
    if (!is_short(printer))
        print_indented_text(printer, str_from(state->again), true);
}

static void print_all(struct printer *printer, const struct run_result *result,
                      enum state_outcome outcome,
                      void (*print)(struct printer *printer, const struct state_result *state))
{
    VEC_EACH (&result->states, state)
        if (state->outcome == outcome)
            print(printer, state);
}

static int by_duration(const void *a, const void *b)
{
    const struct state_result *const *left = a, *const *right = b;

    return ((*left)->duration < (*right)->duration) - ((*left)->duration > (*right)->duration);
}

static void print_slowest(struct printer *printer, const struct run_result *result)
{
    const struct state_result **sorted = mem_alloc(mem_product(result->states.n, sizeof(*sorted)));
    size_t n = 0;

    VEC_EACH (&result->states, state)
        sorted[n++] = state;
    if (n > 1)
        qsort(sorted, n, sizeof(*sorted), by_duration);
    for (size_t i = 0; i < n && i < SLOWEST_SHOWN && sorted[i]->duration >= SLOWEST_LEAST; i++) {
        buf_printf(printer->out, "%s%s ", i == 0 ? "slowest: " : ", ", sorted[i]->name);
        number_print_duration(sorted[i]->duration, printer->out);
    }
    if (n > 0 && sorted[0]->duration >= SLOWEST_LEAST)
        buf_add_char(printer->out, '\n');
    free(sorted);
}

/* The ID for reverting the run, or the reverted runs. */
static void print_runs(struct printer *printer, const struct run_result *result)
{
    const size_t n = result->reverted.n;
    const bool whole = run_result_is_success(result);
    const char *verb = result->test ? "would revert" : "reverted";

    if (!result->revert) {
        if (result->fallback != FALLBACK_NONE)
            buf_printf(printer->out, "run %s failed and was reverted%s\n", result->run_id,
                       result->fallback == FALLBACK_WHOLE ? "" : " in part");
        else if (result->run_id && !result->test && result->changed > 0)
            buf_printf(printer->out, "run %s\n", result->run_id);
        return;
    }
    if (n == 1)
        buf_printf(printer->out, "%s run %s%s\n", verb, result->run_id, whole ? "" : " in part");
    else if (n > 1)
        buf_printf(printer->out, "%s %zu runs%s, from %s to %s\n", verb, n, whole ? "" : " in part",
                   result->run_id, result->reverted.p[n - 1]);
}

static void print_run_summary(struct printer *printer, const struct run_result *result)
{
    size_t other = result->states.n - result->changed - result->failed - result->skipped -
                   result->would_change;
    enum color color = run_result_is_success(result) ? COLOR_GREEN : COLOR_RED;

    color_begin(printer->out, color, printer->color);
    buf_printf(printer->out, "%zu state%s: %u %s, %u failed, %u skipped, %zu %s", result->states.n,
               result->states.n == 1 ? "" : "s", result->changed,
               printer->revert && printer->test ? "would be reverted"
               : printer->test                  ? "would change"
               : printer->revert                ? "reverted"
                                                : "changed",
               result->failed, result->skipped, other,
               printer->revert ? "with nothing to revert" : "unchanged");
    if (result->would_change > 0)
        buf_printf(printer->out, ", %u would change without test: true", result->would_change);
    color_end(printer->out, color, printer->color);
    if (result->again > 0)
        buf_printf(printer->out, "; not converged: %u would change again", result->again);
    buf_add_text(printer->out, "; took ");
    number_print_duration(result->duration, printer->out);
    buf_add_text(printer->out, result->canceled ? "; canceled\n" : "\n");
    print_runs(printer, result);
}

void report_text(const struct run_result *result, enum report_detail detail, bool color,
                 struct buf *out)
{
    struct printer printer = { out, detail, color, result->test, result->revert };

    print_all(&printer, result, OUTCOME_FAILED, print_failed_states);
    print_all(&printer, result, OUTCOME_CHANGED, print_changed);
    print_all(&printer, result, OUTCOME_UNCHANGED, print_would_change);
    print_all(&printer, result, OUTCOME_SKIPPED, print_skipped);
    VEC_EACH (&result->states, state)
        print_again(&printer, state);
    if (detail != REPORT_CHANGES)
        print_all(&printer, result, OUTCOME_UNCHANGED, print_unchanged);
    else if (result->states.n == 1)
        print_all(&printer, result, OUTCOME_UNCHANGED, print_remark);
    if (out->n > 0)
        buf_add_char(out, '\n');
    print_run_summary(&printer, result);
    print_slowest(&printer, result);
}
