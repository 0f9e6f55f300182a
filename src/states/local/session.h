/*
 * session - this machine, as the state engine sees it, for one request.
 *
 * Made from the options of `zester --local`, or by the agent for a job: the tree of state files,
 * facts, settings, where undo data is kept, and the token that ends it.
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
    const char *environment;              /* of top files; NULL: all of them */
    const char *facts_file;               /* of the administrator; NULL: FACTS_FILE */
    const struct value *facts, *settings; /* NULL: collected, and read from the folder */
    const struct value *grains;           /* of these facts; NULL: made from them */
    struct plan_cache *plan_cache; /* states/local/plan_cache.h: plans of before; NULL: none */
    uint64_t facts_version, settings_version;           /* numbers for the shelf; 0: not known */
    struct cancel *cancel;                              /* ends list services; may be NULL */
    void (*log)(enum log_level level, struct str text); /* of log.*; NULL: nobody listens */
    /* see states/state/host.h; NULL: there is no fleet */
    void (*fire)(const struct state_host *host, const char *tag, const struct state_result *result);
    void *fire_user;
    int (*send_event)(const struct state_host *host, struct arena *arena, struct state_event *event,
                      struct err *err);
    int (*basket)(const struct state_host *host, const struct state_basket *question,
                  struct arena *arena, struct value *ret, struct err *err);
    struct state_fleet *fleet; /* jobs for other machines: an orchestration; NULL: none */
    bool steps_only;           /* with a fleet: see states/state/host.h */
    int64_t parallel;
    bool test, lenient, loose;
};

struct session {
    struct arena arena;
    struct state_host host;
    struct tree *tree; /* NULL: no states folder is needed */
    const char *id;    /* that was asked for; NULL: the host name */
    /* Facts that nobody gave are collected when they are first asked for, under this lock. */
    pthread_mutex_t lock;
    struct arena facts_arena;
    struct host_facts learned;
    const struct value *early;     /* at least the id */
    struct value nothing;          /* the settings, until they are known */
    struct plan_cache *plan_cache; /* or NULL */
    struct plan_cache_plan *held;  /* the plan of this session, if it came from there */
    uint64_t facts_version, settings_version;
    bool salt_tree;         /* the folder is Salt's, used because ours is missing */
    bool revert_on_failure; /* see states/run/fallback.h */
};

/* What a function needs from the machine. */
enum session_need {
    SESSION_NOTHING = 0,
    SESSION_TREE = 1,     /* the folder of states must exist */
    SESSION_TREELESS = 2, /* no tree is opened */
};

/* The data folder of this user: root keeps its data in the system folder, others in their home;
 * never where others could plant before-images that a revert would restore. */
int session_find_data_dir(struct arena *arena, const char **ret_folder, struct diags *diags);

/* The folders of states and of settings: the given one; else ours; else Salt's, when only that
 * exists. */
const char *session_find_states(const char *given);
const char *session_find_settings(const char *given);

int session_init(struct session *session, const struct session_options *options,
                 enum session_need need, struct diags *diags);
void session_done(struct session *session);

/* The plan of a request: compiled, or one of before. It lives as long as the session. */
int session_compile(struct session *session, const struct compile_wish *wish,
                    const struct plan **ret_plan, struct diags *diags);

/* Mistakes in state files: name each file by a path that can be opened. */
void session_open_paths(const struct session *session, struct diags *diags);
/* The same for places of states that failed. */
void session_open_results(const struct session *session, struct arena *arena,
                          struct run_result *result);
/* Diagnostics quote their input: mask secrets in it. */
void session_mask_diags(const struct session *session, struct diags *diags);
/* Hide what is marked !secret in the value from now on. */
void session_hide_secrets(const struct session *session, const struct value *v);

#endif
