/*
 * services - what service.* states want of a service, in one place.
 *
 *     services_validate (when the state is read) -> services_check, services_apply,
 *     services_revert
 *
 * A wish has facets: runs or does not, starts with the machine or does not, masked or
 * not. Each is looked at, mended and taken back by itself.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef MODULES_SERVICES_H
#define MODULES_SERVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "data/params.h"
#include "provider/service.h"

struct diags;
struct err;
struct state_run;
struct value;

struct services_wish {
    const char *name;
    int provider;
    enum param_tristate running, enable, masked;
    bool reload;   /* a watched change reloads, not restarts */
    bool restarts; /* a watched change restarts at all */
    bool no_block, runtime, unmask;
    bool forget; /* disabling leaves nothing behind, where the manager would leave something */
    int64_t init_delay, timeout;
};

#define SERVICES_NAME(type)                                                                        \
    PARAM("name", STR, type, name, "the service", .flags = PARAM_REQUIRED | PARAM_PRIMARY,         \
          .aliases = "service"),                                                                   \
        PARAM("provider", CHOICE, type, provider,                                                  \
              "the service manager; without: that of the machine",                                 \
              .choices = "auto|systemd|openrc|sysv", .default_text = "auto")

int services_validate(const struct services_wish *wish, const struct value *where,
                      struct diags *diags);
int services_check(struct state_run *run, const struct services_wish *wish, struct err *err);
int services_apply(struct state_run *run, const struct services_wish *wish, struct err *err);
int services_revert(struct state_run *run, const struct services_wish *wish, struct err *err);

/* For functions: the manager that a wish names, and how the service is. */
int services_manager(const struct services_wish *wish, const struct service_manager **ret,
                     struct err *err);
int services_look(struct state_run *run, const struct services_wish *wish,
                  struct service_status *ret, struct err *err);
/* The same and one action; an unknown service is an error. */
int services_act(struct state_run *run, const struct services_wish *wish,
                 enum service_action action, struct err *err);

#endif
