/*
 * fleet_answers - the answers of peels, one each, and their output.
 *
 *     fleet_answers_init(&answers, arena, targets);
 *     fleet_answers_take(&answers, subject, payload)...   returns, as they come
 *     status = fleet_answers_print(&answers, &how);
 *
 * The first real answer of a peel counts; it replaces one that a master made up. Answers that are
 * not from targets, or claim to be from another peel, are dropped.
 *
 * Memory: the arena. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_ANSWERS_H
#define COMMANDS_CLI_FLEET_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/map.h"
#include "core/base/str.h"
#include "commands/cli/fleet/answer_text.h"
#include "core/data/params.h"
#include "fleet/view/answer.h"

struct arena;
struct cli;

/* Up to this many peels get a header each; with more, equal answers are folded. */
#define FLEET_HEADERS_MAX 10

struct fleet_answers {
    struct arena *arena;
    struct map by_peel; /* struct fleet_answer */
    struct fleet_answer *list;
    size_t count, come;
    bool all_come;
};

void fleet_answers_init(struct fleet_answers *answers, struct arena *arena,
                        const struct param_strs *peels);
/* A return on its subject; NULL when it was dropped. */
const struct fleet_answer *fleet_answers_take(struct fleet_answers *answers, struct str subject,
                                              struct str payload);
/* The answer to a direct request; NULL payload: there is none, `why` says so. */
void fleet_answers_set(struct fleet_answers *answers, const char *peel, const struct str *payload,
                       const char *why);

/* How many have answered: not those that were overdue at the end of the job. */
size_t fleet_answers_received(const struct fleet_answers *answers);

/* All answers, in the order of their ids; those that did not come are unreachable. Returns the exit
 * status: 0, 2 a peel failed, 3 a peel did not answer, 4 both. */
int fleet_answers_print(struct cli *cli, const struct fleet_answers *answers,
                        const struct fleet_answers_style *style);
/* The same without printing. */
int fleet_answers_status(const struct fleet_answers *answers);

#endif
