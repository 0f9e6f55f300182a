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

/* A daemon; it runs after those before it in the list. */
struct supervised {
    const char *name;                  /* for kepler */
    const char *unit;                  /* for systemd: "zester-nats.service" */
    const char *summary;               /* one line */
    const char *program, *flag, *conf; /* the command: three words */
    int final_status;                  /* systemd does not start it again after this one; 0: none */
};

struct supervisor {
    enum supervisor_kind kind; /* never AUTO */
    const struct supervised *services;
    size_t count;
    const char *kepler, *kepler_conf; /* the program and the file, for SUPERVISOR_KEPLER */
};

/* Resolve AUTO for this machine. */
enum supervisor_kind supervisor_choose(enum supervisor_kind kind);
/* "systemd", "kepler", "nobody" */
const char *supervisor_name(enum supervisor_kind kind);
/* The files that describe the services; one that is there stays. */
int supervisor_write(struct arena *arena, const struct supervisor *supervisor, bool *ret_changed,
                     struct err *err);
/* Start what does not run. */
int supervisor_start(struct arena *arena, const struct supervisor *supervisor, struct err *err);
/* A command that shows the logs, for messages. */
const char *supervisor_hint(struct arena *arena, const struct supervisor *supervisor);

#endif
