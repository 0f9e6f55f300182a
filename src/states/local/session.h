/*
 * session - the environment of one request on this machine.
 *
 * Made from the options of `zester --local`, or by the agent for a job: state tree, facts,
 * settings, undo folder, cancel token.
 *
 * Memory: session_done releases all of it; options are borrowed. Threads: one for each session; the
 * engine has its own.
 */
#ifndef STATES_LOCAL_SESSION_H
#define STATES_LOCAL_SESSION_H

#include <pthread.h>

#include "core/base/arena.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "states/state/host.h"

struct cancel;
struct compile_wish;
struct state_fleet;
struct run_result;
struct state_result;
struct diags;
struct value;
struct tree;

struct plan;
struct plan_cache;
struct plan_cache_plan;

struct session_options {
    const char *states_dir, *settings_dir, *data_dir, *id;
    const char *environment; /* of top files; NULL: all */
    const char *facts_file;  /* custom facts; NULL: FACTS_FILE */
    const struct value *facts,
        *settings;                 /* NULL: collect them, and read settings from the folder */
    const struct value *grains;    /* of these facts; NULL: derived from them */
    struct plan_cache *plan_cache; /* states/local/plan_cache.h, or NULL */
    uint64_t facts_version, settings_version; /* version numbers for the plan cache; 0: unknown */
    struct cancel *cancel;                    /* ends list services; may be NULL */
    void (*log)(enum log_level level, struct str text); /* for log.*, or NULL */
    /* see states/state/host.h; NULL: no fleet */
    void (*fire)(const struct state_host *host, const char *tag, const struct state_result *result);
    void *fire_user;
    int (*send_event)(const struct state_host *host, struct arena *arena, struct state_event *event,
                      struct err *err);
    int (*basket)(const struct state_host *host, const struct state_basket *question,
                  struct arena *arena, struct value *ret, struct err *err);
    struct state_fleet *fleet; /* jobs for other machines (an orchestration), or NULL */
    bool steps_only;           /* with a fleet: see states/state/host.h */
    int64_t parallel;
    bool test, lenient, loose;
    bool is_elsewhere; /* see states/state/host.h */
};

struct session {
    struct arena arena;
    struct state_host host;
    struct tree *tree; /* NULL: no states folder is needed */
    const char *id;    /* the requested ID; NULL: the host name */
    /* Facts are collected on first use, under this lock, unless given. */
    pthread_mutex_t lock;
    struct arena facts_arena;
    struct host_facts learned;
    const struct value *early;     /* at least the id */
    struct value nothing;          /* the settings, until they are loaded */
    struct plan_cache *plan_cache; /* or NULL */
    struct plan_cache_plan *held;  /* this session's plan, if cached */
    uint64_t facts_version, settings_version;
    bool salt_tree;         /* the folder is Salt's, because ours is missing */
    bool revert_on_failure; /* see states/run/fallback.h */
};

/* The needs of a function. */
enum session_need {
    SESSION_NOTHING = 0,
    SESSION_TREE = 1,     /* the states folder must exist */
    SESSION_TREELESS = 2, /* do not open the tree */
};

/* The data folder of this user: the system folder for root, in their home for others; never where
 * other users could plant before-images for a revert. */
int session_find_data_dir(struct arena *arena, const char **ret_folder, struct diags *diags);

/* The states and settings folders: the given one; else ours; else Salt's, if only that exists. */
const char *session_find_states(const char *given);
const char *session_find_settings(const char *given);

int session_init(struct session *session, const struct session_options *given,
                 enum session_need need, struct diags *diags);
void session_done(struct session *session);

/* The plan of a request, compiled or cached. Valid until session_done. */
int session_compile(struct session *session, const struct compile_wish *wish,
                    const struct plan **ret_plan, struct diags *diags);

/* Rewrite file names in diagnostics to paths that can be opened. */
void session_open_paths(const struct session *session, struct diags *diags);
/* The same for the positions of failed states. */
void session_open_results(const struct session *session, struct arena *arena,
                          struct run_result *result);
/* Mask secrets in diagnostics, which quote their input. */
void session_mask_diags(const struct session *session, struct diags *diags);
/* Mask the !secret values from here on. */
void session_hide_secrets(const struct session *session, const struct value *v);

#endif
