/*
 * api_job_record - reads the job record that a call needs.
 *
 * Memory: the arena of the call. Threads: the loop's.
 */
#ifndef FLEET_MASTER_API_JOB_RECORD_H
#define FLEET_MASTER_API_JOB_RECORD_H

#include "fleet/bus/store.h"
#include "fleet/master/api/call.h"
#include "fleet/nats/kv.h"
#include "fleet/wire/job.h"

/* Reads the job in the path of the call; an unknown job is answered here. */
typedef void api_job_fn(struct api_call *call, const struct job *job);
void api_job_read(struct api_call *call, api_job_fn *fn);
/* The same, by id. */
void api_job_read_id(struct api_call *call, const char *jid, api_job_fn *fn);

/* Metadata key: the token with which an operator requested the job. */
#define API_JOB_TOKEN "api_token"

struct nats_kv api_bucket(const struct master *master, enum store_bucket bucket);

#endif
