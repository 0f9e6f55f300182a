/*
 * exec - requests to a peel, and its answers.
 *
 * A master or an operator sends a request. The peel answers with a response (direct), or with an
 * ack and later a return (job). The subject identifies the peel; receivers drop a payload that
 * names another one.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_EXEC_H
#define FLEET_WIRE_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/data/record.h"

struct arena;
struct err;

/* Protocol version of all messages. */
#define EXEC_PROTOCOL 1

/* Policy for a job that may change the machine, outside of its maintenance windows. */
#define EXEC_WINDOW_FORCE "force" /* run it */
#define EXEC_WINDOW_WAIT  "wait"  /* an ack with `not_before` requests it again later */

struct exec_request {
    int32_t v;
    const char *jid, *module, *id; /* `id` is the positional argument */
    struct value args;             /* a map; null: none */
    uint64_t epoch;                /* of the job's record; 0: direct */
    int32_t rdepth;                /* chain depth of the reaction that caused it */
    const char *plan;              /* the job whose dry run it must match; "": none */
    const char *window;            /* an EXEC_WINDOW policy; "": refuse */
    int64_t timeout;               /* nanoseconds from its ack until it is canceled; 0: none */
    const char *user;              /* who asks, unverified if directly; "": unknown */
    struct value secret_args;      /* map of paths to hidden texts; null: none */
};
extern const struct record_type exec_request_type;

/* Merges the secret arguments into the others, at "password" or, in a map, "pillar.db.password".
 * They travel separately, so code that does not know them cannot show them. `ret` is a copy in
 * which they are marked VALUE_SECRET. Fails with ERR_INVALID for a path that is invalid or taken.
 * */
int exec_lay_secrets(struct arena *arena, const struct value *args, const struct value *secrets,
                     struct value *ret, struct err *err);

/* One state or call. */
struct exec_result {
    const char *name;
    bool changed;
    const char *diff;
    int64_t duration;     /* nanoseconds; always nine bytes, since others read it as int64 */
    struct value details; /* a map of texts; null: none */
    struct value value;   /* a list of what was returned unless it is a text, an empty list if it is
                             too large; null: see `details` */
    const char *error;    /* "": none */
    const char *place;    /* where a failed state is declared: "web.zy:12:3"; "": unknown */
    bool skipped;
    const char *skip_reason;
    const char *cause;  /* the deciding requisite, in words; "": none */
    const char *again;  /* why it would change again; "": it would not */
    uint32_t level;     /* states of one level run in parallel */
    struct value needs; /* list: indexes of its requisites' results; null: none */
};
extern const struct record_type exec_result_type;

struct exec_results {
    VEC(struct exec_result) list;
};

struct exec_response {
    int32_t v;
    const char *peel_id, *jid;
    bool success, test;
    bool looked;    /* results held at the end of the run (states/run/look.h) */
    uint32_t again; /* states that would change again */
    struct exec_results results;
    const char *error;
};
extern const struct record_type exec_response_type;

struct exec_return {
    const char *jid, *peel_id;
    bool success;
    struct value return_data; /* an exec_response as a map; null: none */
    const char *error;
    int64_t duration;
    struct value_time timestamp;
    bool unreachable; /* made by a master for lack of an answer */
    bool queued;      /* as above; the request is queued for later */
    bool overdue;     /* made at the job's end for a target without a result; not counted */
};
extern const struct record_type exec_return_type;

/* An exec_return as a peel makes it: its data is encoded without values in between. */
struct exec_answer {
    const char *jid, *peel_id;
    bool success;
    struct exec_response response;
    const char *error;
    int64_t duration;
    struct value_time timestamp;
};
extern const struct record_type exec_answer_type;

/* Error of a target without a result at the deadline. */
#define EXEC_OVERDUE "UNREACHABLE: no answer before the timeout"
/* Did a master make it? A real return replaces it. */
bool exec_return_is_made_up(const struct exec_return *ret);
/* Does the payload name the peel and job of its subject? */
bool exec_return_is_of(const struct exec_return *ret, struct str jid, struct str peel);

struct exec_ack {
    const char *jid, *peel_id;
    struct value_time timestamp;
    struct value_time not_before; /* not accepted: send it again at this time; 0: accepted */
};
extern const struct record_type exec_ack_type;

/* Progress of a job on a peel: queued behind another job, started, or one state finished. For
 * display; nothing depends on it. */
enum exec_progress_kind { EXEC_QUEUED, EXEC_STARTED, EXEC_STATE };
#define EXEC_PROGRESS_KINDS (EXEC_STATE + 1)

struct exec_progress {
    const char *jid, *peel_id;
    enum exec_progress_kind type;
    const char *text;     /* queued: behind which job */
    uint32_t done, total; /* states of the run */
    struct value result;  /* an exec_result as a map, without details; null: none */
    struct value_time timestamp;
};
extern const struct record_type exec_progress_type;

#endif
