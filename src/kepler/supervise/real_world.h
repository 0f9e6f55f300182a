/*
 * real_world - the world of the engine, made of processes, files and a loop.
 *
 *     real_world_new -> engine_new(config, real_world_base(world), sink)
 *                    -> ... -> engine_free -> real_world_free
 *
 * Each service has three service processs: its process, the step of a hook that runs, and the
 * health check that runs. Their control groups are named `group`.SERVICE.KIND.
 * What the first two write goes to the sink of the options, with a `struct
 * real_tag` to tell them apart; of what a check writes the end is kept, for why it failed. What a
 * hook step or a check leaves behind when it ends is killed.
 *
 * Memory: real_world_free. What the options point to lives as long. Threads: the
 * loop's.
 */
#ifndef KEPLER_SUPERVISE_REAL_WORLD_H
#define KEPLER_SUPERVISE_REAL_WORLD_H

#include "kepler/config/config.h"
#include "kepler/supervise/service_process.h"
#include "kepler/engine/world.h"

struct engine;
struct background_tasks;
struct environment;
struct filewatch_hub;
struct launch;
struct loop;
struct real_world;

/* Who writes. */
struct real_tag {
    uint32_t service;
    const char *name;
    enum hook_phase phase; /* HOOK_PHASES: the service itself */
};

struct real_world_options {
    struct loop *loop;
    struct proctree_home *home;
    struct filewatch_hub *files;
    struct background_tasks
        *background_tasks; /* workers that evaluate expressions; NULL: that is done at once */
    const struct config *config;
    const char *group;                /* what the names of control groups begin with */
    const char *outputs;              /* folder of outputs; NULL: not kept on disk */
    const char *env_files;            /* folder with copies of env files; NULL: none */
    struct service_process_sink sink; /* tags are struct real_tag */
    /* Variables of a service that may ask things of the daemon (kepler/daemon/tokens.h): its token,
     * from its first process until `revoke`. NULL: it may not. `lend` NULL: none may. */
    const char *(*lend)(void *lender, uint32_t service);
    void (*revoke)(void *lender, uint32_t service);
    void *lender;
    const char *token_name, *socket_name, *socket;
    /* Lines of the engine's own, with sink.self; NULL: not wanted. */
    void (*note)(void *self, const struct real_tag *tag, enum world_note note, const char *text);
};

struct real_world *real_world_new(const struct real_world_options *options);
/* What runs is forgotten: stop it first. NULL is fine. */
void real_world_free(struct real_world *real);

/* What the engine is made with. */
struct world *real_world_base(struct real_world *real);

/* From the next start of each service on; NULL: what the configuration says. Kept, not copied. */
void real_world_set_env(struct real_world *real, const struct environment *env);
void real_world_set_flags(struct real_world *real, const struct value *flags);

/* As resolved for the last start; NULL: it was never started here. Until the next start. */
const struct launch *real_world_launch(const struct real_world *real, uint32_t service);
/* The folder of the control group of its process, valid until it ends; NULL: it has none. */
const char *real_world_group(const struct real_world *real, uint32_t service);
/* A map of texts, and PHASE -> "outputs" -> STEP -> map of texts. Until the next call. */
struct value real_world_outputs(const struct real_world *real, uint32_t service);
struct value real_world_hooks(const struct real_world *real, uint32_t service);

#endif
