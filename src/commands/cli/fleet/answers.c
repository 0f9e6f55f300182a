#include "commands/cli/fleet/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "commands/cli/shared/color.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/shared/command.h"
#include "core/data/value.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/subject.h"

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

/* Functions that return text, which is shown as it is. */
static bool is_plain_result(const char *function)
{
    static const char *const names[] = {
        "cmd.run",     "test.ping",  "sys.doc",     "sys.list_functions", "state.graph",
        "state.check", "state.owed", "state.waive", "state.last"
    };
    static const char *const families[] = { "facts.",     "settings.", "grains.", "pillar.",
                                            "state.show", "schedule.", "beacons." };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(function, names[i]) == 0)
            return true;
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        if (strncmp(function, families[i], strlen(families[i])) == 0)
            return true;
    return false;
}

/* Every line of `text` after `indent` blanks and `mark`. */
static void print_answer_lines(struct buf *out, const char *text, size_t indent, const char *mark)
{
    struct str rest = str_from(text);

    while (rest.n > 0 && rest.p[rest.n - 1] == '\n')
        rest.n--;
    if (rest.n == 0)
        return;
    while (rest.p) {
        struct str line = str_cut(&rest, '\n');

        buf_fill(out, ' ', indent);
        buf_add_text(out, mark);
        buf_add_str(out, line);
        buf_add_char(out, '\n');
    }
}

static void print_plain_result(struct buf *out, const struct exec_result *result)
{
    const char *said = value_get_text(&result->details, "stdout");

    if (!said)
        said = value_get_text(&result->details, "result");
    if (!said && !value_is_true(&result->details)) /* of a dry run: what would be done */
        said = result->diff;
    print_answer_lines(out, said ? said : "", 4, "");
    said = value_get_text(&result->details, "stderr");
    print_answer_lines(out, said ? said : "", 4, "stderr: ");
    print_answer_lines(out, result->error, 4, "ERROR: ");
}

static void print_answer_field(struct buf *out, const char *name, const char *text)
{
    if (!text || !text[0])
        return;
    if (strchr(text, '\n')) {
        buf_printf(out, "        %s:\n", name);
        print_answer_lines(out, text, 12, "");
    } else {
        buf_printf(out, "        %s: %s\n", name, text);
    }
}

static void add_details(struct buf *out, const struct value *details)
{
    for (size_t i = 0; details->kind == VALUE_MAP && i < details->map->count; i++) {
        const struct value_pair *pair = &details->map->pairs[i];

        if (value_is_textual(&pair->key) && value_is_textual(&pair->value))
            print_answer_field(out, pair->key.s.p, pair->value.s.p);
    }
}

static void print_answer_result(struct buf *out, const struct exec_result *result, bool timed)
{
    AUTO_BUF struct buf duration = BUF_INIT(64);

    if (timed)
        number_print_duration(result->duration, &duration);
    buf_printf(out, "    %s:\n", result->name);
    print_answer_field(out, "error", result->error);
    print_answer_field(out, "place", result->place);
    if (result->skipped)
        print_answer_field(out, "skipped", "true");
    print_answer_field(out, "skip_reason", result->skip_reason);
    print_answer_field(out, "cause", result->cause);
    print_answer_field(out, "changed", result->changed ? "true" : "false");
    print_answer_field(out, "duration", buf_text(&duration));
    print_answer_field(out, "diff", result->diff);
    add_details(out, &result->details);
}

/* A plain result is shown with its error: that is not said again for the whole answer. */
static bool is_said(const struct fleet_answer *answer, const char *error)
{
    VEC_EACH (&answer->response.results.list, result)
        if (strcmp(result->error, error) == 0)
            return true;
    return false;
}

/* `timed`: with how long each state took, which is never the same twice. */
static void add_body(struct buf *out, const struct fleet_answer *answer, const char *function,
                     bool timed)
{
    const char *error = fleet_answer_error(answer);

    VEC_EACH (&answer->response.results.list, result) {
        if (is_plain_result(function))
            print_plain_result(out, result);
        else
            print_answer_result(out, result, timed);
    }
    if (fleet_answer_is_silent(answer))
        print_answer_lines(out, error, 4, "");
    else if (!is_plain_result(function) || !is_said(answer, error))
        print_answer_lines(out, error, 4, "ERROR: ");
}

static void print_header(const char *text, bool good, bool color)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    enum color shade = good ? COLOR_GREEN : COLOR_RED;

    color_begin(&out, shade, color);
    buf_printf(&out, "%s:", text);
    color_end(&out, shade, color);
    (void)printf("%s\n", buf_text(&out));
}

/* Answers that are equal, in the order of their first peel. */
struct fold {
    const struct fleet_answer *first;
    struct str body;
    const char *names;
    size_t count;
};

/* Failures first, then the largest groups. */
static int compare_folds(const void *a, const void *b)
{
    const struct fold *left = a, *right = b;
    int good_left = left->first->success, good_right = right->first->success;

    if (good_left != good_right)
        return good_left - good_right;
    if (left->count != right->count)
        return left->count < right->count ? 1 : -1;
    return strcmp(left->first->peel, right->first->peel);
}

static void print_folded(struct cli *cli, const struct fleet_answers *answers,
                         const struct fleet_answers_style *style)
{
    struct map by_body = MAP_INIT_IN(cli->arena);
    struct fold *folds = ARENA_ARRAY(cli->arena, struct fold, answers->count);
    size_t count = 0;

    for (size_t i = 0; i < answers->count; i++) {
        AUTO_BUF struct buf body = BUF_INIT(BUF_NO_LIMIT);
        const struct fleet_answer *answer = &answers->list[i];
        const char *name = peel_id_name(cli->arena, answer->peel);
        struct fold *fold;

        add_body(&body, answer, style->function, false);
        fold = map_find(&by_body, buf_view(&body));
        if (!fold) {
            fold = &folds[count++];
            *fold = (struct fold){ answer, buf_copy(&body, cli->arena), name, 0 };
            (void)map_set(&by_body, fold->body, fold);
        } else {
            fold->names = arena_printf(cli->arena, "%s, %s", fold->names, name);
        }
        fold->count++;
    }
    if (count > 1)
        qsort(folds, count, sizeof(folds[0]), compare_folds);
    for (size_t i = 0; i < count; i++) {
        const char *header = folds[i].count == 1 ? folds[i].names
                                                 : arena_printf(cli->arena, "%zu peels (%s)",
                                                                folds[i].count, folds[i].names);

        print_header(header, folds[i].first->success && !fleet_answer_is_silent(folds[i].first),
                     style->color);
        columns_write(folds[i].body);
    }
}

static void print_each(struct cli *cli, const struct fleet_answers *answers,
                       const struct fleet_answers_style *style)
{
    for (size_t i = 0; i < answers->count; i++) {
        AUTO_BUF struct buf body = BUF_INIT(BUF_NO_LIMIT);
        const struct fleet_answer *answer = &answers->list[i];

        add_body(&body, answer, style->function, true);
        print_header(peel_id_name(cli->arena, answer->peel),
                     answer->success && !fleet_answer_is_silent(answer), style->color);
        columns_write(buf_view(&body));
    }
}

static void print_answers_summary(const struct fleet_answers *answers)
{
    size_t failed = 0, silent = 0, queued = 0;
    const char *gap = "";

    for (size_t i = 0; i < answers->count; i++) {
        const struct fleet_answer *answer = &answers->list[i];

        queued += answer->is_queued;
        silent += fleet_answer_is_silent(answer) && !answer->is_queued;
        failed += !fleet_answer_is_silent(answer) && !answer->success;
    }
    (void)fflush(stdout);
    if (failed) {
        (void)fprintf(stderr, "%zu peel(s) failed", failed);
        gap = ", ";
    }
    if (silent) {
        (void)fprintf(stderr, failed ? "%s%zu unreachable" : "%s%zu peel(s) unreachable", gap,
                      silent);
        gap = ", ";
    }
    if (queued)
        (void)fprintf(stderr, "%s%zu peel(s) queued", gap, queued);
    if (failed + silent + queued > 0)
        (void)fputc('\n', stderr);
}

int fleet_answers_print(struct cli *cli, const struct fleet_answers *answers,
                        const struct fleet_answers_style *style)
{
    int status = CLI_OK;

    if (style->format == FLEET_JSON)
        status = print_answers_json(cli, answers);
    else if (style->format == FLEET_YAML)
        status = print_answers_yaml(cli, answers);
    else if (answers->count > FLEET_HEADERS_MAX)
        print_folded(cli, answers, style);
    else
        print_each(cli, answers, style);
    print_answers_summary(answers);
    return status != CLI_OK ? status : fleet_answers_status(answers);
}
