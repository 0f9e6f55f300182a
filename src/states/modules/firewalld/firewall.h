/*
 * firewall - the permanent configuration of firewalld, through firewall-cmd.
 *
 * A state compares and plans; the same plan is reported, noted for a revert, and carried out:
 *
 *     firewall_new (a zone or service that is missing)
 *     firewall_compare for each list -> firewall_report, or firewall_apply
 *
 * Changes are loaded into the running firewall at the end.
 *
 * Memory: the arena of the run. Threads: states that use it share FIREWALL_LOCK.
 */
#ifndef STATES_MODULES_FIREWALLD_FIREWALL_H
#define STATES_MODULES_FIREWALLD_FIREWALL_H

#include <stdbool.h>

#include "core/base/vec.h"
#include "core/data/params.h"

struct diags;
struct err;
struct state_run;
struct value;

#define FIREWALL_LOCK "firewalld"

/* A call of firewall-cmd, and the one that reverts it. */
struct firewall_step {
    const char *words;      /* for reports: "port 80/tcp: not in zone public" */
    const char *made;       /* "added port 80/tcp to zone public" */
    const char *now, *back; /* options, "--add-port=80/tcp"; `back` may be NULL */
    bool whole;             /* the option alone, without scope: --new-zone, --set-default-zone */
    bool runtime;           /* not with --permanent */
};

struct firewall {
    struct state_run *run;
    const char *noun, *name; /* "zone", "public" */
    bool is_new;             /* it does not exist, so its lists are empty */
    VEC(struct firewall_step) steps;
};

/* A list of a zone or service. */
struct firewall_list {
    const char *noun;   /* "port" */
    const char *show;   /* "--list-ports" */
    const char *option; /* "port": --add-port=, --remove-port= */
    bool lines;         /* one in each line; else separated by blanks */
};

/* Does a zone or service of the name exist? Otherwise its creation is the first step. */
int firewall_open(struct state_run *run, const char *noun, const char *name,
                  struct firewall *ret_firewall, struct err *err);
/* Ask firewall-cmd; options of the scope are added. `ret_yes`: for queries, exit status 0. */
int firewall_ask(struct firewall *firewall, const char *option, bool *ret_yes, struct err *err);
void firewall_add_step(struct firewall *firewall, const struct firewall_step *step);
/* Steps that add what is missing and, with `prune`, remove what is not wanted. */
int firewall_compare(struct firewall *firewall, const struct firewall_list *list,
                     struct param_strs want, bool prune, struct err *err);

void firewall_report(struct firewall *firewall);
int firewall_apply(struct firewall *firewall, struct err *err);
int firewall_revert(struct state_run *run, const void *args, struct err *err);

/* Items that could be read as options or as several. */
int firewall_validate(const char *key, struct param_strs items, const struct value *where,
                      struct diags *diags);

/* The output of `firewall-cmd OPTION`, which needs no scope. */
int firewall_read(struct state_run *run, const char *option, const char **ret_text,
                  struct err *err);

#endif
