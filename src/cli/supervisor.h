/*
 * supervisor - who keeps the server and the master of a machine running: systemd where it runs,
 * else kepler.
 *
 *     supervisor_choose -> supervisor_write -> supervisor_start
 *
 * Threads: one; blocks.
 */
#ifndef CLI_SUPERVISOR_H
#define CLI_SUPERVISOR_H

#include <stdbool.h>

struct arena;
struct err;

enum supervisor_kind { SUPERVISOR_AUTO, SUPERVISOR_SYSTEMD, SUPERVISOR_KEPLER, SUPERVISOR_NONE };
#define SUPERVISOR_WORDS "auto|systemd|kepler|none"

struct supervisor {
    enum supervisor_kind kind;           /* never AUTO */
    const char *nats_server, *nats_conf; /* program and configuration */
    const char *master, *master_conf;
    const char *kepler, *kepler_conf; /* for SUPERVISOR_KEPLER */
};

/* What AUTO means here. */
enum supervisor_kind supervisor_choose(enum supervisor_kind kind);
/* The files that describe both services; one that is there stays. */
int supervisor_write(struct arena *arena, const struct supervisor *supervisor, bool *ret_changed,
                     struct err *err);
/* Start what does not run. */
int supervisor_start(struct arena *arena, const struct supervisor *supervisor, struct err *err);
/* Where to look when it does not work: a command for people. */
const char *supervisor_hint(struct arena *arena, const struct supervisor *supervisor);

#endif
