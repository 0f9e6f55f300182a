/* The calls of the API. */
#include "fleet/master/api/handlers.h"
#include "fleet/master/api/route.h"

#define QUERY(table, type) .query = (table), .query_size = sizeof(struct type)
#define BODY(table, type)  .body = (table), .body_size = sizeof(struct type)

const struct api_route api_routes[] = {
    { "POST", API_ROOT "/jobs", api_create_job, .act = API_ACT_RUN_JOB, .status = API_ACCEPTED,
      BODY(api_job_body, api_job_body), .check = api_job_check,
      .summary = "run a function or a state on peels",
      .details =
          "`jid`, `targets` and `status` of the running job, which is independent of this "
          "connection. No peel matches: 422. With `approval` it waits for a second person." },
    { "GET", API_ROOT "/jobs", api_list_jobs, .act = API_ACT_READ_JOBS, .status = API_OK,
      QUERY(api_jobs_query, job_filter),
      .summary = "list jobs of the last seven days, newest first",
      .details = "a list of records; the header `X-Total-Count` has the total number of matches" },
    { "GET", API_ROOT "/jobs/{jid}", api_show_job, .act = API_ACT_READ_RETURNS, .status = API_OK,
      QUERY(api_job_query, api_job_query), .summary = "show a job and its returns",
      .details = "`jid`, `status`, `job` (its record) and `returns`: one for each peel that has "
                 "answered, by name. `limit` and `offset` select targets; `X-Total-Count` has "
                 "their number." },
    { "POST", API_ROOT "/jobs/{jid}/cancel", api_cancel_job, .act = API_ACT_CANCEL_JOB,
      .status = API_ACCEPTED, .summary = "stop a job",
      .details = "`jid` and `status`: the signal was sent; the record has the result. A job that "
                 "has ended: 409." },
    { "GET", API_ROOT "/jobs/{jid}/stream", api_stream_job, .act = API_ACT_READ_RETURNS,
      .is_stream = true, .status = API_OK, QUERY(api_job_stream_query, api_job_stream_query),
      .summary = "follow a job",
      .details = "events `return`, one for each peel, including earlier answers; then `status` "
                 "with `jid`, `status`, `return_count` and `success_count`, and the end" },
    { "GET", API_ROOT "/approvals", api_list_approvals, .act = API_ACT_READ_APPROVALS,
      .status = API_OK, QUERY(api_approvals_query, api_approvals_query),
      .summary = "list approvals of the last day, newest first",
      .details = "a list of `jid`, `state`, `asked_by`, `asked`, `function`, `id`, `args`, "
                 "`metadata`, `sealed_args` (names), `target`, `targets`, `decided_by`, `reason`, "
                 "`error`" },
    { "POST", API_ROOT "/approvals/{jid}/approve", api_decide_job, .act = API_ACT_APPROVE_JOB,
      .status = API_OK, BODY(api_refuse_body, api_decision_body), .check = api_reason_check,
      .summary = "approve a waiting job",
      .details = "`jid` and `approval`; the job starts soon. Own job, or no permission to run it: "
                 "403. Already decided: 409." },
    { "POST", API_ROOT "/approvals/{jid}/reject", api_decide_job, .act = API_ACT_REJECT_JOB,
      .status = API_OK, BODY(api_refuse_body, api_decision_body), .check = api_reason_check,
      .summary = "reject a waiting job", .details = "the same" },
    { "GET", API_ROOT "/enrollments", api_list_enrollments, .act = API_ACT_READ_ENROLLMENTS,
      .status = API_OK, QUERY(api_enrollments_query, api_enrollments_query),
      .summary = "list enrollments",
      .details = "a list of `id`, `peel_id`, `hostname`, `source`, `state`, `trust`, `created`, "
                 "oldest first" },
    { "POST", API_ROOT "/enrollments/{id}/approve", api_approve_enrollment,
      .act = API_ACT_APPROVE_ENROLLMENT, .status = API_OK,
      BODY(api_approve_body, api_decision_body), .check = api_reason_check,
      .summary = "approve an enrollment",
      .details = "the updated enrollment. `id` is its id, or the name of its peel. If it cannot be "
                 "approved: 409." },
    { "POST", API_ROOT "/enrollments/{id}/reject", api_reject_enrollment,
      .act = API_ACT_REJECT_ENROLLMENT, .status = API_OK, BODY(api_refuse_body, api_decision_body),
      .check = api_reason_check, .summary = "reject an enrollment",
      .details = "the updated enrollment" },
    { "POST", API_ROOT "/enrollments/{id}/revoke", api_revoke_enrollment,
      .act = API_ACT_REVOKE_ENROLLMENT, .status = API_OK, BODY(api_refuse_body, api_decision_body),
      .check = api_reason_check, .summary = "revoke a machine's credentials, and disconnect it",
      .details = "the updated enrollment, after all bus servers have confirmed; `warning` if one "
                 "has not" },
    { "POST", API_ROOT "/enrollments/pause", api_pause_enrollment, .act = API_ACT_PAUSE_ENROLLMENT,
      .status = API_OK, BODY(api_refuse_body, api_decision_body), .check = api_reason_check,
      .summary = "pause enrollment", .details = "`paused`, `operator`, `reason`, `changed_at`" },
    { "POST", API_ROOT "/enrollments/resume", api_resume_enrollment,
      .act = API_ACT_PAUSE_ENROLLMENT, .status = API_OK, BODY(api_refuse_body, api_decision_body),
      .check = api_reason_check, .summary = "resume enrollment", .details = "the same" },
    { "GET", API_ROOT "/peels", api_list_peels, .act = API_ACT_READ_PEELS, .status = API_OK,
      QUERY(api_peels_query, api_peels_query),
      .summary = "list the peels, whether they are connected, and whether they have drifted",
      .details = "a list of `peel_id`, `os`, `arch`, `online`, `last_seen`, `converged`, `drift`, "
                 "`differs`, `differs_count`, `last_run`, by name" },
    { "GET", API_ROOT "/peels/{id}/facts", api_show_facts, .act = API_ACT_READ_FACTS,
      .status = API_OK, QUERY(api_facts_query, api_facts_query),
      .summary = "show the facts of a peel",
      .details = "an object, or the one fact that `key` names" },
    { "GET", API_ROOT "/peels/{id}/settings", api_show_settings, .act = API_ACT_READ_SETTINGS,
      .status = API_OK, QUERY(api_settings_query, api_settings_query),
      .summary = "show the settings of a peel",
      .details = "an object, or the one setting that `key` names; secrets are hidden" },
    { "GET", API_ROOT "/targets", api_list_targets, .act = API_ACT_RESOLVE, .status = API_OK,
      QUERY(api_targets_query, api_targets_query), .summary = "resolve a target",
      .details = "a list of names; `X-Total-Count` has the number of all" },
    { "POST", API_ROOT "/events", api_send_event, .act = API_ACT_SEND_EVENT, .status = API_ACCEPTED,
      BODY(api_event_body, api_event_body), .check = api_event_check,
      .summary = "send an event as an operator",
      .details = "`id`, `tag`, `match_key`, `subject` of an event that is stored" },
    { "GET", API_ROOT "/events/stream", api_stream_events, .act = API_ACT_READ_EVENTS,
      .is_stream = true, .status = API_OK, QUERY(api_events_query, api_events_query),
      .summary = "follow events as they happen",
      .details = "events `event` with `ts`, `key`, `origin`, `tag`, `id`, and `depth`, "
                 "`provenance`, `data` where there are any" },
    { "GET", API_ROOT "/docs", api_show_manual, .is_open = true, .status = API_OK,
      .summary = "this page", .details = "HTML, if `api.docs_enabled`" },
    { "GET", API_ROOT "/openapi.json", api_show_openapi, .is_open = true, .status = API_OK,
      .summary = "the same for programs", .details = "OpenAPI 3.0, if `api.docs_enabled`" },
    { 0 },
};
