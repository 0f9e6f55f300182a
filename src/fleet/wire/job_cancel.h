/*
 * job_cancel - the message on zester.job.<jid>.cancel that stops a job.
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
/* Is the message a cancellation? A server answers on any subject that a request names, without
 * checking permissions, so its answers must not stop another peel's job. They have a header or a
 * different payload; an empty message without a header does cancel. */
bool job_cancel_read(struct arena *arena, struct str payload, bool has_header,
                     struct job_cancel *ret);

#endif
