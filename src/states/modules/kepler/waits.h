/*
 * waits - what kepler.* states share: waiting for services of the orchestrator.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_KEPLER_WAITS_H
#define STATES_MODULES_KEPLER_WAITS_H

#include "states/provider/orchestrator.h"

struct err;
struct state_run;
struct value;

/* How long states wait for a condition. */
#define WAITS_TIMEOUT "60s"

/* Nothing has to be changed: does the condition hold now? If not, apply has to wait for it; a dry
 * run says so. `what` is for messages. */
int waits_check(struct state_run *run, const struct tool *tool,
                const struct orchestrator_wait *wait, const char *what, struct err *err);
/* Wait; fails with what is missing. */
int waits_until(struct state_run *run, const struct tool *tool,
                const struct orchestrator_wait *wait, const char *what, struct err *err);

/* How a service stands, by its status of the daemon. */
enum waits_standing {
    WAITS_UP,      /* it runs, or is on its way to it */
    WAITS_THROUGH, /* it has completed, or was skipped: it has done its part */
    WAITS_DOWN,    /* it was stopped, has failed or was killed */
};
enum waits_standing waits_standing(const struct value *status);

/* The loaded config and its running services, for waits_restore: a map for state_note. */
struct value waits_describe(struct state_run *run, const struct orchestrator_config *config);
/* Run the described config with its old text, without the services that were down. Its file must be
 * there, with any text. */
int waits_restore(struct state_run *run, const struct tool *tool, const char *config,
                  const struct value *described, struct err *err);

/* The texts of a list; NULL is an empty one. */
struct param_strs waits_texts(struct arena *arena, const struct value *list);

#endif
