/*
 * subject - every subject of the fleet, as rows of a table.
 *
 * A row is a pattern with names in braces: "zester.job.{jid}.ack.{peel}". From it come the subject
 * to publish to, the pattern to subscribe to, what a received subject says, and the grants of
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

/* Longer ones are refused. */
#define SUBJECT_MAX 1024

enum subject_kind {
    SUBJECT_COMMAND,        /* ExecRequest to a peel: a job, or direct when it has a reply */
    SUBJECT_DISPATCH,       /* Job, answered by a master */
    SUBJECT_RESOLVE,        /* which peels a target means, answered by a master */
    SUBJECT_JOB_DISPATCH,   /* job Event: it was dispatched */
    SUBJECT_JOB_ACK,        /* a peel has accepted it */
    SUBJECT_JOB_RETURN,     /* what came of it on a peel */
    SUBJECT_JOB_STATUS,     /* job Event: it has ended */
    SUBJECT_JOB_CANCEL,     /* stop it */
    SUBJECT_JOB_SCHEDULE,   /* what a peel's own schedule has run */
    SUBJECT_JOB_PROGRESS,   /* states of a run as they end */
    SUBJECT_EVENT_SEND,     /* event of a peel */
    SUBJECT_EVENT_BEACON,   /* event of a peel's beacon */
    SUBJECT_EVENT_MASTER,   /* event that a master makes */
    SUBJECT_EVENT_ADMIN,    /* event of an operator */
    SUBJECT_FACT,           /* reserved: facts travel as KV writes */
    SUBJECT_REACTOR_TEST,   /* which rules would fire, answered by a master */
    SUBJECT_REACTOR_RETRY,  /* send an event again that was given up */
    SUBJECT_ENROLL_APPROVE, /* AdminRequest, answered by a master */
    SUBJECT_ENROLL_REJECT,
    SUBJECT_ENROLL_REVOKE,
    SUBJECT_PEEL_DELETE,    /* machines leave for good, answered by a master */
    SUBJECT_FILES_UPDATE,   /* publish trees now; the lease holder answers */
    SUBJECT_FILES_STATUS,   /* who publishes */
    SUBJECT_FILES_ROLLBACK, /* bring a revision back; the same */
    SUBJECT_FILES_CANARY,   /* begin, show or end a canary; the same */
    SUBJECT_SETTINGS_SHOW,  /* what a peel gets */
    SUBJECT_AUDIT_NOTICE,   /* what an operator did without a master, for the log of one */
    SUBJECT_JOB_APPROVE,    /* let a job go that waits for a second person, answered by a master */
    SUBJECT_JOB_REJECT,     /* the opposite */
    SUBJECT_OPERATOR, /* an operator with a name asks for one of the others: see fleet/jobs/policy.h
                       */
    SUBJECT_OPERATOR_REMOVE, /* refuse their credentials from now on, answered by a master */
    SUBJECT_UPDATE_PEEL,     /* command to the watchdog of a peel */
    SUBJECT_UPDATE_MASTER,   /* command to the watchdog of a master: no peel may hear it */
    SUBJECT_UPDATE_START,    /* begin a rollout, answered by a master */
    SUBJECT_UPDATE_ABORT,    /* end it */
};
#define SUBJECT_KINDS (SUBJECT_UPDATE_ABORT + 1)

/* What the names of a pattern stand for; a view of length 0: not said. */
struct subject_names {
    struct str peel, jid, tag;
};

/* The pattern as the table has it. */
const char *subject_template(enum subject_kind kind);
/* The queue group of those who answer; NULL: everyone gets it. */
const char *subject_queue(enum subject_kind kind);

/* Append the subject. Every name of its pattern must be given and be a valid token, else it fails
 * with ERR_INVALID and `out` is unchanged. A tag has dots between its tokens. */
int subject_print(struct buf *out, enum subject_kind kind, const struct subject_names *names,
                  struct err *err);
/* The same as a pattern of NATS: a name that is not given is a wildcard. */
int subject_print_pattern(struct buf *out, enum subject_kind kind,
                          const struct subject_names *names, struct err *err);
/* Which row is it, and what are its names? False for anything that is in no row: too long, empty
 * tokens, wildcards, a peel that cannot be one. */
bool subject_parse(struct str subject, enum subject_kind *ret_kind,
                   struct subject_names *ret_names);

#endif
