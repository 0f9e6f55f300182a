/*
 * question - how did these states end? The agent of this machine answers, or the record itself when
 * no agent runs: 'zester --local' writes the same record.
 *
 * Memory: the arena. Threads: any; standing_ask blocks for a few seconds at most.
 */
#ifndef CORE_RUNS_QUESTION_H
#define CORE_RUNS_QUESTION_H

#include <stdbool.h>

#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/record.h"
#include "core/runs/standing.h"

/* Maximum names in one question: its answer must fit a packet. */
#define STANDING_NAMES_MAX 64

struct standing_question {
    struct param_strs names;
};
extern const struct record_type standing_question_type;

struct standing_reply {
    const char *error; /* why there is no answer; "": there is one */
    VEC(struct standing_answer) list;
};
extern const struct record_type standing_reply_type;

/* Is this packet a question, and not another message for the agent? */
bool standing_is_question(const struct value *packet);

/* The answers from the record in this folder, in the order of the names; a damaged record is
 * reported in the reply. */
void standing_reply(struct arena *arena, const char *data_dir, const struct param_strs *names,
                    struct standing_reply *ret);

/* Ask about at most STANDING_NAMES_MAX names. The reply has one answer for each, in their order. */
int standing_ask(struct arena *arena, const char *data_dir, struct param_strs names,
                 struct standing_reply *ret, struct err *err);

#endif
