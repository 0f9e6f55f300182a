/*
 * flight - an event on its way through the rules that it matched.
 *
 * One rule after the other: ask the guards, render its file, check it, act block by block. Each act
 * has an identity that follows from the event, the rule and the block, so that a delivery that is
 * repeated does nothing twice. When all rules have ended the flight ends: the message is
 * acknowledged, or, when a failure may pass, comes again.
 *
 *     flight_begin -> { effects.render -> flight_rendered,
 *                       effects.dispatch|enroll|send -> flight_answer,
 *                       effects.await -> flight_job_ended }... -> effects.end
 *
 * A block that waits ends when its job has. The file is rendered again if it uses outcomes, and the
 * blocks after that one are taken from there. An event that comes again finds the job by its
 * identity, and goes on from where the job is.
 *
 * A failure that may pass ends its rule, and its guards forget the attempt; other rules go on.
 *
 * Memory: freed after effects.end. Threads: the pipeline's; flight_render in any, while nobody else
 * touches the flight.
 */
#ifndef FLEET_REACTOR_FLIGHT_H
#define FLEET_REACTOR_FLIGHT_H

#include "fleet/reactor/pipeline.h"
#include "fleet/wire/outcome.h"

struct action_dispatch;
struct awaited_end;
struct reaction_env;
struct rule_file;
struct rule_matches;

#define FLIGHT_USER_PREFIX "reactor:" /* of jobs: before the ref of the rule */
#define FLIGHT_OPERATOR    "reactor"  /* of enrollments */
#define FLIGHT_TAG_PREFIX  "reaction/"

/* A job to dispatch. Texts live as long as the flight. */
struct flight_job {
    const char *jid;
    const char *rule;
    const char *user;      /* "reactor:<rule>" */
    struct value metadata; /* a map of texts */
    const struct action_dispatch *dispatch;
    bool is_again; /* of an event that was delivered before: it may have been sent */
};

/* An event to publish, with its id as the id of the message. */
struct flight_send {
    const char *subject;
    struct event event;
    const char *parent;
};

struct flight_answer {
    enum outcome_result result;
    bool may_pass;       /* with OUTCOME_ERROR: the same may succeed later */
    const char *message; /* NULL: nothing to say */
};

enum flight_verdict {
    FLIGHT_ACK,
    FLIGHT_NAK,       /* after PIPELINE_NAK_NS */
    FLIGHT_EXHAUSTED, /* it will not come again: record that, then acknowledge it */
};

struct flight_end {
    enum flight_verdict verdict;
    const struct outcome *outcome; /* without `master` and `ts` */
};

/* For the pipeline. The flight takes over the pipeline's scratch arena, in which `event` and
 * `matches` are. */
struct flight *flight_new(struct pipeline *pipeline, const struct pipeline_delivery *delivery,
                          const struct gate_event *event, const struct rule_matches *matches);
void flight_begin(struct flight *flight);
/* End one that was not begun, without a word. */
void flight_cancel(struct flight *flight);

/* Render the file of the current rule. False: it is not right; it may be rendered again. */
bool flight_render(struct flight *flight, struct reaction_env *env);
void flight_rendered(struct flight *flight);
/* Instead of flight_rendered: not now. The rule ends as with a failure that may pass. */
void flight_postpone(struct flight *flight);
void flight_answer(struct flight *flight, const struct flight_answer *answer);

/* The job that was waited for has ended. Instead of it, flight_answer with a failure that may pass:
 * nobody knows. */
void flight_job_ended(struct flight *flight, const struct awaited_end *end);

/* Something of the owner, for its effects. */
void flight_attach(struct flight *flight, void *message);
void *flight_message(const struct flight *flight);
const struct gate_event *flight_event(const struct flight *flight);
/* The file of the current rule. */
const struct rule_file *flight_file(const struct flight *flight);

#endif
