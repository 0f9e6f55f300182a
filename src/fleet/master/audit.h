/*
 * audit - logs one line for each administrative act: who, what, on whom, and the result.
 *
 *     audit_log(&(struct audit){ .action = "enroll.approve", .by = "root", .peel = peel });
 */
#ifndef FLEET_MASTER_AUDIT_H
#define FLEET_MASTER_AUDIT_H

#include <stdint.h>

/* Texts may be untrusted; NULL or "": left out. */
struct audit {
    const char *action; /* "enroll.approve" */
    const char *by;     /* the operator, or "reactor:<ref>" */
    const char *id, *peel;
    const char *function, *target; /* of a job */
    uint32_t peels;                /* number of targets; 0: unknown */
    const char *reason;
    const char *error; /* why it failed */
};

void audit_log(const struct audit *audit);

struct buf;
/* Append " key=text" to a line, quoted, so that a text cannot fake another key. NULL or "":
 * nothing. */
void audit_add_pair(struct buf *line, const char *key, const char *text);

struct arena;
struct job;

#define AUDIT_JOB "job.dispatch"
/* Describes a dispatch, in the arena: it outlives the job. */
struct audit audit_of_job(struct arena *arena, const struct job *job);

#endif
