/*
 * answer_folds - the answers of many peels: equal ones once, with the names of the peels.
 *
 * The answer that most peels gave comes first, then rarer ones, then failures, then peels without
 * an answer. The results of states are equal, too, if they differ only by the name of their peel,
 * which is then shown as '*'.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef COMMANDS_CLI_FLEET_ANSWER_FOLDS_H
#define COMMANDS_CLI_FLEET_ANSWER_FOLDS_H

#include "commands/cli/fleet/answers.h"

struct arena;
struct buf;

/* So many names are shown, unless the style says all. */
#define ANSWER_FOLDS_NAMES 8

void answer_folds_print(struct arena *arena, const struct fleet_answers *answers,
                        const struct fleet_answers_style *style, struct buf *out);

/* "<text>:" as a line, in green or red. */
void answer_folds_head(struct buf *out, const char *text, bool good, bool color);

/* "a, b and 3 more": at most so many of the peels. */
const char *answer_folds_names(struct arena *arena, const char *const *peels, size_t count,
                               const char *gap, size_t max);

#endif
