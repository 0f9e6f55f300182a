/*
 * services - what service.* states want of a service, in one place.
 *
 *     SERVICES_STATE, SERVICES_STATE_FIELDS      for states
 *     SERVICES_FUNCTION, services_act            for functions
 *
 * A wish has facets: runs or does not, starts with the machine or does not, masked or
 * not. Each is looked at, mended and taken back by itself.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef MODULES_SERVICE_SERVICES_H
#define MODULES_SERVICE_SERVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "data/params.h"
#include "provider/service/manager.h"

struct diags;
struct err;
struct state_run;
struct value;

/* Which service; the arguments of functions. */
struct services_ref {
    const char *name;
    int provider;
    const char *config; /* of kepler; NULL */
};

/* The arguments of states. Each takes some of them. */
struct services_wish {
    struct services_ref ref; /* first: see services_validate */
    enum param_tristate enable;
    bool reload, full_restart, no_block, runtime, unmask;
    int64_t init_delay, timeout;
    const char *sig; /* what runs is found by this text of a command line; NULL */
};

/* What a state is for; PARAM_IS_UNSET: it does not care. */
struct services_goal {
    enum param_tristate running, enable, masked;
    bool restarts; /* a watched change restarts */
    bool forget;   /* disabling leaves nothing behind, where the manager would leave something */
};

/* clang-format off */
#define SERVICES_REF(type, prefix)                                                                                                      \
    PARAM("name", STR, type, prefix name, "the service", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "service"),                 \
    PARAM("provider", CHOICE, type, prefix provider, "the service manager; without: that of the machine",                                \
          .choices = service_manager_choices, .default_text = "auto"),                                                                  \
    PARAM("config", PATH, type, prefix config, "kepler: the file that the service stands in; without: the only one that has it")
/* clang-format on */

/* Parameters and arguments of a function that takes a service and nothing else. */
extern const struct param services_ref_params[];
#define SERVICES_FUNCTION                                                                          \
    .params = services_ref_params, .args_size = sizeof(struct services_ref),                       \
    .validate = services_validate

/* Of states that take nothing else, and of those that also take 'runtime'. */
extern const struct param services_plain_params[], services_mask_params[];

/* A state whose arguments are a services_wish: its functions, for this goal. */
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
/* As a function such a state tells whether it is so. */
#define SERVICES_ANSWER(goal)                                                                      \
    static int state_call(struct state_run *run, const void *args, struct value *ret,              \
                          struct err *err)                                                         \
    {                                                                                              \
        return services_answer(run, args, &(goal), ret, err);                                      \
    }
#define SERVICES_STATE_FIELDS                                                                      \
    .args_size = sizeof(struct services_wish), .validate = services_validate,                      \
    .check = state_check, .apply = state_apply, .revert = state_revert

/* Of arguments that begin with a services_ref. */
int services_validate(const void *args, const struct value *where, struct diags *diags);
int services_check(struct state_run *run, const struct services_wish *wish,
                   const struct services_goal *goal, struct err *err);
int services_apply(struct state_run *run, const struct services_wish *wish,
                   const struct services_goal *goal, struct err *err);
int services_answer(struct state_run *run, const struct services_wish *wish,
                    const struct services_goal *goal, struct value *ret, struct err *err);
int services_revert(struct state_run *run, const struct services_wish *wish,
                    const struct services_goal *goal, struct err *err);

/* For functions: how a service is. */
int services_look(struct state_run *run, const struct services_ref *ref, struct service_status *ret,
                  struct err *err);
/* The same and one action, answered by "started nginx"; an unknown service is an error. */
int services_act(struct state_run *run, const struct services_ref *ref, enum service_action action,
                 struct value *ret, struct err *err);

#endif
