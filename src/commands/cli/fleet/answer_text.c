#include "commands/cli/fleet/answer_text.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/number.h"
#include "core/data/value.h"
#include "fleet/view/answer.h"

bool answer_text_is_plain(const char *function)
{
    static const char *const names[] = {
        "cmd.run",     "test.ping",  "sys.doc",     "sys.list_functions", "state.graph",
        "state.check", "state.owed", "state.waive", "state.last",         "state.runs"
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

const char *answer_text_outcome(const struct exec_result *result, bool test)
{
    if (result->error[0] && !result->skipped)
        return "failed";
    if (result->skipped)
        return "skipped";
    if (!result->changed)
        return "unchanged";
    return test ? "would change" : "changed";
}

void answer_text_add_lines(struct buf *out, const char *text, size_t indent, const char *mark)
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

/* --- text as it is -------------------------------------------------------------------- */

static void add_plain_result(struct buf *out, const struct exec_result *result)
{
    const char *said = value_get_text(&result->details, "stdout");

    if (!said)
        said = value_get_text(&result->details, "result");
    if (!said && !value_is_true(&result->details)) /* of a dry run: what would be done */
        said = result->diff;
    answer_text_add_lines(out, said ? said : "", 4, "");
    said = value_get_text(&result->details, "stderr");
    answer_text_add_lines(out, said ? said : "", 4, "stderr: ");
    answer_text_add_lines(out, result->error, 4, "ERROR: ");
}

/* --- blocks --------------------------------------------------------------------------- */

static void add_answer_field(struct buf *out, const char *name, const char *text)
{
    if (!text || !text[0])
        return;
    if (strchr(text, '\n')) {
        buf_printf(out, "        %s:\n", name);
        answer_text_add_lines(out, text, 12, "");
    } else {
        buf_printf(out, "        %s: %s\n", name, text);
    }
}

/* Folded answers keep a function's result and a command's output. */
static bool is_shared_detail(struct str key)
{
    return str_is(key, "stdout") || str_is(key, "stderr") || str_is(key, "result");
}

static void add_details(struct buf *out, const struct value *details, bool folded)
{
    for (size_t i = 0; details->kind == VALUE_MAP && i < details->map->count; i++) {
        const struct value_pair *pair = &details->map->pairs[i];

        if (value_is_textual(&pair->key) && value_is_textual(&pair->value) &&
            (!folded || is_shared_detail(pair->key.s)))
            add_answer_field(out, pair->key.s.p, pair->value.s.p);
    }
}

/* How many bytes were written depends on the name of a peel that is in them; the difference is
 * shown anyway. */
static bool is_size_line(struct str line)
{
    return str_starts(line, STR("wrote ")) && str_find(line, STR(" bytes to "), 0) != STR_NONE;
}

static void add_diff(struct buf *out, struct str diff, bool folded)
{
    AUTO_BUF struct buf kept = BUF_INIT(BUF_NO_LIMIT);

    while (diff.n > 0) {
        const struct str line = str_cut(&diff, '\n');

        if (folded && is_size_line(line))
            continue;
        buf_add_str(&kept, line);
        buf_add_char(&kept, '\n');
    }
    buf_cut(&kept, str_trim_right(buf_view(&kept)).n);
    add_answer_field(out, "diff", buf_text(&kept));
}

struct answer_printer {
    struct buf *out;
    const struct fleet_answer *answer;
    enum report_detail detail;
    bool folded;
};

static void add_result_block(const struct answer_printer *printer, const struct exec_result *result)
{
    const bool would = result->changed && printer->answer->response.test;
    const bool is_brief = printer->folded && printer->detail != REPORT_FULL;
    AUTO_BUF struct buf duration = BUF_INIT(64);
    struct buf *out = printer->out;

    if (!printer->folded)
        number_print_duration(result->duration, &duration);
    buf_printf(out, "    %s:\n", result->name);
    add_answer_field(out, "error", result->error);
    add_answer_field(out, "place", result->place);
    if (result->skipped)
        add_answer_field(out, "skipped", "true");
    add_answer_field(out, "skip_reason", result->skip_reason);
    add_answer_field(out, "cause", result->cause);
    add_answer_field(out, would ? "would change" : "changed", result->changed ? "true" : "false");
    add_answer_field(out, "duration", buf_text(&duration));
    add_diff(out, str_from(result->diff), is_brief);
    add_answer_field(out, "would change again", result->again);
    add_details(out, &result->details, is_brief);
}

static void add_result_line(const struct answer_printer *printer, const struct exec_result *result)
{
    buf_printf(printer->out, "    %-13s %s",
               answer_text_outcome(result, printer->answer->response.test), result->name);
    if (!printer->folded) {
        buf_add_text(printer->out, "  ");
        number_print_duration(result->duration, printer->out);
    }
    buf_add_char(printer->out, '\n');
}

enum extent { EXTENT_BLOCK, EXTENT_LINE, EXTENT_COUNT };

static enum extent find_result_extent(const struct answer_printer *printer,
                                      const struct exec_result *result)
{
    const bool failed = result->error[0] && !result->skipped;

    switch (printer->detail) {
    case REPORT_FULL: return EXTENT_BLOCK;
    case REPORT_TERSE: return EXTENT_LINE;
    case REPORT_MIXED: return failed ? EXTENT_BLOCK : EXTENT_LINE;
    case REPORT_CHANGES: break;
    }
    if (printer->answer->response.results.list.n == 1 || failed || result->again[0])
        return EXTENT_BLOCK;
    if (!result->changed)
        return EXTENT_COUNT;
    return printer->folded && !printer->answer->success ? EXTENT_LINE : EXTENT_BLOCK;
}

static void add_result_counts(struct buf *out, size_t unchanged, size_t skipped)
{
    if (unchanged + skipped == 0)
        return;
    buf_add_text(out, "    ");
    if (unchanged > 0)
        buf_printf(out, "%zu unchanged%s", unchanged, skipped > 0 ? ", " : "");
    if (skipped > 0)
        buf_printf(out, "%zu skipped", skipped);
    buf_add_char(out, '\n');
}

static void add_results(const struct answer_printer *printer)
{
    size_t unchanged = 0, skipped = 0;

    VEC_EACH (&printer->answer->response.results.list, result) {
        switch (find_result_extent(printer, result)) {
        case EXTENT_BLOCK: add_result_block(printer, result); break;
        case EXTENT_LINE: add_result_line(printer, result); break;
        case EXTENT_COUNT:
            unchanged += !result->skipped;
            skipped += result->skipped;
            break;
        }
    }
    add_result_counts(printer->out, unchanged, skipped);
    if (printer->answer->response.again > 0)
        buf_printf(printer->out, "    not converged: %u would change again\n",
                   printer->answer->response.again);
}

/* --- the whole answer ----------------------------------------------------------------- */

/* The error of a result is not repeated for the whole answer. */
static bool is_said(const struct fleet_answer *answer, const char *error)
{
    VEC_EACH (&answer->response.results.list, result)
        if (strcmp(result->error, error) == 0)
            return true;
    return false;
}

void answer_text_print(struct buf *out, const struct fleet_answer *answer,
                       const struct fleet_answers_style *style, bool folded)
{
    const char *error = fleet_answer_error(answer);

    if (answer_text_is_plain(style->function))
        VEC_EACH (&answer->response.results.list, result)
            add_plain_result(out, result);
    else
        add_results(&(struct answer_printer){ out, answer, style->detail, folded });
    if (fleet_answer_is_silent(answer))
        answer_text_add_lines(out, error, 4, "");
    else if (!is_said(answer, error))
        answer_text_add_lines(out, error, 4, "ERROR: ");
}
