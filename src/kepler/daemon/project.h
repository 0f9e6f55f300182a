/*
 * project - one config that is loaded: its engine, its logs, its folder on disk.
 *
 *     project_new -> project_read -> project_open -> project_start ... engine calls ... ->
 * project_free
 *
 * Belongs to who loaded it. The sink of its engine marks what changed; the daemon checks it after
 * each turn of the loop (project_step): state is written, at most once a turn, and those who wait
 * for something are asked again.
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
    uint64_t serial; /* no other project of this daemon has it */
    const struct config *config;
    struct engine *engine;
    struct real_world *world;
    struct capture capture;
    struct history_file history_file;
    struct monitor *monitor;

    struct arena env_arena;
    const struct environment *env; /* the config's, with -e on top */
    const struct value *flags;     /* likewise with -D */

    bool settled;          /* the engine has come to rest since anybody looked */
    bool changed;          /* what is on disk is old */
    bool initialized;      /* it was started at least once */
    bool no_snapshot;      /* of a run: until the next start */
    bool snapshot_owed;    /* write it with the state */
    bool save_failed;      /* the last write failed, and that was logged */
    bool leaving;          /* it is about to be unloaded: no new requests */
    bool frozen;           /* it goes down to come back: what is on disk is for the next daemon */
    bool keep_lines;       /* it is stopped to be run anew: retention does not apply */
    int64_t snapshot_time; /* of the one on disk; 0: there is none */
    int64_t save_due;
    struct timer save_timer;
};

struct project *project_new(struct daemon *daemon);
/* Load the config, which any thread may do. Mistakes of the file go to `diags`; returns -1 then. */
int project_read(struct project *project, const struct config_source *source, struct diags *diags);
/* With a config, and without starting anything: what is stored of an earlier life is taken over,
 * states that are final and `initialized`. Fails when the disk says no. */
int project_open(struct project *project, struct err *err);
/* Nothing of it may still run. */
void project_free(struct project *project);

/* -e, -r and -D: for all starts from now on. */
struct project_merge {
    struct param_strs environment; /* of the caller, for -r */
    bool refresh;
    struct param_strs overrides, flags;
};
void project_merge(struct project *project, const struct project_merge *merge);

/* Start these, and write the snapshot if one is due. */
void project_start(struct project *project, struct engine_set set, unsigned flags);

/* Has the config, which need not be loaded yet, services with all these names? */
int project_check_names(const struct config *config, struct param_strs names, struct err *err);
/* Services by name. Fails with ERR_NOT_FOUND and a suggestion. */
int project_find(const struct project *project, struct param_strs names, struct arena *arena,
                 struct engine_set *ret_set, struct err *err);

/* Write state.json now, or when it is due; the history at once. */
void project_save(struct project *project);
void project_save_later(struct project *project);
/* Write it once more, and then no longer: what follows is a stop that the next daemon undoes. */
void project_freeze(struct project *project);
/* Called before state is shown to a client: a crash afterwards must not undo it. */
void project_save_told(struct project *project);
/* What state.json says. */
struct state_file project_record(const struct project *project, struct arena *arena);

/* How many run. */
size_t project_running(const struct project *project);

#endif
