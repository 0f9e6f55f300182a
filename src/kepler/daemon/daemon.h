/*
 * daemon - one process that supervises all configs of a machine, or of one user.
 *
 *     daemon_init -> daemon_listen -> recover_all -> daemon_run -> daemon_done
 *
 * One loop, a thread that writes logs (kepler/daemon/log_thread.h), workers that read them for
 * clients (kepler/daemon/stream.h, core/sys/background_task.h), and workers that evaluate
 * expressions (kepler/supervise/evaluate.h). Callbacks of processes, pipes and clients only mark
 * changes; after each turn daemon_step lets every engine settle, steps the waiting calls
 * (kepler/daemon/call.h), sends pending output to clients, and saves states. So a call never runs
 * inside another one, and the engine never changes from its own sink.
 *
 * Memory: daemon_done frees. Threads: the loop's.
 */
#ifndef KEPLER_DAEMON_DAEMON_H
#define KEPLER_DAEMON_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/arena.h"
#include "core/base/map.h"
#include "kepler/control/home.h"
#include "kepler/access/hardening.h"
#include "kepler/daemon/log_thread.h"
#include "kepler/daemon/tokens.h"
#include "core/sys/cgroup.h"
#include "core/sys/background_task.h"
#include "core/sys/filewatch.h"
#include "kepler/supervise/proctree.h"
#include "core/sys/lock.h"
#include "core/sys/loop.h"
#include "core/sys/notify.h"

struct call;
struct client;
struct engine_event;
struct project;

/* Concurrent clients; further ones wait. Per user, so that no user can lock others out: further
 * ones are rejected. */
#define DAEMON_CLIENTS_MAX      1024
#define DAEMON_CLIENTS_USER_MAX 128
/* For users who are not members but may have a token: per user, and in total. */
#define DAEMON_CLIENTS_STRANGER_MAX  16
#define DAEMON_CLIENTS_STRANGERS_MAX 256
/* Members of this group may use the system daemon. */
#define DAEMON_GROUP "kepler"

struct daemon {
    struct loop *loop;
    struct arena arena;
    struct home home;
    struct lock lock;
    struct proctree_home trees;
    struct filewatch_hub files;
    struct log_thread log_thread;             /* writes logs */
    struct background_tasks background_tasks; /* read logs, and sample resource usage */
    struct background_tasks searchers;        /* the same with SQL, which may take long */
    struct background_tasks evaluators;       /* evaluate expressions of services */
    struct background_tasks judges;           /* run authorizers */
    enum hardening hardening;                 /* minimum level of all configs */
    struct tokens tokens;                     /* of services that run */
    uint64_t serial;                          /* serial of the project opened last */
    const char *cgroup;  /* parent group of everything we start; NULL: sessions */
    struct cgroup group; /* that group, locked */
    const char *births_path;
    int child_registry;  /* for sessions: the list of all processes we started; -1: none */
    uint64_t mark;       /* for sessions: the mark in their environment */
    uint64_t started;    /* size of `trees` when it was last rewritten */
    struct map projects; /* by path */
    struct client *clients;
    size_t client_count;
    struct call *calls;
    uint64_t passes;   /* last pass over waiting calls */
    uint64_t unloaded; /* incremented when a project is removed */
    int listener;
    struct watch listen_watch;
    struct notify notify;
    struct timer door; /* clients are accepted only after that */
    size_t recovering; /* configs that workers still read: clients wait */
    struct timer pump; /* streams whose client can receive again */
    bool stopping;     /* no new work; exit when nothing runs */
    bool stopped;      /* everything has stopped */
    bool leave;        /* exit now, services continue */
    int signals;       /* who requested the shutdown */
};

/* Creates and locks the home, and ends stale processes in control groups. Fails with ERR_BUSY when
 * another daemon has the lock. */
int daemon_init(struct daemon *daemon, enum hardening hardening, struct err *err);
int daemon_listen(struct daemon *daemon, struct err *err);
/* A config from an earlier run is being read, or is done: clients are accepted when none is left,
 * since they may ask about one of them. */
void daemon_hold_door(struct daemon *daemon);
void daemon_release_door(struct daemon *daemon);
/* Runs until a shutdown is requested. */
void daemon_run(struct daemon *daemon);
void daemon_done(struct daemon *daemon);

/* Stops all services and exits, or exits now. `who` requested it. */
void daemon_stop(struct daemon *daemon, bool leave_running, const char *who);

/* NULL when it is not loaded. */
struct project *daemon_find(const struct daemon *daemon, const char *path);
void daemon_add(struct daemon *daemon, struct project *project);
/* Removes a config of which nothing runs, and notifies waiting calls. */
void daemon_unload(struct daemon *daemon, struct project *project);

/* From projects: an event happened; log lines were written. */
void daemon_tell(struct daemon *daemon, struct project *project, const struct engine_event *event);
void daemon_tell_data(struct daemon *daemon, const struct project *project);
/* Continues the streams of a project; those of all projects in the next turn. */
void daemon_pump(struct daemon *daemon, const struct project *project);
void daemon_pump_soon(struct daemon *daemon);

#endif
