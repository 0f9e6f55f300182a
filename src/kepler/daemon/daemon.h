/*
 * daemon - one process that supervises all configs of a machine, or of one user.
 *
 *     daemon_init -> daemon_listen -> recover_all -> daemon_run -> daemon_done
 *
 * One loop, a thread that writes logs (kepler/daemon/log_thread.h), workers that read them for
 * clients (kepler/daemon/stream.h, core/sys/background_task.h), and workers that evaluate
 * expressions (kepler/supervise/evaluate.h). Callbacks of processes, pipes and clients mark what
 * changed; after each turn daemon_step lets every engine settle, asks the calls that wait
 * (kepler/daemon/call.h), writes what clients are owed, and saves states. So a call never runs in
 * the middle of another one, and the engine is never changed from its own sink.
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

struct call;
struct client;
struct engine_event;
struct project;

/* Clients at once; the next one waits. Of one user, so that they cannot lock others out: the next
 * one is rejected. */
#define DAEMON_CLIENTS_MAX      1024
#define DAEMON_CLIENTS_USER_MAX 128
/* Of users who are not members and may have a token: of one, and of all. */
#define DAEMON_CLIENTS_STRANGER_MAX  16
#define DAEMON_CLIENTS_STRANGERS_MAX 256
/* Members of this group may use the daemon of the system. */
#define DAEMON_GROUP "kepler"

struct daemon {
    struct loop *loop;
    struct arena arena;
    struct home home;
    struct lock lock;
    struct proctree_home trees;
    struct filewatch_hub files;
    struct log_thread log_thread;             /* writes logs */
    struct background_tasks background_tasks; /* read them, and look at what services use */
    struct background_tasks searchers;        /* the same with SQL, which may take long */
    struct background_tasks evaluators;       /* evaluate expressions of services */
    struct background_tasks judges;           /* ask authorizers */
    enum hardening hardening;                 /* of all configs, at least */
    struct tokens tokens;                     /* of services that run */
    uint64_t serial;                          /* of the project that was opened last */
    const char *cgroup;                       /* all that we start is below; NULL: sessions */
    struct cgroup group;                      /* that one, locked */
    const char *births_path;
    int child_registry;  /* for sessions: the list of all that we started; -1: none */
    uint64_t mark;       /* likewise: what is in their environment */
    uint64_t started;    /* of `trees`, when the list was last written anew */
    struct map projects; /* by path */
    struct client *clients;
    size_t client_count;
    struct call *calls;
    uint64_t passes;   /* of asking calls */
    uint64_t unloaded; /* grows when a project goes */
    int listener;
    struct watch listen_watch;
    struct timer door; /* nobody is accepted until then */
    size_t recovering; /* configs that workers still read: clients wait */
    struct timer pump; /* streams whose client has room again */
    bool stopping;     /* no new work; end when nothing runs */
    bool stopped;      /* all is down */
    bool leave;        /* end at once, services run on */
    int signals;       /* that asked us to end */
};

/* Makes the home, takes its lock, ends what an earlier daemon left in control groups. Fails with
 * ERR_BUSY when another daemon has it. */
int daemon_init(struct daemon *daemon, enum hardening hardening, struct err *err);
int daemon_listen(struct daemon *daemon, struct err *err);
/* A config is being read that ran before, or that is done: clients are accepted when none is left,
 * since until then what they ask about may not be there yet. */
void daemon_hold_door(struct daemon *daemon);
void daemon_release_door(struct daemon *daemon);
/* Until somebody asks for the end. */
void daemon_run(struct daemon *daemon);
void daemon_done(struct daemon *daemon);

/* Stop all services and end, or end at once. `who` asks for it. */
void daemon_stop(struct daemon *daemon, bool leave_running, const char *who);

/* NULL when it is not loaded. */
struct project *daemon_find(const struct daemon *daemon, const char *path);
void daemon_add(struct daemon *daemon, struct project *project);
/* Forget a config of which nothing runs. Waiting calls are notified. */
void daemon_unload(struct daemon *daemon, struct project *project);

/* From projects: something happened; something was written to the logs. */
void daemon_tell(struct daemon *daemon, struct project *project, const struct engine_event *event);
void daemon_tell_data(struct daemon *daemon, const struct project *project);
/* Go on with the streams of a project; with all of them in the next turn. */
void daemon_pump(struct daemon *daemon, const struct project *project);
void daemon_pump_soon(struct daemon *daemon);

#endif
