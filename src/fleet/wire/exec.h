/*
 * exec - work for a peel, and what came of it.
 *
 * A master or an operator sends a request; the peel answers with a response (direct), or with an
 * ack and later a return (job). Identity is the peel in the subject; a payload that names another
 * one is dropped by whoever reads it.
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

/* The generation of all messages. */
#define EXEC_PROTOCOL 1

/* What to do with a job that may change the machine, outside of its maintenance windows. */
#define EXEC_WINDOW_FORCE "force" /* run it */
#define EXEC_WINDOW_WAIT  "wait"  /* an ack with `not_before` asks for the request again then */

struct exec_request {
    int32_t v;
    const char *jid, *module, *id; /* `id` is the positional argument */
    struct value args;             /* a map; null: none */
    uint64_t epoch;                /* of the job's record; 0: direct */
    int32_t rdepth;                /* chain depth of the reaction that it comes from */
    const char *plan;              /* the job whose dry run it must match; "": none */
    const char *window;            /* an EXEC_WINDOW, outside of maintenance windows; "": refuse */
    int64_t timeout;               /* nanoseconds from its ack; then it is canceled; 0: none */
    const char *user;              /* who asks directly, as they say; "": unknown */
    struct value secret_args;      /* a map of paths to texts that are never shown; null: none */
};
extern const struct record_type exec_request_type;

/* Secret arguments travel apart, so that whoever knows nothing of them loses them and shows none.
 * Lay them over the others: "password", or "pillar.db.password" in a map. `ret` is a copy in which
 * they are marked VALUE_SECRET. Fails with ERR_INVALID for a path that cannot be, or that is
 * taken. */
int exec_lay_secrets(struct arena *arena, const struct value *args, const struct value *secrets,
                     struct value *ret, struct err *err);

/* One state or call. */
struct exec_result {
    const char *name;
    bool changed;
    const char *diff;
    int64_t duration;     /* nanoseconds; always nine bytes, since others read it as int64 */
    struct value details; /* a map of texts; null: none */
    const char *error;    /* "": none */
    const char *place;    /* where a failed state is declared: "web.zy:12:3"; "": unknown */
    bool skipped;
    const char *skip_reason;
    const char *cause;  /* which requisite decided, in words; "": none */
    uint32_t level;     /* of the run; states of one level run at once */
    struct value needs; /* a list: places of the results that its requisites name; null: none */
};
extern const struct record_type exec_result_type;

struct exec_results {
    VEC(struct exec_result) list;
};

struct exec_response {
    int32_t v;
    const char *peel_id, *jid;
    bool success, test;
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
    bool unreachable; /* made by a master that got no answer */
    bool queued;      /* the same, and the request is kept for later */
    bool overdue;     /* made at the end of the job, for a target without a result; not counted */
};
extern const struct record_type exec_return_type;

/* An exec_return as a peel makes it, with data that need not become values first. */
struct exec_answer {
    const char *jid, *peel_id;
    bool success;
    struct exec_response response;
    const char *error;
    int64_t duration;
    struct value_time timestamp;
};
extern const struct record_type exec_answer_type;

/* The error of a target that had no result at the deadline. */
#define EXEC_OVERDUE "UNREACHABLE: no answer before the timeout"
/* Was it made by a master? A real return replaces it. */
bool exec_return_is_made_up(const struct exec_return *ret);
/* Is it what its subject says? A payload that names another peel or another job is not. */
bool exec_return_is_of(const struct exec_return *ret, struct str jid, struct str peel);

struct exec_ack {
    const char *jid, *peel_id;
    struct value_time timestamp;
    struct value_time not_before; /* it was not accepted: it may be sent again then; 0: it was */
};
extern const struct record_type exec_ack_type;

/* What happens to a job on a peel before its return: it waits for another one, it has begun, a
 * state of it has ended. For those who watch; nothing depends on it. */
enum exec_progress_kind { EXEC_QUEUED, EXEC_STARTED, EXEC_STATE };
#define EXEC_PROGRESS_KINDS (EXEC_STATE + 1)

struct exec_progress {
    const char *jid, *peel_id;
    enum exec_progress_kind type;
    const char *text;     /* queued: after what */
    uint32_t done, total; /* states of the run */
    struct value result;  /* an exec_result as a map, without details; null: none */
    struct value_time timestamp;
};
extern const struct record_type exec_progress_type;

#endif
