/*
 * answer_text - the answer of one peel as lines for people.
 *
 * Functions that return text show it as it is. Anything else is a block for each result: its name,
 * and its fields below. Of several results, those that changed nothing are only counted, unless the
 * style asks for more; a dry run says what would change.
 *
 * Memory: none is kept. Threads: any.
 */
#ifndef COMMANDS_CLI_FLEET_ANSWER_TEXT_H
#define COMMANDS_CLI_FLEET_ANSWER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/cli/fleet/link.h"
#include "commands/cli/shared/report/detail.h"
#include "core/base/str.h"

struct buf;
struct exec_result;
struct fleet_answer;

/* Options of commands that print answers. */
struct fleet_output {
    struct report_detail_wish detail;
    bool verbose;
};

/* clang-format off */
#define FLEET_OUTPUT_OPTIONS(type, field) REPORT_DETAIL_OPTION(type, field.detail), PARAM("verbose", BOOL, type, field.verbose, "name every peel, however many gave the same answer", .aliases = "v")
/* clang-format on */

struct fleet_answers_style {
    enum fleet_format format;
    const char *function;
    bool color, verbose;
    enum report_detail detail;
    int64_t took; /* nanoseconds; 0: unknown */
};

/* Is the result of the function shown as it is? */
bool answer_text_is_plain(const char *function);

/* Append the lines. `folded`: as one of many peels, without what is never the same twice: how long
 * each state took, and most details; what succeeded where another state failed is named only. */
void answer_text_print(struct buf *out, const struct fleet_answer *answer,
                       const struct fleet_answers_style *style, bool folded);

/* "failed", "would change", "changed", "skipped" or "unchanged" */
const char *answer_text_outcome(const struct exec_result *result, bool test);

/* Each line of `text` after `indent` blanks and `mark`. */
void answer_text_add_lines(struct buf *out, const char *text, size_t indent, const char *mark);

#endif
