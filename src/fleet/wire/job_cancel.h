/*
 * job_cancel - stop a job: what is published on zester.job.<jid>.cancel.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_JOB_CANCEL_H
#define FLEET_WIRE_JOB_CANCEL_H

#include <stdbool.h>

#include "core/data/record.h"

struct arena;

struct job_cancel {
    const char *action;   /* "cancel" */
    const char *operator; /* who asks, for the audit */
};
extern const struct record_type job_cancel_type;
#define JOB_ACTION_CANCEL "cancel"
/* Is it meant as one? Servers answer wherever a request says, and check nobody's right to publish
 * there: so what they answer a peel, which has a header or other words, must not stop the job of
 * another. A message without both stops it. */
bool job_cancel_read(struct arena *arena, struct str payload, bool has_header,
                     struct job_cancel *ret);

#endif
