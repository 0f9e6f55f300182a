/*
 * top_model - what is known of a fleet at the moment: machines, jobs, events, reactions, lag.
 *
 * Messages of the bus go in, in any order, and a frame is drawn from it
 * (commands/cli/fleet/top/frame.h). It keeps the newest TOP_ROWS of each list, in texts of fixed
 * size, and machines as long as there are heartbeats or facts of them, so that it can run for
 * weeks. Texts come from machines and must be escaped when shown.
 *
 * Pure: time is handed in. Memory: top_model_done. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_TOP_MODEL_H
#define COMMANDS_CLI_FLEET_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "commands/cli/fleet/peels.h"
#include "fleet/wire/job.h"

struct event;
struct event_source;
struct nats_kv_entry;
struct outcome;

#define TOP_ROWS      500
#define TOP_TEXT_SIZE 128
#define TOP_MASTERS   32
/* Seconds over which the rate of events is measured. */
#define TOP_RATE_SECONDS 10
/* Summaries of runs that are replaced before the memory of the old ones is given back. */
#define TOP_STALE_RUNS 10000

struct top_job {
    char jid[TOP_TEXT_SIZE], function[TOP_TEXT_SIZE], target[TOP_TEXT_SIZE], user[TOP_TEXT_SIZE];
    enum job_status status;
    int64_t created; /* wall time in nanoseconds */
    uint32_t targets, returned, succeeded;
};

struct top_event {
    char key[TOP_TEXT_SIZE], id[TOP_TEXT_SIZE];
    int64_t time;
    int32_t depth;
};

struct top_reaction {
    char rule[TOP_TEXT_SIZE], result[TOP_TEXT_SIZE], key[TOP_TEXT_SIZE], event[TOP_TEXT_SIZE];
    int64_t time;
};

struct top_master {
    char id[TOP_TEXT_SIZE];
    int64_t seen;
    uint32_t jobs;
};

struct top_model {
    struct arena arenas[2]; /* of the machines: the one in use, and the next */
    unsigned current;
    struct fleet_peels peels;
    size_t stale;

    struct top_job jobs[TOP_ROWS]; /* newest first */
    struct top_event events[TOP_ROWS];
    struct top_reaction reactions[TOP_ROWS];
    size_t job_count, event_count, reaction_count;

    struct top_master masters[TOP_MASTERS];
    size_t master_count;

    uint32_t seconds[TOP_RATE_SECONDS]; /* events of each of the last seconds */
    int64_t last_second;

    bool has_lag;             /* known from the reactor */
    int64_t waiting, pending; /* events that no master has seen yet; that one works on */
};

/* On the heap: it is large. */
struct top_model *top_model_new(void);
/* NULL is fine. */
void top_model_free(struct top_model *model);

void top_model_take_facts(struct top_model *model, const struct nats_kv_entry *entry);
void top_model_take_beat(struct top_model *model, const struct nats_kv_entry *entry);
void top_model_take_master(struct top_model *model, const struct nats_kv_entry *entry);
/* The record of a job, as it is now. */
void top_model_take_job(struct top_model *model, const struct job *job);
/* A peel has answered a job that runs: counted until its record has the number. */
void top_model_count_return(struct top_model *model, struct str jid);
/* `time` is when it was stored. */
void top_model_take_event(struct top_model *model, const struct event_source *source,
                          const struct event *event, int64_t time);
/* One row for each rule; a row without a rule for what was dropped. */
void top_model_take_outcome(struct top_model *model, const struct outcome *outcome);
void top_model_set_lag(struct top_model *model, int64_t waiting, int64_t pending);

/* Events a second, over the last TOP_RATE_SECONDS. */
double top_model_rate(const struct top_model *model, int64_t now);
size_t top_model_count_active(const struct top_model *model);
size_t top_model_count_masters(const struct top_model *model, int64_t now);

#endif
