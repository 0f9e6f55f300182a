/*
 * real_service - what the parts of real_world know of a service. Inside supervise/ only.
 */
#ifndef KEPLER_SUPERVISE_REAL_SERVICE_H
#define KEPLER_SUPERVISE_REAL_SERVICE_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "kepler/config/launch.h"
#include "core/data/value.h"
#include "core/sys/filewatch.h"
#include "kepler/supervise/real_world.h"
#include "core/sys/timers.h"

struct evaluation;
struct statewatch;
struct shared_resolver;

enum job_kind { JOB_MAIN, JOB_HOOK, JOB_CHECK };
#define JOB_KINDS (JOB_CHECK + 1)

struct real_service {
    struct real_world *real;
    uint32_t index;
    const struct config_service *config;
    struct service_process jobs[JOB_KINDS];
    struct real_tag tags[JOB_KINDS];
    struct arena arena; /* of the launch */
    struct launch launch;
    bool launched;
    struct process_status task_status[JOB_KINDS];
    struct arena step_arena;
    struct launch_step step;
    struct filewatch files;
    struct buf check_words;    /* the end of what the last check wrote */
    struct arena output_arena; /* of both: */
    struct value outputs, hooks;

    bool computed;                 /* a start evaluates expressions */
    struct evaluation *evaluation; /* that the engine waits for; or NULL */
    size_t evaluations;            /* that look at the launch, wanted or not */
    struct timer canceled;         /* an answer is due to one that was canceled */
    unsigned canceled_kind;
};

struct real_world {
    struct world world;
    struct real_world_options options;
    struct service_process_sink check_sink;
    struct statewatch *states;      /* NULL: nobody waits for any */
    struct shared_resolver *shared; /* of the request to start that is going on; or NULL */
    const struct environment *env;
    const struct value *flags;
    struct real_service *services;
    struct evaluation *first, **last; /* those that were asked for, the first one at work */
};

/* From real_world.c: */
/* What the process gave, as values; NULL when nothing was captured. Warns of what was dropped. */
const struct value *real_service_captured(struct real_service *own, struct arena *arena);
/* Keep the outputs of a run that ended: all of them, and what the process gave (or NULL). */
int real_service_store(struct real_service *own, const struct value *outputs,
                       const struct value *process, struct err *err);

#endif
