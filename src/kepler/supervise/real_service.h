/*
 * real_service - a service as the parts of real_world see it. Inside supervise/ only.
 */
#ifndef KEPLER_SUPERVISE_REAL_SERVICE_H
#define KEPLER_SUPERVISE_REAL_SERVICE_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/vec.h"
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
    struct arena arena; /* for the launch */
    struct launch launch;
    bool launched;
    struct process_status task_status[JOB_KINDS];
    struct arena step_arena;
    struct launch_step step;
    struct filewatch files;
    struct buf check_words;    /* the last output of the last check */
    struct arena output_arena; /* holds both: */
    struct value outputs, hooks;

    bool computed;                 /* a start evaluates expressions */
    struct evaluation *evaluation; /* that the engine waits for; or NULL */
    size_t evaluations;            /* that use the launch, wanted or not */
    struct timer canceled;         /* an answer is due to a canceled request */
    unsigned canceled_kind;
};

struct real_world {
    struct world world;
    struct real_world_options options;
    struct service_process_sink check_sink;
    struct statewatch *states;      /* NULL: no service waits for any */
    struct shared_resolver *shared; /* for the current start request; or NULL */
    const struct environment *env;
    const struct value *flags;
    struct real_service **services;   /* each stays where it is, also when its number changes */
    VEC(struct real_service *) past;  /* of services that a change removed */
    struct evaluation *first, **last; /* the queue; the first one is running */
};

/* From real_world.c: */
/* The outputs of the process; NULL when nothing was captured. Warns of dropped ones. */
const struct value *real_service_captured(struct real_service *own, struct arena *arena);
/* Stores the outputs of a run that ended: all of them, and the process's (or NULL). */
int real_service_store(struct real_service *own, const struct value *outputs,
                       const struct value *process, struct err *err);

#endif
