/*
 * project - one loaded config: its engine, its logs, its folder on disk.
 *
 *     project_new -> project_read -> project_open -> project_start ... engine calls ... ->
 * project_free
 *
 * Belongs to the user who loaded it. The sink of its engine marks changes; the daemon checks it
 * after each turn of the loop (project_step): state is written, at most once a turn, and waiting
 * calls are stepped again.
 *
 * Memory: the heap. Threads: the loop's.
 */
#ifndef KEPLER_DAEMON_PROJECT_H
#define KEPLER_DAEMON_PROJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/sha256.h"
#include "kepler/daemon/capture.h"
#include "kepler/daemon/history_file.h"
#include "kepler/engine/engine.h"
#include "kepler/supervise/real_world.h"

struct config_source;
struct daemon;
struct monitor;
struct project;
struct diags;
struct state_file;

/* Gets each event of the engine. */
typedef void project_event_fn(struct project *project, const struct engine_event *event);

struct project {
    struct daemon *daemon;
    struct arena arena; /* config and names */
    const char *path, *folder, *logs, *metrics;
    char hash[SHA256_HEX_SIZE];
    uint64_t serial; /* unique in this daemon */
    const struct config *config;
    struct engine *engine;
    struct real_world *world;
    struct capture capture;
    struct history_file history_file;
    struct monitor *monitor;

    struct project *newer;    /* was only read: keeps the config that replaced an earlier one */
    size_t changes;           /* how often that happened */
    struct timer apply_timer; /* ends the wait of an apply */

    struct arena env_arena;
    const struct environment *env; /* the config's, with -e applied */
    const struct value *flags;     /* the config's, with -D applied */

    bool settled;          /* the engine has settled since the last check */
    bool changed;          /* the file on disk is outdated */
    bool initialized;      /* started at least once */
    bool no_snapshot;      /* from a run: until the next start */
    bool snapshot_owed;    /* write it with the state */
    bool save_failed;      /* the last write failed, and that was logged */
    bool leaving;          /* about to be unloaded: no new requests */
    bool frozen;           /* stops in order to come back: files on disk are for the next daemon */
    bool applying;         /* a call replaces the config */
    bool changing;         /* ... and that call waits until services are down */
    bool keep_lines;       /* stopped in order to be recreated: retention does not apply */
    int64_t snapshot_time; /* of the stored snapshot; 0: there is none */
    int64_t save_due;
    struct timer save_timer;
};

struct project *project_new(struct daemon *daemon);
/* Loads the config, in any thread. Mistakes in the file go to `diags`; returns -1 then. */
int project_read(struct project *project, const struct config_source *source, struct diags *diags);
/* Opens a read config without starting anything. Restores stored data of an earlier daemon: final
 * states and `initialized`. Fails on disk errors. */
int project_open(struct project *project, struct err *err);
/* Nothing of it may still run. */
void project_free(struct project *project);

/* Configs that replace others stay in memory, since running services may still use them. The way
 * back from the last one is always open. */
#define PROJECT_CHANGES_MAX 1000

/* Another version of the config will replace this one (project_change), once some services are
 * down. From here on, the files on disk are for the next daemon, which would begin with the new
 * version. Returns -1 when they cannot be written: nothing has changed then. */
int project_promise(struct project *project, const struct config *config, struct err *err);
/* Takes over `newer`, which was only read, and its config. Services that are gone or must restart
 * are down (engine_change). Returns the new number of each service. */
const uint32_t *project_change(struct project *project, struct project *newer, struct arena *arena);

/* -e, -r and -D: for all later starts. */
struct project_merge {
    struct param_strs environment; /* the caller's, for -r */
    bool refresh;
    struct param_strs overrides, flags;
};
void project_merge(struct project *project, const struct project_merge *merge);

/* Starts these, and writes the snapshot if one is due. */
void project_start(struct project *project, struct engine_set set, unsigned flags);

/* Does the config, which need not be loaded yet, have all these services? */
int project_check_names(const struct config *config, struct param_strs names, struct err *err);
/* Services by name. Fails with ERR_NOT_FOUND and a suggestion. */
int project_find(const struct project *project, struct param_strs names, struct arena *arena,
                 struct engine_set *ret_set, struct err *err);

/* Writes state.json now, or when it is due; the history always now. */
void project_save(struct project *project);
void project_save_later(struct project *project);
/* Writes it a last time: the next daemon undoes the stop that follows. */
void project_freeze(struct project *project);
/* Call before showing state to a client: a crash afterwards must not undo it. */
void project_save_told(struct project *project);
/* The content of state.json. */
struct state_file project_record(const struct project *project, struct arena *arena);

/* The number of running services. */
size_t project_running(const struct project *project);

#endif
