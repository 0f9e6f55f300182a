/*
 * ssh_roster - machines without an agent, and how ssh reaches each of them: a file in YAML.
 *
 *     web-01: 192.0.2.7                   the name of a machine: its address, or
 *     db-01:
 *       host: db.example.com              the name, when it is left out
 *       user: deploy
 *       port: 2222
 *       identity: /root/.ssh/db           a key file
 *       sudo: true
 *       facts: {roles: [db]}              for targets; override the machine's own facts
 *
 * Salt's keys are accepted if they mean the same; others are refused with the reason. No key can
 * disable the check of host keys.
 *
 *     ssh_roster_parse -> ssh_roster_find
 *
 * Pure. Memory: the arena; views of the document. Threads: any.
 */
#ifndef FLEET_SSH_ROSTER_H
#define FLEET_SSH_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "fleet/wire/peel_id.h"

struct arena;
struct diags;
struct err;
struct value;

#define SSH_ROSTER_FILE         "/etc/zester/roster"
#define SSH_ROSTER_SIZE_MAX     ((size_t)4 << 20)
#define SSH_ROSTER_MACHINES_MAX 10000
#define SSH_ROSTER_WORD_MAX     255 /* bytes of a host, a user */
#define SSH_ROSTER_OPTION_MAX   1024

struct ssh_machine {
    const char *name;
    char id[PEEL_ID_SIZE]; /* the name, as on the wire */
    const char *host;
    const char *user, *identity; /* NULL: ssh's own configuration */
    int64_t port;                /* 0: the same */
    bool sudo;
    const char *sudo_user; /* NULL: root */
    int64_t timeout;       /* for connecting and login, in nanoseconds */
    struct param_strs options;
    const char *data_dir;      /* remote folder for undo data; NULL: as for 'zester --local' */
    const char *program;       /* a zester for that machine; NULL: the installed one */
    const struct value *given; /* its facts, or NULL */
    const struct value *facts; /* the same with its id: a map */
};

struct ssh_machines {
    VEC(struct ssh_machine) list;
};

/* `file` is for messages. Returns -1 when it added to `diags`; all mistakes are reported. */
int ssh_roster_parse(struct arena *arena, const char *file, struct str text,
                     struct ssh_machines *ret, struct diags *diags);

/* Machines that match a target, in the order of the file. `groups` are for N@, or NULL. Fails with
 * ERR_INVALID for a malformed target; settings are not known here. */
int ssh_roster_find(struct arena *arena, const struct ssh_machines *machines, const char *target,
                    const struct value *groups, struct ssh_machines *ret, struct err *err);

/* The reason if zester sets this ssh option itself, or if it would accept any host key; else NULL.
 * `option` is as for 'ssh -o'. */
const char *ssh_roster_refuse_option(struct arena *arena, const char *option);

/* Options that come first on the ssh command line, so they cannot be overridden; ends with NULL. */
extern const char *const ssh_roster_fixed[];

#endif
