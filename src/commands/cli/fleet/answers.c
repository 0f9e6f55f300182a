#include "commands/cli/fleet/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "commands/cli/fleet/answer_folds.h"
#include "commands/cli/shared/color.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/shared/command.h"
#include "core/data/value.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/subject.h"
#include "states/local/verb.h"

enum { STATUS_FAILED = 2, STATUS_SILENT = 3, STATUS_BOTH = 4 };

/* --- collecting --------------------------------------------------------------------- */

static int compare_answers(const void *a, const void *b)
{
    return strcmp(((const struct fleet_answer *)a)->peel, ((const struct fleet_answer *)b)->peel);
}

void fleet_answers_init(struct fleet_answers *answers, struct arena *arena,
                        const struct param_strs *peels)
{
    *answers = (struct fleet_answers){ .arena = arena, .by_peel = MAP_INIT_IN(arena) };
    answers->list = ARENA_ARRAY(arena, struct fleet_answer, peels->n);
    answers->count = peels->n;
    for (size_t i = 0; i < peels->n; i++)
        answers->list[i] = (struct fleet_answer){ .peel = peels->p[i], .error = "" };
    if (peels->n > 1)
        qsort(answers->list, answers->count, sizeof(answers->list[0]), compare_answers);
    for (size_t i = 0; i < answers->count; i++)
        (void)map_set(&answers->by_peel, str_from(answers->list[i].peel), &answers->list[i]);
    answers->all_come = answers->count == 0;
}

static void count_answer(struct fleet_answers *answers, bool had_come)
{
    answers->come += !had_come;
    answers->all_come = answers->come == answers->count;
}

const struct fleet_answer *fleet_answers_take(struct fleet_answers *answers, struct str subject,
                                              struct str payload)
{
    enum subject_kind kind;
    struct subject_names names;
    struct fleet_answer *answer;
    bool had_come;

    if (!subject_parse(subject, &kind, &names) || kind != SUBJECT_JOB_RETURN)
        return NULL;
    answer = map_find(&answers->by_peel, names.peel);
    had_come = answer && answer->has_come;
    if (!answer || !fleet_answer_take(answer, answers->arena, names.jid, payload))
        return NULL;
    count_answer(answers, had_come);
    return answer;
}

void fleet_answers_set(struct fleet_answers *answers, const char *peel, const struct str *payload,
                       const char *why)
{
    struct fleet_answer *answer = map_find(&answers->by_peel, str_from(peel));
    struct err err;

    answer->error = arena_strdup(answers->arena, why);
    answer->is_unreachable = !payload;
    if (payload) {
        if (record_decode(answers->arena, &exec_response_type, 1,
                          arena_str(answers->arena, *payload), &answer->response, &err) < 0)
            answer->error = arena_printf(answers->arena, "answer cannot be read: %s", err.text);
        else
            answer->error = answer->response.error;
        answer->success = answer->response.success && answer->error[0] == '\0';
    }
    count_answer(answers, answer->has_come);
    answer->has_come = true;
}

size_t fleet_answers_received(const struct fleet_answers *answers)
{
    size_t received = 0;

    for (size_t i = 0; i < answers->count; i++)
        received += answers->list[i].has_come && !answers->list[i].is_overdue;
    return received;
}

int fleet_answers_status(const struct fleet_answers *answers)
{
    bool failed = false, silent = false;

    for (size_t i = 0; i < answers->count; i++) {
        const struct fleet_answer *answer = &answers->list[i];

        if (fleet_answer_is_silent(answer))
            silent = true;
        else if (!answer->success)
            failed = true;
    }
    return failed && silent ? STATUS_BOTH
           : silent         ? STATUS_SILENT
           : failed         ? STATUS_FAILED
                            : CLI_OK;
}

/* --- values ------------------------------------------------------------------------- */

static int print_answers_json(struct cli *cli, const struct fleet_answers *answers)
{
    struct value_list *list = value_list_new(cli->arena, answers->count);
    struct value all;

    for (size_t i = 0; i < answers->count; i++)
        value_list_push(cli->arena, list, fleet_answer_value(cli->arena, &answers->list[i], false));
    all = value_list(list);
    return fleet_print(cli, FLEET_JSON, &all);
}

static int print_answers_yaml(struct cli *cli, const struct fleet_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++) {
        struct value one = fleet_answer_value(cli->arena, &answers->list[i], true);

        (void)fputs("---\n", stdout);
        if (fleet_print(cli, FLEET_YAML, &one) != CLI_OK)
            return CLI_ERROR;
    }
    return CLI_OK;
}

/* --- text --------------------------------------------------------------------------- */

static void print_each(const struct fleet_answers *answers, const struct fleet_answers_style *style,
                       struct buf *out)
{
    for (size_t i = 0; i < answers->count; i++) {
        const struct fleet_answer *answer = &answers->list[i];

        answer_folds_head(out, peel_id_name(answers->arena, answer->peel),
                          answer->success && !fleet_answer_is_silent(answer), style->color);
        answer_text_print(out, answer, style, false);
    }
}

/* Peels by what became of them. */
struct answer_counts {
    size_t changed, failed, unchanged, queued, silent;
    size_t again; /* of those that succeeded: not converged */
};

static bool has_answer_changed(const struct fleet_answer *answer)
{
    VEC_EACH (&answer->response.results.list, result)
        if (result->changed)
            return true;
    return false;
}

static void count_answers(const struct fleet_answers *answers, struct answer_counts *ret)
{
    *ret = (struct answer_counts){ 0 };
    for (size_t i = 0; i < answers->count; i++) {
        const struct fleet_answer *answer = &answers->list[i];

        if (answer->is_queued)
            ret->queued++;
        else if (fleet_answer_is_silent(answer))
            ret->silent++;
        else if (!answer->success)
            ret->failed++;
        else if (has_answer_changed(answer))
            ret->changed++;
        else
            ret->unchanged++;
        ret->again += answer->success && answer->response.again > 0;
    }
}

static bool was_dry_run(const struct fleet_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++)
        if (answers->list[i].response.test)
            return true;
    return false;
}

/* The end of what is printed for many peels, and of every run of states. */
static void print_totals(const struct fleet_answers *answers,
                         const struct fleet_answers_style *style,
                         const struct answer_counts *counts, struct buf *out)
{
    const enum color shade =
        counts->failed + counts->silent + counts->queued > 0 ? COLOR_RED : COLOR_GREEN;

    buf_add_char(out, '\n');
    color_begin(out, shade, style->color);
    buf_printf(out, "%zu peel%s: ", answers->count, answers->count == 1 ? "" : "s");
    if (answer_text_is_plain(style->function))
        buf_printf(out, "%zu succeeded, %zu failed", counts->changed + counts->unchanged,
                   counts->failed);
    else
        buf_printf(out, "%zu %s, %zu failed, %zu unchanged", counts->changed,
                   was_dry_run(answers) ? "would change" : "changed", counts->failed,
                   counts->unchanged);
    buf_printf(out, ", %zu without answer", counts->silent);
    if (counts->queued > 0)
        buf_printf(out, ", %zu queued", counts->queued);
    if (counts->again > 0)
        buf_printf(out, ", %zu not converged", counts->again);
    color_end(out, shade, style->color);
    if (style->took > 0) {
        buf_add_text(out, "; took ");
        number_print_duration(style->took, out);
    }
    buf_add_char(out, '\n');
}

static void print_answers_text(struct cli *cli, const struct fleet_answers *answers,
                               const struct fleet_answers_style *style,
                               const struct answer_counts *counts)
{
    const bool is_folded = answers->count > FLEET_HEADERS_MAX;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    if (is_folded)
        answer_folds_print(cli->arena, answers, style, &out);
    else
        print_each(answers, style, &out);
    if (is_folded || verb_runs_states(style->function))
        print_totals(answers, style, counts, &out);
    columns_write(buf_view(&out));
}

static void print_answers_summary(const struct answer_counts *counts)
{
    const char *gap = "";

    (void)fflush(stdout);
    if (counts->failed) {
        (void)fprintf(stderr, "%zu peel(s) failed", counts->failed);
        gap = ", ";
    }
    if (counts->silent) {
        (void)fprintf(stderr, counts->failed ? "%s%zu unreachable" : "%s%zu peel(s) unreachable",
                      gap, counts->silent);
        gap = ", ";
    }
    if (counts->queued)
        (void)fprintf(stderr, "%s%zu peel(s) queued", gap, counts->queued);
    if (counts->failed + counts->silent + counts->queued > 0)
        (void)fputc('\n', stderr);
}

int fleet_answers_print(struct cli *cli, const struct fleet_answers *answers,
                        const struct fleet_answers_style *style)
{
    struct answer_counts counts;
    int status = CLI_OK;

    count_answers(answers, &counts);
    cli->changed |= counts.changed > 0;
    if (style->format == FLEET_JSON)
        status = print_answers_json(cli, answers);
    else if (style->format == FLEET_YAML)
        status = print_answers_yaml(cli, answers);
    else
        print_answers_text(cli, answers, style, &counts);
    print_answers_summary(&counts);
    return status != CLI_OK ? status : fleet_answers_status(answers);
}
