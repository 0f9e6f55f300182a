/*
 * service - one service: its status, its process, and its current routine.
 *
 * The life of a service is a table of status x event (service.c). Multi-step procedures (a start,
 * a stop, a restart) are routines: lists of operations, some of which end at once and some wait
 * for an event (routine.c). Actions and operations change their own service only; engine_step
 * decides the consequences for its neighbours, by draining the queue of changed services.
 *
 * Only engine.c creates services and hands them events; others read.
 *
 * Memory: all allocated with the engine; a restart allocates nothing. Threads: the loop's.
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
/* Why a service that was active under an earlier daemon counts as stopped, or ended. */
#define SERVICE_LOST      "the daemon ended without stopping it"
#define SERVICE_ENDED     "its process ended before the daemon did"
#define SERVICE_ASKER_MAX 200

enum service_event {
    EV_START,       /* requested */
    EV_STOP,        /* requested */
    EV_RESTART,     /* requested */
    EV_CLEAN,       /* all services of the stop are down: run pre_cleanup */
    EV_TURN,        /* a dependent that stops first is down */
    EV_EDGE,        /* a dependency changed */
    EV_EDGE_LATE,   /* an edge has timed out */
    EV_DEP_RESTART, /* a dependency restarts and the edge passes that on */
    EV_HOOK_DONE,   /* the hook that a routine waits for */
    EV_ANSWER,      /* the requested evaluation */
    EV_PAUSE_OVER,  /* before a restart */
    EV_EXITED,      /* the main process ended */
    EV_EMPTY,       /* the tree is empty */
    EV_GRACE_OVER,  /* it was signalled and has not ended */
    EV_HEALTHY,     /* a check passed and it was not healthy */
    EV_UNHEALTHY,   /* too many checks failed */
    EV_FILES,       /* watched files changed */
};
#define SERVICE_EVENTS (EV_FILES + 1)

/* The intended outcome. Requests set the first two; GOAL_ENDED is for the next daemon: the process
 * ended by itself, and the policy does not restart it. */
enum service_goal { GOAL_DOWN, GOAL_UP, GOAL_ENDED };
#define SERVICE_GOALS (GOAL_ENDED + 1)

/* Why it restarts. By hand there is no delay; by itself the start limit applies. */
enum restart_cause {
    RESTART_MANUAL,
    RESTART_WATCH,
    RESTART_PROPAGATED,
    RESTART_UNHEALTHY,
    RESTART_POLICY,
};

/* The current role of an edge. */
enum edge_wait {
    EDGE_IDLE,      /* not waited for */
    EDGE_CONDITION, /* until its condition holds */
    EDGE_ORDER, /* until the dependency is up again: order among services that restart together */
    EDGE_MET,   /* it held; later changes have no effect */
};

/* The processes of a service. */
enum service_tree {
    TREE_EMPTY,
    TREE_RUNNING,
    TREE_LEFTOVERS, /* the main process has ended, others of its tree have not */
};

/* On its way down? Dependencies that stop as well wait for that. */
enum service_leaving {
    STAYING,
    LEAVING,
    LEAVING_TO_RESTART, /* the first half of a restart: the old process ends */
};

/* To be done once it is down. */
enum service_due {
    DUE_NOTHING,
    DUE_START,
    DUE_CLEANUP, /* pre_cleanup, once all services of the stop are down */
};

struct service_edge {
    struct service *owner;
    struct service *target;
    const struct config_edge *config;
    enum edge_wait wait;
    bool order;  /* met as EDGE_ORDER */
    bool waived; /* not met, and not required */
    struct timer timer;
};

/* A state of this machine that the service waits for. */
struct service_state {
    struct service *owner;
    const struct config_state *config;
    bool waits;
    bool seen;       /* `changed` holds the last result; else never checked */
    int64_t changed; /* wall time of the last relevant change */
    struct timer timer;
};

/* Passed from one daemon to the next, and shown to clients. */
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
    struct service_end last_end;  /* of the last run */
    struct buf reason;            /* for skipped and failed */
    struct buf cause;             /* of the current activity */
    struct history_link by;       /* the change of another service that caused it */
    struct buf asked;             /* who requested the current or due start: " by root" */
    struct history history;

    struct service_edge *edges; /* edges to its dependencies, as in the config */
    size_t edge_count;
    struct service_edge **dependents; /* edges of its dependents */
    size_t dependent_count;
    struct service_state *states; /* states of this machine, as in the config */
    size_t state_count;
    /* The edge that decided the last evaluation of all edges: one of these, or neither. */
    const struct service_edge *decisive;
    const struct service_state *decisive_state;

    enum service_goal goal;
    const struct routine *routine; /* NULL: none */
    const struct routine *next;    /* to begin once the canceled hook has ended */
    size_t at;                     /* the waiting or running operation */
    struct hook hook;
    struct health health;
    struct timer pause, grace;

    enum service_tree tree;
    enum service_leaving leaving;
    enum service_due due;
    bool up;           /* checks and watches are on */
    bool start_failed; /* the last restart attempt did not reach a process */
    bool keep_logs;    /* for the current stop: keep lines */
    bool no_deps;      /* for the current start */
    bool ignore_if;    /* for the current start */
    bool restart_news; /* a restart began; dependents must be notified */
    bool files_on;     /* the world watches files */
    bool states_on;    /* the world watches states */
    enum restart_cause restart_cause;
    bool asking;                 /* the world evaluates something for the routine */
    struct buf answer;           /* error of that evaluation; empty: none */
    struct history_link restart; /* the change that began the last restart */
    int stop_signal;             /* 0: the config's */
    struct world_plan plan;      /* as resolved last */
    int64_t window_start;        /* start of the start limit's window */
    uint32_t window_count;       /* restarts in that window */

    uint64_t look;      /* number of the last search for imminent restarts (edge.c) */
    bool restarts_soon; /* the result of that search */
    bool look_again;    /* it waits for such a restart */

    bool queued; /* in the queue of the engine */
    struct service *queue_next;
};

/* Looks up the event in the table and acts. */
void service_handle(struct service *service, enum service_event event);

/* The only writer of the status: records history, informs the sink, queues for engine_step. */
void service_enter(struct service *service, enum status status);

/* Restores an earlier process: how it ended, and its health. */
void service_forget_run(struct service *service);
/* Prints how the last finished run ended, unless another one has ended since. */
void service_recall_run(struct service *service);

/* Sets the cause of the next change; kept until the next cause. */
void service_because(struct service *service, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same, for a consequence of another service's change. */
void service_because_of(struct service *service, struct history_link by, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
struct history_link service_latest(const struct service *service);
/* Appends to the current cause. */
void service_because_also(struct service *service, const char *fmt, ...) PRINTF_LIKE(2, 3);
void service_set_reason(struct service *service, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Appends foreign text: strips control sequences. */
void service_add_words(struct buf *words, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The result of an evaluation; NULL: success. */
void service_set_answer(struct service *service, const struct err *err);

/* A change relevant to neighbours without a change of status. */
void service_changed(struct service *service);

static inline enum status service_status(const struct service *service)
{
    return service->record.status;
}
/* Is it idle: no routine, no hook, no check, no process? */
bool service_is_idle(const struct service *service);

/* Its process has ended or its health is bad, and its policy restarts it in a moment. */
bool service_will_restart(const struct service *service);

/* Where it should end up, given everything so far. */
enum service_goal service_find_goal(const struct service *service);

/* Its facts, as edges see them. */
struct condition_facts service_facts(const struct service *service);

#endif
