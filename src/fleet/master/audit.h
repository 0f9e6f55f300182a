/*
 * audit - one line in the log for each administrative act: who, what, on whom, with what result.
 *
 *     audit_log(&(struct audit){ .action = "enroll.approve", .by = "root", .id = id, .peel = peel
 * });
 */
#ifndef FLEET_MASTER_AUDIT_H
#define FLEET_MASTER_AUDIT_H

#include <stdint.h>

/* Texts may come from outside; NULL or "": not said. */
struct audit {
    const char *action; /* "enroll.approve" */
    const char *by;     /* the operator, or "reactor:<ref>" */
    const char *id, *peel;
    const char *function, *target; /* of a job */
    uint32_t peels;                /* that it was for; 0: not said */
    const char *reason;
    const char *error; /* why it was not done */
};

void audit_log(const struct audit *audit);

struct buf;
/* Append " key=text" to a line, quoted, so that no text can pretend to be another key. NULL or "":
 * nothing. */
void audit_add_pair(struct buf *line, const char *key, const char *text);

struct arena;
struct job;

#define AUDIT_JOB "job.dispatch"
/* What there is to say about a dispatch, in the arena, for when the job is gone. */
struct audit audit_of_job(struct arena *arena, const struct job *job);

#endif
