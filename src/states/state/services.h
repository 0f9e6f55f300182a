/*
 * services - services for modules, supplied by folders above: sources, templates, the journal.
 *
 * A host (states/state/host.h) has a table of them; states/run/services.h is the real one.
 * state_source, state_render and others of states/state/module.h call it.
 */
#ifndef STATES_STATE_SERVICES_H
#define STATES_STATE_SERVICES_H

#include "core/base/str.h"

struct err;
struct source_content;
struct source_trust;
struct state_run;
struct value;
struct value_list;

struct state_services {
    int (*source)(struct state_run *run, const char *source, const struct source_trust *trust,
                  struct str *ret, struct err *err);
    int (*source_content)(struct state_run *run, const char *source,
                          const struct source_trust *trust, struct source_content *ret,
                          struct err *err);
    int (*source_path)(struct state_run *run, const char *source, const char **ret,
                       struct err *err);
    int (*source_list)(struct state_run *run, const char *source, struct value_list **ret,
                       struct err *err);
    int (*render)(struct state_run *run, const char *name, struct str text,
                  const struct value *extra, struct str *ret, struct err *err);
    /* On disk before it returns. */
    int (*note)(struct state_run *run, const char *key, const struct value *v, struct err *err);
};

#endif
