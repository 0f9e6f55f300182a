/*
 * reaction run - runs the rules that an event matched.
 *
 * One rule after the other: ask the guards, render its file, check it, act block by block. Each
 * action has an id derived from the event, the rule and the block, so a redelivery does nothing
 * twice. When all rules have ended, the run ends: the message is acknowledged, or, after a
 * temporary failure, delivered again.
 *
 *     reaction_run_begin -> { effects.render -> reaction_run_rendered,
 *                       effects.dispatch|enroll|send -> reaction_run_answer,
 *                       effects.await -> reaction_run_job_ended }... -> effects.end
 *
 * A waiting block ends with its job. If the file uses outcomes, it is rendered again, and the
 * following blocks are taken from there. A redelivered event finds the job by its id and continues
 * from its state.
 *
 * A temporary failure ends its rule, and the guards forget the attempt; other rules continue.
 *
 * Memory: freed after effects.end. Threads: the pipeline's; reaction_run_render in any, with
 * exclusive access.
 */
#ifndef FLEET_REACTOR_REACTION_RUN_H
#define FLEET_REACTOR_REACTION_RUN_H

#include "fleet/reactor/pipeline.h"
#include "fleet/wire/outcome.h"

struct action_dispatch;
struct awaited_end;
struct reaction_env;
struct rule_file;
struct rule_matches;

#define REACTION_RUN_USER_PREFIX "reactor:" /* of jobs: prefix of the rule's ref */
#define REACTION_RUN_OPERATOR    "reactor"  /* of enrollments */
#define REACTION_RUN_TAG_PREFIX  "reaction/"

/* A job to dispatch. Texts live as long as the reaction run. */
struct reaction_run_job {
    const char *jid;
    const char *rule;
    const char *user;      /* "reactor:<rule>" */
    struct value metadata; /* a map of texts */
    const struct action_dispatch *dispatch;
    bool is_again; /* of a redelivered event: it may have been sent */
};

/* An event to publish, with its id as the message id. */
struct reaction_run_send {
    const char *subject;
    struct event event;
    const char *parent;
};

struct reaction_run_answer {
    enum outcome_result result;
    bool may_pass;       /* with OUTCOME_ERROR: a retry may succeed */
    const char *message; /* NULL: none */
};

enum reaction_run_verdict {
    REACTION_RUN_ACK,
    REACTION_RUN_NAK,       /* after PIPELINE_NAK_NS */
    REACTION_RUN_EXHAUSTED, /* no more deliveries: record that, then acknowledge it */
};

struct reaction_run_end {
    enum reaction_run_verdict verdict;
    const struct outcome *outcome; /* without `master` and `ts` */
};

/* For the pipeline. Takes over the pipeline's scratch arena with `event` and `matches`. */
struct reaction_run *reaction_run_new(struct pipeline *pipeline,
                                      const struct pipeline_delivery *delivery,
                                      const struct event_gate_event *event,
                                      const struct rule_matches *matches);
void reaction_run_begin(struct reaction_run *reaction_run);
/* Frees a run that was never begun; no callback. */
void reaction_run_cancel(struct reaction_run *reaction_run);

/* Renders the file of the current rule. False: it has mistakes; it may be rendered again. */
bool reaction_run_render(struct reaction_run *reaction_run, struct reaction_env *env);
void reaction_run_rendered(struct reaction_run *reaction_run);
/* Instead of reaction_run_rendered: the rule ends with a temporary failure. */
void reaction_run_postpone(struct reaction_run *reaction_run);
void reaction_run_answer(struct reaction_run *reaction_run,
                         const struct reaction_run_answer *answer);

/* The awaited job has ended. If that is unknown: reaction_run_answer with a temporary failure. */
void reaction_run_job_ended(struct reaction_run *reaction_run, const struct awaited_end *end);

/* Data of the owner, for its effects. */
void reaction_run_attach(struct reaction_run *reaction_run, void *message);
void *reaction_run_message(const struct reaction_run *reaction_run);
const struct event_gate_event *reaction_run_event(const struct reaction_run *reaction_run);
/* The file of the current rule. */
const struct rule_file *reaction_run_file(const struct reaction_run *reaction_run);

#endif
