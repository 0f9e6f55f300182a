/*
 * supervisor - keeps the daemons of a machine running: systemd where it runs, else kepler.
 *
 *     supervisor_choose -> supervisor_write -> supervisor_start
 *
 * Threads: one; blocks.
 */
#ifndef COMMANDS_CLI_FLEET_SETUP_SUPERVISOR_H
#define COMMANDS_CLI_FLEET_SETUP_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct err;

enum supervisor_kind { SUPERVISOR_AUTO, SUPERVISOR_SYSTEMD, SUPERVISOR_KEPLER, SUPERVISOR_NONE };
#define SUPERVISOR_WORDS        "auto|systemd|kepler|none"
#define SUPERVISOR_SERVICES_MAX 4

#define SUPERVISED_WRITES_MAX 8

/* A daemon; it runs after those before it in the list. */
struct supervised {
    const char *name;                  /* for kepler */
    const char *unit;                  /* for systemd: "zester-nats.service" */
    const char *summary;               /* one line */
    const char *program, *flag, *conf; /* the command: three words */
    int final_status;                  /* systemd does not start it again after this one; 0: none */
    bool keeps_children;               /* what its jobs have started outlives it */
    /* For installed systemd units. */
    const char *writer; /* the command that adapts them: "zester-master setup" */
    const char *origin; /* a program of the installation that has the unit; NULL: `program` */
    const char *user;   /* who runs it; NULL: root */
    const char *owned;  /* the folder of keys, which belongs to that user */
    const char *writes[SUPERVISED_WRITES_MAX + 1]; /* folders beyond those of the unit */
};

struct supervisor {
    enum supervisor_kind kind; /* never AUTO */
    const struct supervised *services;
    size_t count;
    const char *kepler, *kepler_conf; /* the program and the file, for SUPERVISOR_KEPLER */
    bool replaces;                    /* files that describe the services, too */
};

/* Resolve AUTO for this machine. */
enum supervisor_kind supervisor_choose(enum supervisor_kind kind);
/* "systemd", "kepler", "nobody" */
const char *supervisor_name(enum supervisor_kind kind);
/* The user that runs the masters of this machine, who is created; NULL: root, since the installed
 * units are not used, or we are not root. */
const char *supervisor_user(struct arena *arena, const struct supervisor *supervisor);
/* The files that describe the services; one that is there stays. Says where a systemd unit is not
 * the installed one. */
int supervisor_write(struct arena *arena, const struct supervisor *supervisor, bool *ret_changed,
                     struct err *err);
/* Start what does not run. */
int supervisor_start(struct arena *arena, const struct supervisor *supervisor, struct err *err);
/* Start all of it again, in order. */
int supervisor_restart(struct arena *arena, const struct supervisor *supervisor, struct err *err);
/* Does systemd run this unit? Stop it, now and for good. */
bool supervisor_has_unit(struct arena *arena, const char *unit);
int supervisor_disable_unit(struct arena *arena, const char *unit, struct err *err);
/* A command that shows the logs, for messages. */
const char *supervisor_hint(struct arena *arena, const struct supervisor *supervisor);

#endif
