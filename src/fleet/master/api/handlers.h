/*
 * handlers - the handlers of the API calls, with the structs for query and body; routes.c has the
 * table.
 */
#ifndef FLEET_MASTER_API_HANDLERS_H
#define FLEET_MASTER_API_HANDLERS_H

#include "fleet/view/job.h"
#include "fleet/view/jobs.h"
#include "fleet/master/api/call.h"

/* --- jobs ------------------------------------------------------------------------------ */

struct api_job_body {
    const char *target;
    struct param_strs targets;
    const char *function, *state_id, *jid, *batch;
    const struct value *args;
    struct param_strmap metadata;
    int64_t timeout, max_failures, queue;
    bool has_timeout, has_max_failures, test;
    struct fleet_limits limits;
    struct fleet_rollout rollout;
};
extern const struct param api_job_body[];
api_check_fn api_job_check;
void api_create_job(struct api_call *call);

extern const struct param api_jobs_query[]; /* struct job_filter */
void api_list_jobs(struct api_call *call);

struct api_job_query {
    struct api_page page;
    bool results;
};
extern const struct param api_job_query[];
void api_show_job(struct api_call *call);
void api_cancel_job(struct api_call *call);

struct api_job_stream_query {
    bool results;
};
extern const struct param api_job_stream_query[];
void api_stream_job(struct api_call *call);

/* --- enrollments ----------------------------------------------------------------------- */

struct api_enrollments_query {
    struct api_page page;
    const char *state;
};
extern const struct param api_enrollments_query[];
void api_list_enrollments(struct api_call *call);

struct api_decision_body {
    const char *reason;
    bool force;
};
extern const struct param api_approve_body[], api_refuse_body[];

struct api_approvals_query {
    int state; /* 0: all; else one more than an approval_state */
    struct api_page page;
};
extern const struct param api_approvals_query[];
void api_list_approvals(struct api_call *call);
/* For both decisions; the act of the route says which. */
void api_decide_job(struct api_call *call);
api_check_fn api_reason_check;
void api_pause_enrollment(struct api_call *call);
void api_resume_enrollment(struct api_call *call);
void api_approve_enrollment(struct api_call *call);
void api_reject_enrollment(struct api_call *call);
void api_revoke_enrollment(struct api_call *call);

/* --- peels ----------------------------------------------------------------------------- */

struct api_peels_query {
    struct api_page page;
};
extern const struct param api_peels_query[];
void api_list_peels(struct api_call *call);

struct api_facts_query {
    const char *key;
};
extern const struct param api_facts_query[];
void api_show_facts(struct api_call *call);

struct api_settings_query {
    const char *key;
};
extern const struct param api_settings_query[];
void api_show_settings(struct api_call *call);

struct api_targets_query {
    struct api_page page;
    const char *expr;
};
extern const struct param api_targets_query[];
void api_list_targets(struct api_call *call);

/* --- events ---------------------------------------------------------------------------- */

struct api_event_body {
    const char *tag;
    const struct value *data;
};
extern const struct param api_event_body[];
api_check_fn api_event_check;
void api_send_event(struct api_call *call);

struct api_events_query {
    const char *match;
};
extern const struct param api_events_query[];
void api_stream_events(struct api_call *call);

/* --- manual ---------------------------------------------------------------------------- */

void api_show_manual(struct api_call *call);
void api_show_openapi(struct api_call *call);

#endif
