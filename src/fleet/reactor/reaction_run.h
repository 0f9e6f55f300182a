/*
 * reaction run - an event on its way through the rules that it matched.
 *
 * One rule after the other: ask the guards, render its file, check it, act block by block. Each act
 * has an identity that follows from the event, the rule and the block, so that a delivery that is
 * repeated does nothing twice. When all rules have ended the reaction run ends: the message is
 * acknowledged, or, when a failure may pass, comes again.
 *
 *     reaction_run_begin -> { effects.render -> reaction_run_rendered,
 *                       effects.dispatch|enroll|send -> reaction_run_answer,
 *                       effects.await -> reaction_run_job_ended }... -> effects.end
 *
 * A block that waits ends when its job has. The file is rendered again if it uses outcomes, and the
 * blocks after that one are taken from there. An event that comes again finds the job by its
 * identity, and goes on from where the job is.
 *
 * A failure that may pass ends its rule, and its guards forget the attempt; other rules go on.
 *
 * Memory: freed after effects.end. Threads: the pipeline's; reaction_run_render in any, while
 * nobody else touches the reaction run.
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

#define REACTION_RUN_USER_PREFIX "reactor:" /* of jobs: before the ref of the rule */
#define REACTION_RUN_OPERATOR    "reactor"  /* of enrollments */
#define REACTION_RUN_TAG_PREFIX  "reaction/"

/* A job to dispatch. Texts live as long as the reaction run. */
struct reaction_run_job {
    const char *jid;
    const char *rule;
    const char *user;      /* "reactor:<rule>" */
    struct value metadata; /* a map of texts */
    const struct action_dispatch *dispatch;
    bool is_again; /* of an event that was delivered before: it may have been sent */
};

/* An event to publish, with its id as the id of the message. */
struct reaction_run_send {
    const char *subject;
    struct event event;
    const char *parent;
};

struct reaction_run_answer {
    enum outcome_result result;
    bool may_pass;       /* with OUTCOME_ERROR: the same may succeed later */
    const char *message; /* NULL: nothing to say */
};

enum reaction_run_verdict {
    REACTION_RUN_ACK,
    REACTION_RUN_NAK,       /* after PIPELINE_NAK_NS */
    REACTION_RUN_EXHAUSTED, /* it will not come again: record that, then acknowledge it */
};

struct reaction_run_end {
    enum reaction_run_verdict verdict;
    const struct outcome *outcome; /* without `master` and `ts` */
};

/* For the pipeline. The reaction run takes over the pipeline's scratch arena, in which `event` and
 * `matches` are. */
struct reaction_run *reaction_run_new(struct pipeline *pipeline,
                                      const struct pipeline_delivery *delivery,
                                      const struct event_gate_event *event,
                                      const struct rule_matches *matches);
void reaction_run_begin(struct reaction_run *reaction_run);
/* End one that was not begun, without a word. */
void reaction_run_cancel(struct reaction_run *reaction_run);

/* Render the file of the current rule. False: it is not right; it may be rendered again. */
bool reaction_run_render(struct reaction_run *reaction_run, struct reaction_env *env);
void reaction_run_rendered(struct reaction_run *reaction_run);
/* Instead of reaction_run_rendered: not now. The rule ends as with a failure that may pass. */
void reaction_run_postpone(struct reaction_run *reaction_run);
void reaction_run_answer(struct reaction_run *reaction_run,
                         const struct reaction_run_answer *answer);

/* The job that was waited for has ended. Instead of it, reaction_run_answer with a failure that may
 * pass: nobody knows. */
void reaction_run_job_ended(struct reaction_run *reaction_run, const struct awaited_end *end);

/* Something of the owner, for its effects. */
void reaction_run_attach(struct reaction_run *reaction_run, void *message);
void *reaction_run_message(const struct reaction_run *reaction_run);
const struct event_gate_event *reaction_run_event(const struct reaction_run *reaction_run);
/* The file of the current rule. */
const struct rule_file *reaction_run_file(const struct reaction_run *reaction_run);

#endif
