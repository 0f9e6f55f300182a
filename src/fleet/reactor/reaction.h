/*
 * reaction - turns a reaction file and an event into a list of actions.
 *
 * The file is a template. It sees `event` with id, tag, peel (empty for masters and operators),
 * origin, depth, ts and data; `tag` and `data`, which are the same as in `event`; and
 * `origin_facts`, the facts of the peel; and `outcomes` (fleet/reactor/awaited.h). Nothing else: no
 * modules, no files, no randomness, since a redelivered event must get the same actions. The file
 * renders to a map of blocks, each with one action; an empty one has no actions. After any mistake
 * there are none.
 *
 * A file that uses outcomes is read again whenever a job that it waits for has ended. Before it
 * runs, it is rehearsed with every possible end of its jobs.
 *
 *     struct reaction_env *env = reaction_env_new(&options);      one for each thread
 *     status = reaction_read(env, &arena, rule->file, &event, &reaction, &diags);
 *
 * Pure: the clock is handed in. Memory: an environment caches parsed templates; actions are in the
 * arena. Threads: one at a time for each environment.
 */
#ifndef FLEET_REACTOR_REACTION_H
#define FLEET_REACTOR_REACTION_H

#include "core/base/vec.h"
#include "fleet/reactor/action.h"
#include "fleet/wire/event.h"

struct diags;
struct reaction_env;
struct rule_file;

#define REACTION_TIME_MAX    (INT64_C(30) * 1000000000)
#define REACTION_TEXT_MAX    ((size_t)1 << 20)  /* bytes of the rendered text */
#define REACTION_MEMORY_MAX  ((size_t)64 << 20) /* of a rendering */
#define REACTION_ACTIONS_MAX 256
#define REACTION_WAITS_MAX   16 /* waiting blocks */

struct reaction_options {
    int64_t (*now)(void *user);     /* monotonic nanoseconds; NULL: no time limit */
    bool (*is_stopped)(void *user); /* end a rendering early; NULL: never */
    void *user;
    const struct value *groups; /* of targets; NULL: none. Borrowed */
    bool lenient;               /* missing values are empty: for reaction_check */
};

struct reaction_env *reaction_env_new(const struct reaction_options *options);
void reaction_env_free(struct reaction_env *env);

/* The event for the template. */
struct reaction_event {
    const struct event_source *source;
    const struct event *event;
    const struct value *facts;    /* of the peel, a map; NULL: none */
    const struct value *outcomes; /* of ended blocks, a map; NULL: nothing has run yet */
};

enum reaction_status { REACTION_OK, REACTION_RENDER_ERROR, REACTION_VALIDATE_ERROR };

struct reaction {
    VEC(struct action) actions; /* in the order of the file */
    size_t sure;                /* the rest depends on unknown outcomes; 0: none does */
};

/* All mistakes are in `diags`. */
enum reaction_status reaction_read(struct reaction_env *env, struct arena *arena,
                                   const struct rule_file *file, const struct reaction_event *event,
                                   struct reaction *ret_reaction, struct diags *diags);

/* Must it be read again after a job that it waits for? */
bool reaction_uses_outcomes(const struct rule_file *file);

/* Checks a file without an event, in a lenient environment: completely if it is not a template;
 * else its syntax, the names of actions and fields rendered without data, and the lines without
 * expressions in blocks without statements. `ret_reaction` gets the valid actions. */
int reaction_check(struct reaction_env *env, struct arena *arena, const struct rule_file *file,
                   struct reaction *ret_reaction, struct diags *diags);

#endif
