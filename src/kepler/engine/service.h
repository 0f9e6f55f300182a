/*
 * service - one service: its status, its process, and what it is doing about it.
 *
 * The life of a service is a table of status x event (service.c). What takes
 * several steps (a start, a stop, a restart) is a routine: a list of operations,
 * of which some end at once and some wait for an event (routine.c). Actions and
 * operations change their own service only; what follows for its neighbours is
 * decided in engine_step, which drains the queue of services that changed.
 *
 * Only engine.c makes services and hands them events; others read.
 *
 * Memory: all of it is made when the engine is; a restart allocates nothing.
 * Threads: the loop's.
 */
#ifndef KEPLER_ENGINE_SERVICE_H
#define KEPLER_ENGINE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "kepler/config/config.h"
#include "kepler/engine/event.h"
#include "kepler/engine/health.h"
#include "kepler/engine/history.h"
#include "kepler/engine/hook.h"
#include "kepler/config/status.h"
#include "kepler/engine/world.h"
#include "core/sys/timers.h"

struct engine;
struct routine;
struct service;

#define SERVICE_REASON_MAX 1000
/* Why a service that was active in an earlier life of the daemon counts as stopped, or ended. */
#define SERVICE_LOST      "the daemon ended without stopping it"
#define SERVICE_ENDED     "its process ended before the daemon did"
#define SERVICE_ASKER_MAX 200

enum service_event {
    EV_START,       /* asked for */
    EV_STOP,        /* asked for */
    EV_RESTART,     /* asked for */
    EV_CLEAN,       /* all that had to go down are: run pre_cleanup */
    EV_TURN,        /* a dependent that went down first is down */
    EV_EDGE,        /* a dependency changed */
    EV_EDGE_LATE,   /* the timeout of an edge is over */
    EV_DEP_RESTART, /* a dependency restarts and the edge passes that on */
    EV_HOOK_DONE,   /* the hook that a routine waits for */
    EV_ANSWER,      /* what the world was asked to evaluate */
    EV_PAUSE_OVER,  /* before a restart */
    EV_EXITED,      /* the main process ended */
    EV_EMPTY,       /* nothing of the tree is left */
    EV_GRACE_OVER,  /* it was asked to end and has not */
    EV_HEALTHY,     /* a health check passed and it was not healthy */
    EV_UNHEALTHY,   /* too many checks failed */
    EV_FILES,       /* watched files changed */
};
#define SERVICE_EVENTS (EV_FILES + 1)

/* Where a service should end up. Requests set the first two; GOAL_ENDED is for the next daemon: its
 * process ended by itself, and its policy does not start it again. */
enum service_goal { GOAL_DOWN, GOAL_UP, GOAL_ENDED };
#define SERVICE_GOALS (GOAL_ENDED + 1)

/* Why it is being restarted. By hand there is no pause; by itself the start limit counts. */
enum restart_cause {
    RESTART_MANUAL,
    RESTART_WATCH,
    RESTART_PROPAGATED,
    RESTART_UNHEALTHY,
    RESTART_POLICY,
};

/* How long an edge counts. */
enum edge_wait {
    EDGE_IDLE,      /* not waited for */
    EDGE_CONDITION, /* until its condition holds */
    EDGE_ORDER,     /* until the dependency is up again: order among services restarted together */
    EDGE_MET,       /* it held; it may change its mind without effect */
};

struct service_edge {
    struct service *owner;
    struct service *target;
    const struct config_edge *config;
    enum edge_wait wait;
    bool order;  /* it was met as EDGE_ORDER */
    bool waived; /* it was not met, and is not required */
    struct timer timer;
};

/* A state of this machine that the service waits for. */
struct service_state {
    struct service *owner;
    const struct config_state *config;
    bool waits;
    bool seen;       /* `changed` is what was found; else it was never looked at */
    int64_t changed; /* wall time of the last change that counts */
    struct timer timer;
};

/* What is passed from one daemon to the next, and shown to clients. */
struct service_record {
    enum status status;
    pid_t pid;                      /* 0: none */
    int64_t started_at, stopped_at; /* wall time; 0: never, or not now */
    bool has_exit_code;
    int exit_code;
    int signal;
    uint32_t restarts, restarts_since_healthy;
    uint32_t check_failures;
    bool initialized, was_healthy;
};

/* How a process ended. */
struct service_end {
    bool has_exit_code;
    int exit_code;
    int signal;
};

struct service {
    struct engine *engine;
    uint32_t index;
    const struct config_service *config;

    struct service_record record; /* record.status has one writer: service_enter */
    struct service_end last_end;  /* of the run that was forgotten last */
    struct buf reason;            /* of skipped and failed */
    struct buf cause;             /* of what is going on */
    struct history_link by;       /* the change of another service that is the cause of it */
    struct buf asked;             /* who asked for the start that is going on, or due: " by root" */
    struct history history;

    struct service_edge *edges; /* to its dependencies, as in the configuration */
    size_t edge_count;
    struct service_edge **dependents; /* edges of others that point here */
    size_t dependent_count;
    struct service_state *states; /* of this machine, as in the configuration */
    size_t state_count;
    /* What the last look at the edges turned on: one of them, or neither. */
    const struct service_edge *decisive;
    const struct service_state *decisive_state;

    enum service_goal goal;
    const struct routine *routine; /* NULL: nothing is going on */
    const struct routine *next;    /* to begin once the hook that is being ended has ended */
    size_t at;                     /* the operation that waits, or is being done */
    struct hook hook;
    struct health health;
    struct timer pause, grace;

    bool alive;        /* something of the tree is left */
    bool exited;       /* the main process has ended */
    bool up;           /* checks and watches are on */
    bool leaving;      /* on its way down: its dependencies wait for that */
    bool going_down;   /* a restart has not come to its turning point */
    bool start_due;    /* start once it is down */
    bool clean_due;    /* run pre_cleanup once all that are stopped with it are down */
    bool start_failed; /* the last try to restart did not get as far as a process */
    bool keep_logs;    /* of the stop that is going on: lines stay */
    bool no_deps;      /* of the start that is going on */
    bool ignore_if;    /* likewise */
    bool restart_news; /* a restart began; dependents must learn of it */
    bool files_on;     /* the world watches files */
    bool states_on;    /* the world watches states */
    enum restart_cause restart_cause;
    bool asking;                 /* the world evaluates something for the routine */
    struct buf answer;           /* what went wrong with that; empty: nothing */
    struct history_link restart; /* the change that began the last restart */
    int stop_signal;             /* 0: the configuration's */
    struct world_plan plan;      /* as resolved last */
    int64_t window_start;        /* of the start limit */
    uint32_t window_count;       /* restarts in it */

    uint64_t look;      /* number of the last look for restarts to come (edge.c) */
    bool restarts_soon; /* what it found */
    bool look_again;    /* it waits for such a restart */

    bool queued; /* in the queue of the engine */
    struct service *queue_next;
};

/* The table: what this event means now. */
void service_handle(struct service *service, enum service_event event);

/* The only writer of the status: keeps history, informs the sink, queues for engine_step. */
void service_enter(struct service *service, enum status status);

/* What was known of the process before: how it ended, how healthy it was. */
void service_forget_run(struct service *service);
/* How the run ended that was forgotten last, unless another one has ended since. */
void service_recall_run(struct service *service);

/* Why the next change happens, in words; kept until the next cause. */
void service_because(struct service *service, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same, and it follows from a change of another service. */
void service_because_of(struct service *service, struct history_link by, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
struct history_link service_latest(const struct service *service);
/* More words for the cause that is there. */
void service_because_also(struct service *service, const char *fmt, ...) PRINTF_LIKE(2, 3);
void service_set_reason(struct service *service, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Append words from anywhere: what would do something to a terminal is taken out. */
void service_add_words(struct buf *words, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* How an evaluation went; NULL: well. */
void service_set_answer(struct service *service, const struct err *err);

/* Something that neighbours care about changed, though the status did not. */
void service_changed(struct service *service);

static inline enum status service_status(const struct service *service)
{
    return service->record.status;
}
/* Nothing is going on: no routine, no hook, no check, no process. */
bool service_is_idle(const struct service *service);

/* Its process has ended or its health is bad, and its policy restarts it in a moment. */
bool service_will_restart(const struct service *service);

/* Where it should end up, all that has happened considered. */
enum service_goal service_find_goal(const struct service *service);

/* What an edge may know of it. */
struct condition_facts service_facts(const struct service *service);

#endif
