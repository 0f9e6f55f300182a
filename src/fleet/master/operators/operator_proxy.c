/*
 * The service "operators": handles all requests of named operators.
 *
 *     zester.operator.alice.dispatch -> the policy of alice -> zester.dispatch, as alice
 *
 * The name comes from the subject, which servers enforce; the one in the payload is replaced. The
 * policy is read again for each request, and unreadable ones refuse it. Allowed requests are
 * forwarded to their service, which answers the operator directly: so replies must go to the
 * operator's own inbox, or masters could be made to publish anywhere. JetStream answers do not
 * leave the fleet's account (fleet/bus/accounts.h), so the operator proxy forwards them.
 *
 * A refusal is an empty message with the header OPERATOR_REFUSED, and for JetStream an error in its
 * format.
 */
#include "fleet/master/operators/operator_proxy.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/grant.h"
#include "fleet/bus/operator_form.h"
#include "fleet/bus/store.h"
#include "fleet/bus/request_signature.h"
#include "core/data/json.h"
#include "fleet/jobs/policy.h"
#include "fleet/jobs/reading.h"
#include "fleet/master/announce.h"
#include "fleet/master/operators/approvals.h"
#include "fleet/master/operators/operator_rate.h"
#include "fleet/master/audit.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/jobs/dispatcher.h"
#include "fleet/nats/header.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/request.h"
#include "fleet/nats/subject.h"
#include "core/sys/clock.h"
#include "fleet/wire/approval.h"
#include "fleet/wire/operator.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/question.h"

#define PAYLOAD_MAX ((size_t)8 << 20)
#define RESOLVE_NS  (5 * CLOCK_SECOND)
/* Requests that are looked at, or wait for their answer, at once. */
#define VISITS_MAX (4 * OPERATOR_RATE_VISITS)
/* For JetStream to answer. */
#define ANSWER_NS     (10 * CLOCK_SECOND)
#define NO_RESPONDERS "NATS/1.0 503\r\n"

struct operator_proxy {
    struct master *master;
    struct nats_sub *requests;
    size_t visits;
    struct operator_rate rate;
};

/* A request in progress. */
struct operator_request {
    struct arena arena;
    struct operator_proxy *proxy;
    const char *name;
    struct operator_form form;
    const struct policy_act *act; /* NULL: a read, or never allowed */
    bool is_reading;
    bool is_too_many; /* of this operator at once */
    bool is_vouched;  /* the operator's key has signed it, and masters ask for that */
    struct reading reading;
    struct str jid; /* from its subject */
    struct str reply;
    struct operator_policy policy;
    struct job job;     /* the job concerned */
    const char *person; /* the owner of the job */
};

static struct nats_kv get_proxy_bucket(const struct operator_request *request,
                                       enum store_bucket bucket)
{
    return (struct nats_kv){ .js = request->proxy->master->js,
                             .bucket = store_bucket_name(bucket),
                             .indirect = true };
}

static void end_operator_request(struct operator_request *request)
{
    struct arena arena = request->arena;

    operator_request->operator_proxy->visits--;
    operator_rate_end(&operator_request->operator_proxy->rate, operator_request->name);
    arena_done(&arena); /* the operator request is in it */
}

/* --- answers ------------------------------------------------------------------------ */

static void answer_operator(const struct operator_request *request, struct str header,
                            struct str payload)
{
    struct err err;

    if (request->reply.n > 0 &&
        nats_publish(
            request->proxy->master->js.conn,
            &(struct nats_pub){ .subject = request->reply, .header = header, .payload = payload },
            &err) < 0)
        log_warning("answer to operator %s: %s", request->name, err.text);
}

static void answer_refused(struct operator_request *request, const char *reason)
{
    AUTO_BUF struct buf header = BUF_INIT(NATS_HEADER_MAX), body = BUF_INIT(NATS_HEADER_MAX);
    char line[ERR_TEXT_SIZE];
    struct err err;
    size_t n = 0;

    if (!request->is_reading) {
        for (; reason[n] && n < sizeof(line) - 1; n++) /* foreign texts may contain line ends */
            line[n] = (unsigned char)reason[n] < ' ' ? ' ' : reason[n];
        line[n] = '\0';
        if (nats_header_add(&header, OPERATOR_REFUSED, str_from(line), &err) < 0)
            log_warning("answer to operator %s: %s", request->name, err.text);
    } else {
        buf_add_text(&body, "{\"error\":{\"code\":403,\"description\":");
        json_print_text(&body, str_from(reason), JSON_STYLE_COMPACT);
        buf_add_text(&body, "}}");
    }
    answer_operator(request, buf_view(&header), buf_view(&body));
}

static void audit_refusal(const struct operator_request *operator_request, const char *reason)
{
    const struct job *job = request->job.function ? &request->job : NULL;

    audit_log(&(struct audit){ .action = request->act          ? request->act->name
                                         : request->is_reading ? "operator.read"
                                                               : "operator.request",
                               .by = request->name,
                               .id = job ? job->jid : NULL,
                               .function = job ? job->function : NULL,
                               .target = job ? job->target_expr : NULL,
                               .error = reason });
}

static void refuse_visit(struct operator_request *operator_request, const char *reason)
{
    const enum operator_rate_line line = operator_rate_refuse(
        &operator_request->operator_proxy->rate, operator_request->name, clock_now());

    if (line != OPERATOR_RATE_SILENT) {
        audit_refusal(operator_request, reason);
        answer_refused(operator_request, reason);
    }
    if (line == OPERATOR_RATE_LAST)
        log_warning("further refusals are neither logged nor answered for a minute operator=%s",
                    operator_request->name);
    end_visit(operator_request);
}

/* --- forwarding --------------------------------------------------------------------- */

/* A received header ends in an empty line, which sending adds again. */
static struct str strip_empty_line(struct str header)
{
    return str_ends(header, STR("\r\n\r\n")) ? str_slice(header, 0, header.n - 2) : header;
}

/* An answer of JetStream. */
static void on_jetstream_answer(void *self, const struct nats_error *error,
                                const struct nats_msg *msg)
{
    struct operator_request *request = self;

    if (!error)
        answer_operator(request, strip_empty_line(msg->header), msg->payload);
    else if (error->fault == NATS_FAULT_NO_RESPONDERS)
        answer_operator(request, STR(NO_RESPONDERS), STR(""));
    end_operator_request(request);
}

/* Consumer messages, which may be many, do leave the account. */
static bool is_handed_on(const struct operator_request *request)
{
    return request->is_reading && request->reading.verb != READING_CONSUMER_NEXT &&
           request->reply.n > 0;
}

/* Ends the request here, unless an answer follows. */
static int send_on(struct operator_request *request, struct str subject, struct str header,
                   struct str payload, struct err *err)
{
    /* A cancel has no answer, so the proxy gives one. */
    const bool is_answered = request->form.kind != SUBJECT_JOB_CANCEL || !request->act;
    const struct authority *authority = master_find(request->proxy->master, &authority_service);
    struct nats_conn *conn = request->proxy->master->js.conn;
    const struct request_signature_signer signer = { .key = &authority->account };
    struct nats_pub pub = { .subject = subject,
                            .reply = is_answered ? request->reply : STR(""),
                            .header = header,
                            .payload = payload };

    if (request->is_vouched &&
        request_signature_add(&request->arena, &signer, is_answered, &pub, err) < 0)
        return -1;
    if (is_handed_on(request))
        return nats_request(conn, &pub, ANSWER_NS, on_jetstream_answer, request, NULL, err);
    if (nats_publish(conn, &pub, err) < 0)
        return -1;
    if (!is_answered)
        answer_operator(request, STR(""), STR(""));
    end_operator_request(request);
    return 0;
}

static int send_reading(struct operator_request *request, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(NATS_SUBJECT_MAX), body = BUF_INIT(PAYLOAD_MAX);

    reading_print_subject(&request->reading, &subject);
    if (reading_print_body(&request->arena, &request->reading, request->form.payload, &body, err) <
        0)
        return -1;
    return send_on(request, buf_view(&subject), STR(""), buf_view(&body), err);
}

static int send_form(struct operator_request *request, struct err *err)
{
    AUTO_BUF struct buf payload = BUF_INIT(PAYLOAD_MAX), header = BUF_INIT(NATS_HEADER_MAX);

    if (operator_form_print(&request->arena, &request->form, &payload, &header, err) < 0)
        return -1;
    return send_on(request, request->form.subject, buf_view(&header), buf_view(&payload), err);
}

/* Services write audit lines; events have no service. */
static void note_event(const struct operator_request *request)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (request->act && request->form.kind == SUBJECT_EVENT_ADMIN)
        audit_log(&(struct audit){ .action = request->act->name,
                                   .by = request->name,
                                   .id = arena_str(&arena, request->form.subject).p });
}

static void forward_request(struct operator_request *request)
{
    struct err err;

    note_event(request);
    if ((request->act ? send_form(request, &err) : send_reading(request, &err)) < 0)
        refuse_operator_request(request, err.text);
}

/* --- jobs that need approval -------------------------------------------------------- */

static void on_operator_job_kept(void *self, const char *error)
{
    struct operator_request *request = self;
    const struct job_reply reply = { .jid = request->job.jid, .error = "", .waits = true };

    if (error) {
        refuse_operator_request(request, error);
        return;
    }
    audit_log(&(struct audit){ .action = "job.wait",
                               .by = request->name,
                               .id = request->job.jid,
                               .function = request->job.function,
                               .target = request->job.target_expr });
    if (request->reply.n > 0)
        master_answer(request->proxy->master, request->reply, &job_reply_type, &reply);
    end_operator_request(request);
}

/* --- decisions ---------------------------------------------------------------------- */

static void judge_operator_request(struct operator_request *request,
                                   const struct param_strs *inside)
{
    const struct policy_question question = {
        .act = request->act,
        .job = &request->job,
        .inside = *inside,
        .person = request->person ? request->person : "",
        .now = bus_time_seconds(),
    };
    struct err why;

    switch (policy_decide(&request->policy, &question, &why)) {
    case POLICY_ALLOWED: forward_request(request); break;
    case POLICY_REFUSED: refuse_operator_request(request, why.text); break;
    case POLICY_WAITS:
        approvals_keep(request->proxy->master, &request->job, on_operator_job_kept, request);
        break;
    }
}

static void on_inside(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct operator_request *request = self;
    struct question_resolved answer_to;
    struct err err;

    if (error) {
        refuse_operator_request(request, error->text);
        return;
    }
    if (record_decode(&request->arena, &question_resolved_type, 1,
                      arena_str(&request->arena, msg->payload), &answer_to, &err) < 0) {
        refuse_operator_request(request, err.text);
        return;
    }
    if (answer_to.err[0]) {
        err_set(&err, ERR_BUSY, "%s", answer_to.err);
        err_wrap(&err, "the target of operator '%s'", request->name);
        refuse_operator_request(request, err.text);
        return;
    }
    judge_operator_request(request, &answer_to.peels);
}

/* Which peels match the operator's target? */
static void ask_inside(struct operator_request *request)
{
    AUTO_BUF struct buf bytes = BUF_INIT(PAYLOAD_MAX);
    const struct question_resolve question = { .expr = request->policy.target, .type = "" };
    struct err err;

    if (record_encode(&bytes, &question_resolve_type, &question, &err) < 0 ||
        nats_request(request->proxy->master->js.conn,
                     &(struct nats_pub){ .subject = str_from(subject_template(SUBJECT_RESOLVE)),
                                         .payload = buf_view(&bytes) },
                     RESOLVE_NS, on_inside, request, NULL, &err) < 0)
        refuse_operator_request(request, err.text);
}

static void judge_operator_job(struct operator_request *request)
{
    struct err err;

    if (operator_form_job(&request->arena, &request->form, &request->job, &err) < 0 ||
        dispatcher_check(&request->job, &err) < 0)
        refuse_operator_request(request, err.text);
    else
        ask_inside(request);
}

/* --- the job concerned -------------------------------------------------------------- */

static void on_owned(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct operator_request *request = self;
    struct err err;

    if (error || record_decode(&request->arena, &job_type, 1,
                               arena_str(&request->arena, entry->value), &request->job, &err) < 0) {
        refuse_operator_request(request, error ? error->text : err.text);
        return;
    }
    request->person = value_get_text(&request->job.metadata, OPERATOR_METADATA);
    judge_operator_request(request, &(struct param_strs){ 0 });
}

static void on_operator_waiting_job(void *self, const struct nats_error *error,
                                    const struct nats_kv_entry *entry)
{
    struct operator_request *request = self;
    struct approval approval;
    struct err err;

    if (error || record_decode(&request->arena, &approval_type, 1,
                               arena_str(&request->arena, entry->value), &approval, &err) < 0) {
        refuse_operator_request(request, !error                                 ? err.text
                                         : error->fault == NATS_FAULT_NOT_FOUND ? APPROVAL_UNKNOWN
                                                                                : error->text);
        return;
    }
    request->job = approval.job;
    request->person = approval.asked_by;
    ask_inside(request);
}

static void read_operator_record(struct operator_request *request, enum store_bucket bucket,
                                 const char *key, nats_kv_entry_fn *fn)
{
    const struct nats_kv kv = get_proxy_bucket(request, bucket);
    struct err err;

    if (nats_kv_get(&kv, key, fn, request, &err) < 0)
        refuse_operator_request(request, err.text);
}

static void judge_operator_approval(struct operator_request *request)
{
    struct approval_request wanted;
    struct err err;

    if (record_decode(&request->arena, &approval_request_type, 1, request->form.payload, &wanted,
                      &err) < 0)
        refuse_operator_request(request, err.text);
    else
        read_operator_record(request, STORE_APPROVALS, wanted.jid, on_operator_waiting_job);
}

/* --- the policy --------------------------------------------------------------------- */

static bool may_operator_read(struct operator_request *request)
{
    return policy_may_read(request->policy.role, request->reading.stream) ||
           (reading_narrow(&request->arena, request->form.payload, &request->reading) &&
            policy_may_read_one(request->policy.role, &request->reading));
}

static void judge_reading(struct operator_request *request)
{
    struct err why;

    if (policy_check_person(&request->policy, bus_time_seconds(), &why) < 0) {
        refuse_operator_request(request, why.text);
        return;
    }
    if (!may_operator_read(request)) {
        err_set(&why, ERR_INVALID, "operator '%s' may not read '%.*s': the role is '%s'",
                request->name, STR_ARG(request->reading.stream),
                operator_role_name(request->policy.role));
        refuse_operator_request(request, why.text);
        return;
    }
    forward_request(request);
}

static void judge_operator_act(struct operator_request *request)
{
    struct err why;

    if (policy_check_role(&request->policy, request->act, &why) < 0) {
        refuse_operator_request(request, why.text);
        return;
    }
    switch (request->act->ground) {
    case POLICY_JOB: judge_operator_job(request); break;
    case POLICY_APPROVAL: judge_operator_approval(request); break;
    case POLICY_OWNER:
        read_operator_record(request, STORE_JOBS, arena_str(&request->arena, request->jid).p,
                             on_owned);
        break;
    case POLICY_ROLE:
    case POLICY_EVENT: judge_operator_request(request, &(struct param_strs){ 0 }); break;
    }
}

static void on_proxy_policy(void *self, const struct nats_error *error,
                            const struct nats_kv_entry *entry)
{
    struct operator_request *request = self;
    struct err err;

    if (error && error->fault == NATS_FAULT_NOT_FOUND)
        refuse_operator_request(request, "no such operator");
    else if (error)
        refuse_operator_request(request, error->text);
    else if (record_decode(&request->arena, &operator_policy_type, 1,
                           arena_str(&request->arena, entry->value), &request->policy, &err) < 0)
        refuse_operator_request(request, err.text);
    else if (strcmp(request->policy.name, request->name) != 0)
        refuse_operator_request(request, "policy belongs to another operator");
    else if (request->act)
        judge_operator_act(request);
    else
        judge_reading(request);
}

/* --- requests ----------------------------------------------------------------------- */

/* Reads the request from the tokens after the name. */
static bool read_tokens(struct operator_request *request, struct str tokens)
{
    struct subject_names names;
    enum subject_kind kind;

    request->is_reading = str_starts(tokens, STR(READING_PREFIX "."));
    if (request->is_reading)
        return reading_parse(str_from_offset(tokens, strlen(READING_PREFIX ".")),
                             &request->reading);
    request->form.subject = str_from(arena_printf(&request->arena, "zester.%.*s", STR_ARG(tokens)));
    if (!subject_parse(request->form.subject, &kind, &names))
        return false;
    request->act = policy_find_act(kind);
    request->form.kind = kind;
    request->jid = names.jid;
    return request->act != NULL;
}

/* Replies go only to the operator; no master can be made to publish elsewhere. */
static bool is_own_inbox(struct operator_request *request, struct str reply)
{
    const char *prefix =
        arena_printf(&request->arena, "%s.", grant_operator_inbox(&request->arena, request->name));

    return reply.n == 0 || (str_starts(reply, str_from(prefix)) && nats_subject_is_plain(reply));
}

/* Where requests must be signed, the operator proxy signs forwarded ones, since they are new
 * messages. False: an unsigned job would be forwarded or stored. Other services refuse by
 * themselves. */
static bool check_request_signature(struct operator_request *request, const struct nats_msg *msg,
                                    struct err *err)
{
    struct master *master = request->proxy->master;

    if (request->is_reading || !master->conf.require_signed_requests)
        return true;
    request->is_vouched = authority_check_order(master, msg, err) == 0;
    return request->is_vouched || request->form.kind != SUBJECT_DISPATCH;
}

static struct operator_request *new_operator_request(struct operator_proxy *proxy,
                                                     const struct nats_msg *msg, struct str name)
{
    struct arena arena = ARENA_INIT;
    struct operator_request *request = ARENA_NEW(&arena, struct operator_request);

    *operator_request = (struct operator_request){ .operator_proxy = operator_proxy };
    operator_request->name = operator_request->form.name = arena_str(&arena, name).p;
    operator_request->form.payload = arena_str(&arena, msg->payload);
    operator_request->arena = arena;
    operator_request->is_too_many =
        !operator_rate_begin(&operator_proxy->rate, operator_request->name);
    operator_proxy->visits++;
    return operator_request;
}

static void on_operator_request(void *self, const struct nats_msg *msg)
{
    struct operator_proxy *proxy = self;
    struct subject_names names;
    enum subject_kind kind;
    struct operator_request *request;
    struct err err;

    if (!subject_parse(msg->subject, &kind, &names) || kind != SUBJECT_OPERATOR)
        return;
    request = new_operator_request(proxy, msg, names.peel);
    if (!is_own_inbox(request, msg->reply)) {
        refuse_operator_request(request, "reply subject is not an inbox of this operator");
        return;
    }
    operator_request->reply = arena_str(&operator_request->arena, msg->reply);
    if (!read_tokens(operator_request, arena_str(&operator_request->arena, names.tag)))
        refuse_visit(operator_request, "nobody with a name may do this: it needs admin.creds");
    else if (operator_request->is_too_many || operator_proxy->visits > VISITS_MAX)
        refuse_visit(operator_request, "too many requests at once");
    else if (!vouch_for(operator_request, msg, &err))
        refuse_visit(operator_request, err.text);
    else
        read_operator_record(request, STORE_OPERATORS, request->name, on_proxy_policy);
}

/* --- the service -------------------------------------------------------------------- */

static void *open_operator_proxy(struct master *master, struct err *err)
{
    struct operator_proxy *proxy = mem_zalloc(sizeof(*proxy));

    (void)err;
    operator_proxy->master = master;
    operator_rate_init(&operator_proxy->rate);
    return operator_proxy;
}

static void free_gate(void *self)
{
    struct operator_proxy *operator_proxy = self;

    operator_rate_done(&operator_proxy->rate);
    free(operator_proxy);
}

static int start_gate(void *self, struct err *err)
{
    struct operator_proxy *proxy = self;
    AUTO_BUF struct buf pattern = BUF_INIT(SUBJECT_MAX);

    if (subject_print_pattern(&pattern, SUBJECT_OPERATOR, NULL, err) < 0)
        return -1;
    proxy->requests =
        nats_sub_new(proxy->master->js.conn,
                     &(struct nats_sub_options){ .subject = buf_text(&pattern),
                                                 .queue = subject_queue(SUBJECT_OPERATOR),
                                                 .message = on_operator_request,
                                                 .self = proxy },
                     err);
    return proxy->requests ? 0 : -1;
}

static void stop_operator_proxy(void *self)
{
    struct operator_proxy *proxy = self;

    nats_sub_free(proxy->requests);
    proxy->requests = NULL;
}

const struct master_service operator_proxy_service = {
    .name = "operators",
    .open = open_gate,
    .start = start_gate,
    .stop = stop_gate,
    .free = free_gate,
};
