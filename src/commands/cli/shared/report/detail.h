/*
 * report_detail - how much of each state people want to see: --state-output, else
 * ZESTER_STATE_OUTPUT, else changes. The words are those of Salt.
 */
#ifndef COMMANDS_CLI_SHARED_REPORT_DETAIL_H
#define COMMANDS_CLI_SHARED_REPORT_DETAIL_H

#include <stdbool.h>

#include "core/data/params.h"

struct cli;

enum report_detail {
    REPORT_CHANGES, /* failures and changes in full, nothing of what is unchanged */
    REPORT_FULL,    /* all states in full */
    REPORT_TERSE,   /* a line for each state */
    REPORT_MIXED,   /* failures in full, a line for each other state */
};

#define REPORT_DETAIL_VARIABLE "ZESTER_STATE_OUTPUT"
#define REPORT_DETAIL_WORDS                                                                        \
    "changes|full|terse|mixed|filter|full_id|terse_id|mixed_id|changes_id|filter_id"

/* The arguments of the command line. */
struct report_detail_wish {
    int word; /* of REPORT_DETAIL_WORDS */
    bool is_given;
};

/* clang-format off */
#define REPORT_DETAIL_OPTION(type, field)                                                                                            \
    PARAM("state-output", CHOICE, type, field.word, "how much of each state is shown ($" REPORT_DETAIL_VARIABLE ")", PARAM_GIVEN(type, field.is_given), .choices = REPORT_DETAIL_WORDS, .default_text = "changes", .kind_text = "MODE")
/* clang-format on */

/* Fails for a variable with another word. Returns the exit status. */
int report_detail_choose(const struct cli *cli, const struct report_detail_wish *wish,
                         enum report_detail *ret_detail);

#endif
