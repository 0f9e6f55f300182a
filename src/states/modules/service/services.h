/*
 * services - the implementation of all service.* states.
 *
 *     SERVICES_STATE, SERVICES_STATE_FIELDS      for states
 *     SERVICES_FUNCTION, services_act            for functions
 *
 * A wish has facets: running or not, enabled at boot or not, masked or not. Each is checked,
 * changed and reverted separately.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_SERVICE_SERVICES_H
#define STATES_MODULES_SERVICE_SERVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/params.h"
#include "states/provider/service/manager.h"

struct diags;
struct err;
struct state_run;
struct value;

/* Identifies a service; the arguments of functions. */
struct services_ref {
    const char *name;
    int provider;
    const char *config; /* kepler config; NULL */
};

/* The arguments of states. Each uses some of them. */
struct services_wish {
    struct services_ref ref; /* first: see services_validate */
    enum param_tristate enable;
    bool reload, full_restart, no_block, runtime, unmask;
    int64_t init_delay, timeout;
    const char *sig; /* find its processes by this text in the command line; NULL */
};

/* The goal of a state; PARAM_IS_UNSET: unmanaged. */
struct services_goal {
    enum param_tristate running, enable, masked;
    bool restarts; /* a watched change restarts */
    bool forget;   /* disabling also removes what the manager would leave behind */
};

/* clang-format off */
#define SERVICES_REF(type, prefix)                                                                                                      \
    PARAM("name", STR, type, prefix name, "the service", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "service"),                 \
    PARAM("provider", CHOICE, type, prefix provider, "the service manager (default: that of the machine)",                                \
          .choices = service_manager_choices, .default_text = "auto"),                                                                  \
    PARAM("config", PATH, type, prefix config, "kepler: the config of the service (default: the only one that has it)")
/* clang-format on */

/* Parameters and arguments of a function that takes only a service. */
extern const struct param services_ref_params[];
#define SERVICES_FUNCTION                                                                          \
    .params = services_ref_params, .args_size = sizeof(struct services_ref),                       \
    .validate = services_validate

/* For states that take nothing else, and for those that also take 'runtime'. */
extern const struct param services_plain_params[], services_mask_params[];

/* The functions of a state whose arguments are a services_wish, for this goal. */
#define SERVICES_STATE(goal)                                                                       \
    static int state_check(struct state_run *run, const void *args, struct err *err)               \
    {                                                                                              \
        return services_check(run, args, &(goal), err);                                            \
    }                                                                                              \
    static int state_apply(struct state_run *run, const void *args, struct err *err)               \
    {                                                                                              \
        return services_apply(run, args, &(goal), err);                                            \
    }                                                                                              \
    static int state_revert(struct state_run *run, const void *args, struct err *err)              \
    {                                                                                              \
        return services_revert(run, args, &(goal), err);                                           \
    }
/* Called as a function, such a state returns whether the goal is met. */
#define SERVICES_ANSWER(goal)                                                                      \
    static int state_call(struct state_run *run, const void *args, struct value *ret,              \
                          struct err *err)                                                         \
    {                                                                                              \
        return services_answer(run, args, &(goal), ret, err);                                      \
    }
/* Details of a state that is MODULE_ASKS. */
#define SERVICES_ASKS                                                                              \
    "Called by its name, by a template or on a command line, it only returns whether that is the " \
    "case; 'state.single' applies it."
#define SERVICES_STATE_FIELDS                                                                      \
    .args_size = sizeof(struct services_wish), .validate = services_validate,                      \
    .check = state_check, .apply = state_apply, .revert = state_revert

/* For arguments that begin with a services_ref. */
int services_validate(const void *args, const struct value *where, struct diags *diags);
int services_check(struct state_run *run, const struct services_wish *wish,
                   const struct services_goal *goal, struct err *err);
int services_apply(struct state_run *run, const struct services_wish *wish,
                   const struct services_goal *goal, struct err *err);
int services_answer(struct state_run *run, const struct services_wish *wish,
                    const struct services_goal *goal, struct value *ret, struct err *err);
int services_revert(struct state_run *run, const struct services_wish *wish,
                    const struct services_goal *goal, struct err *err);

/* For functions: the status of a service. */
int services_look(struct state_run *run, const struct services_ref *ref, struct service_status *ret,
                  struct err *err);
/* The same and one action, which returns "started nginx"; an unknown service is an error. */
int services_act(struct state_run *run, const struct services_ref *ref, enum service_action action,
                 struct value *ret, struct err *err);

#endif
