/*
 * real_world - the engine's world, made of processes, files and a loop.
 *
 *     real_world_new -> engine_new(config, real_world_base(world), sink)
 *                    -> ... -> engine_free -> real_world_free
 *
 * Each service has three service processes: its main process, the running hook step, and the
 * running health check. Their control groups are named `group`.SERVICE.KIND. The output of the
 * first two goes to the sink of the options, tagged with a `struct real_tag`; the end of a check's
 * output is kept, to explain its failure. Leftover processes of a hook step or check are killed
 * when it ends.
 *
 * Memory: real_world_free. Whatever the options point to must live as long. Threads: the loop's.
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

/* The writer of a line. */
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
        *background_tasks; /* workers that evaluate expressions; NULL: evaluate synchronously */
    const struct config *config;
    const char *group;                /* prefix of control group names */
    const char *outputs;              /* folder of outputs; NULL: not kept on disk */
    const char *env_files;            /* folder with copies of env files; NULL: none */
    struct service_process_sink sink; /* tags are struct real_tag */
    /* Variables of a service that may send requests to the daemon (kepler/daemon/tokens.h): its
     * token, from its first process until `revoke`. NULL: no permissions. `lend` NULL: none for any
     * service. */
    const char *(*lend)(void *lender, uint32_t service);
    void (*revoke)(void *lender, uint32_t service);
    void *lender;
    const char *token_name, *socket_name, *socket;
    /* Lines of the engine's own, with sink.self; NULL: not wanted. */
    void (*note)(void *self, const struct real_tag *tag, enum world_note note, const char *text);
};

struct real_world *real_world_new(const struct real_world_options *options);
/* Running processes are abandoned: stop them first. NULL is fine. */
void real_world_free(struct real_world *real);

/* The world for engine_new. */
struct world *real_world_base(struct real_world *real);

/* Used from the next start of each service; NULL: the config's. Kept, not copied. */
void real_world_set_env(struct real_world *real, const struct environment *env);
void real_world_set_flags(struct real_world *real, const struct value *flags);

/* The launch of the last start; NULL: never started here. Valid until the next start. */
const struct launch *real_world_launch(const struct real_world *real, uint32_t service);
/* The control group folder of its process, valid until it ends; NULL: it has none. */
const char *real_world_group(const struct real_world *real, uint32_t service);
/* A map of texts, and PHASE -> "outputs" -> STEP -> map of texts. Valid until the next call. */
struct value real_world_outputs(const struct real_world *real, uint32_t service);
struct value real_world_hooks(const struct real_world *real, uint32_t service);

#endif
