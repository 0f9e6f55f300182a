/*
 * subject - every subject of the fleet, as rows of a table.
 *
 * A row is a pattern with names in braces: "zester.job.{jid}.ack.{peel}". It yields the subject to
 * publish to, the pattern to subscribe to, the names in a received subject, and the permissions of
 * credentials. A name is one token; a name followed by '>' is one or more.
 *
 *     subject_print(out, SUBJECT_JOB_ACK, &(struct subject_names){ .jid = jid, .peel = id })
 *     subject_parse(received, &kind, &names)
 *
 * Pure. Memory: views into what was given. Threads: any.
 */
#ifndef FLEET_WIRE_SUBJECT_H
#define FLEET_WIRE_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct buf;
struct err;

/* Longer subjects are refused. */
#define SUBJECT_MAX 1024

enum subject_kind {
    SUBJECT_COMMAND,        /* ExecRequest to a peel: a job, or direct when it has a reply */
    SUBJECT_DISPATCH,       /* Job, answered by a master */
    SUBJECT_RESOLVE,        /* which peels match a target, answered by a master */
    SUBJECT_JOB_DISPATCH,   /* job Event: it was dispatched */
    SUBJECT_JOB_ACK,        /* a peel has accepted it */
    SUBJECT_JOB_RETURN,     /* its result on a peel */
    SUBJECT_JOB_STATUS,     /* job Event: it has ended */
    SUBJECT_JOB_CANCEL,     /* stop it */
    SUBJECT_JOB_SCHEDULE,   /* a run of a peel's own schedule */
    SUBJECT_JOB_PROGRESS,   /* states of a run as they finish */
    SUBJECT_EVENT_SEND,     /* event of a peel */
    SUBJECT_EVENT_BEACON,   /* event of a peel's beacon */
    SUBJECT_EVENT_MASTER,   /* event that a master makes */
    SUBJECT_EVENT_ADMIN,    /* event of an operator */
    SUBJECT_FACT,           /* reserved: facts travel as KV writes */
    SUBJECT_REACTOR_TEST,   /* which rules would fire, answered by a master */
    SUBJECT_REACTOR_RETRY,  /* send an exhausted event again */
    SUBJECT_ENROLL_APPROVE, /* AdminRequest, answered by a master */
    SUBJECT_ENROLL_REJECT,
    SUBJECT_ENROLL_REVOKE,
    SUBJECT_PEEL_DELETE,    /* remove machines, answered by a master */
    SUBJECT_FILES_UPDATE,   /* publish trees now; the lease holder answers */
    SUBJECT_FILES_STATUS,   /* which master publishes */
    SUBJECT_FILES_ROLLBACK, /* roll back to a revision; the same */
    SUBJECT_FILES_CANARY,   /* begin, show or end a canary; the same */
    SUBJECT_SETTINGS_SHOW,  /* the settings of a peel */
    SUBJECT_AUDIT_NOTICE,   /* an operator's action without a master, for a master's log */
    SUBJECT_JOB_APPROVE,    /* approve a job that waits for a second person, answered by a master */
    SUBJECT_JOB_REJECT,     /* reject it */
    SUBJECT_OPERATOR, /* a named operator's request for one of the others: fleet/jobs/policy.h */
    SUBJECT_OPERATOR_REMOVE, /* revoke their credentials, answered by a master */
    SUBJECT_UPDATE_PEEL,     /* command to the watchdog of a peel */
    SUBJECT_UPDATE_MASTER,   /* command to a master's watchdog; peels must not receive it */
    SUBJECT_UPDATE_START,    /* begin a rollout, answered by a master */
    SUBJECT_UPDATE_ABORT,    /* end it */
};
#define SUBJECT_KINDS (SUBJECT_UPDATE_ABORT + 1)

/* Values of a pattern's names; an empty view: not given. */
struct subject_names {
    struct str peel, jid, tag;
};

/* The pattern from the table. */
const char *subject_template(enum subject_kind kind);
/* The queue group of responders; NULL: every subscriber gets it. */
const char *subject_queue(enum subject_kind kind);

/* Appends the subject. Fails with ERR_INVALID and leaves `out` unchanged if a name is missing or
 * not a valid token. A tag has dots between its tokens. */
int subject_print(struct buf *out, enum subject_kind kind, const struct subject_names *names,
                  struct err *err);
/* The same as a NATS pattern: a missing name is a wildcard. */
int subject_print_pattern(struct buf *out, enum subject_kind kind,
                          const struct subject_names *names, struct err *err);
/* Finds the row and its names. False if no row matches: too long, empty tokens, wildcards, an
 * invalid peel id. */
bool subject_parse(struct str subject, enum subject_kind *ret_kind,
                   struct subject_names *ret_names);

#endif
