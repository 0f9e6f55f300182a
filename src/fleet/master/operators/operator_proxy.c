/*
 * The service "operators": whoever has a name asks here for everything.
 *
 *     zester.operator.alice.dispatch -> the policy of alice -> zester.dispatch, as alice
 *
 * The name is that of the subject, which servers hold every client to; what the payload says of it
 * is replaced. The policy is read anew for each request, and what cannot be read is refused. What
 * is allowed goes on to the service that does it, which answers to the operator itself: so replies
 * must go to an inbox of theirs, or they could make masters publish anywhere. Answers of JetStream
 * do not leave the fleet's account (fleet/bus/accounts.h), so the operator proxy hands them on.
 *
 * A refusal is an empty message with the header OPERATOR_REFUSED, and for JetStream an error in its
 * own form.
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
#include "fleet/wire/question.h"

#define PAYLOAD_MAX ((size_t)8 << 20)
#define RESOLVE_NS  (5 * CLOCK_SECOND)
/* Requests that are looked at, or wait for their answer, at once. */
#define REQUESTS_MAX (4 * OPERATOR_RATE_REQUESTS)
/* For JetStream to answer. */
#define ANSWER_NS     (10 * CLOCK_SECOND)
#define NO_RESPONDERS "NATS/1.0 503\r\n"

struct operator_proxy {
    struct master *master;
    struct nats_sub *requests;
    size_t request_count;
    struct operator_rate rate;
};

/* A request under way. */
struct operator_request {
    struct arena arena;
    struct operator_proxy *operator_proxy;
    const char *name;
    struct operator_form form;
    const struct policy_act *act; /* NULL: it reads, or asks for what nobody may */
    bool is_reading;
    bool is_too_many; /* of this operator at once */
    bool is_vouched;  /* the operator's key has signed it, and masters ask for that */
    struct reading reading;
    struct str jid; /* of its subject */
    struct str reply;
    struct operator_policy policy;
    struct job job;     /* that it is about */
    const char *person; /* whose that is */
};

static struct nats_kv get_proxy_bucket(const struct operator_request *operator_request,
                                       enum store_bucket bucket)
{
    return (struct nats_kv){ .js = operator_request->operator_proxy->master->js,
                             .bucket = store_bucket_name(bucket),
                             .indirect = true };
}

static void end_operator_request(struct operator_request *operator_request)
{
    struct arena arena = operator_request->arena;

    operator_request->operator_proxy->request_count--;
    operator_rate_end(&operator_request->operator_proxy->rate, operator_request->name);
    arena_done(&arena); /* the operator request is in it */
}

/* --- answers ------------------------------------------------------------------------ */

static void answer_operator(const struct operator_request *operator_request, struct str header,
                            struct str payload)
{
    struct err err;

    if (operator_request->reply.n > 0 &&
        nats_publish(operator_request->operator_proxy->master->js.conn,
                     &(struct nats_pub){
                         .subject = operator_request->reply, .header = header, .payload = payload },
                     &err) < 0)
        log_warning("answer to operator %s: %s", operator_request->name, err.text);
}

static void answer_refused(struct operator_request *operator_request, const char *reason)
{
    AUTO_BUF struct buf header = BUF_INIT(NATS_HEADER_MAX), body = BUF_INIT(NATS_HEADER_MAX);
    char line[ERR_TEXT_SIZE];
    struct err err;
    size_t n = 0;

    if (!operator_request->is_reading) {
        for (; reason[n] && n < sizeof(line) - 1; n++) /* texts of others may have line ends */
            line[n] = (unsigned char)reason[n] < ' ' ? ' ' : reason[n];
        line[n] = '\0';
        if (nats_header_add(&header, OPERATOR_REFUSED, str_from(line), &err) < 0)
            log_warning("answer to operator %s: %s", operator_request->name, err.text);
    } else {
        buf_add_text(&body, "{\"error\":{\"code\":403,\"description\":");
        json_print_text(&body, str_from(reason), JSON_STYLE_COMPACT);
        buf_add_text(&body, "}}");
    }
    answer_operator(operator_request, buf_view(&header), buf_view(&body));
}

static void audit_refusal(const struct operator_request *operator_request, const char *reason)
{
    const struct job *job = operator_request->job.function ? &operator_request->job : NULL;

    audit_log(&(struct audit){ .action = operator_request->act ? operator_request->act->name
                                         : operator_request->is_reading ? "operator.read"
                                                                        : "operator.request",
                               .by = operator_request->name,
                               .id = job ? job->jid : NULL,
                               .function = job ? job->function : NULL,
                               .target = job ? job->target_expr : NULL,
                               .error = reason });
}

static void refuse_operator_request(struct operator_request *operator_request, const char *reason)
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
    end_operator_request(operator_request);
}

/* --- passing on --------------------------------------------------------------------- */

/* A header as it came ends in an empty line, which is added when it is sent. */
static struct str strip_empty_line(struct str header)
{
    return str_ends(header, STR("\r\n\r\n")) ? str_slice(header, 0, header.n - 2) : header;
}

/* An answer of JetStream. */
static void on_jetstream_answer(void *self, const struct nats_error *error,
                                const struct nats_msg *msg)
{
    struct operator_request *operator_request = self;

    if (!error)
        answer_operator(operator_request, strip_empty_line(msg->header), msg->payload);
    else if (error->fault == NATS_FAULT_NO_RESPONDERS)
        answer_operator(operator_request, STR(NO_RESPONDERS), STR(""));
    end_operator_request(operator_request);
}

/* Messages of a consumer, of which there may be many, do leave the account. */
static bool is_handed_on(const struct operator_request *operator_request)
{
    return operator_request->is_reading &&
           operator_request->reading.verb != READING_CONSUMER_NEXT && operator_request->reply.n > 0;
}

/* The operator request ends with the answer, or here. */
static int send_on(struct operator_request *operator_request, struct str subject, struct str header,
                   struct str payload, struct err *err)
{
    /* Nobody answers a cancel, so the operator proxy does. */
    const bool is_answered =
        operator_request->form.kind != SUBJECT_JOB_CANCEL || !operator_request->act;
    const struct authority *authority =
        master_find(operator_request->operator_proxy->master, &authority_service);
    struct nats_conn *conn = operator_request->operator_proxy->master->js.conn;
    const struct request_signature_signer signer = { .key = &authority->account };
    struct nats_pub pub = { .subject = subject,
                            .reply = is_answered ? operator_request->reply : STR(""),
                            .header = header,
                            .payload = payload };

    if (operator_request->is_vouched &&
        request_signature_add(&operator_request->arena, &signer, is_answered, &pub, err) < 0)
        return -1;
    if (is_handed_on(operator_request))
        return nats_request(conn, &pub, ANSWER_NS, on_jetstream_answer, operator_request, NULL,
                            err);
    if (nats_publish(conn, &pub, err) < 0)
        return -1;
    if (!is_answered)
        answer_operator(operator_request, STR(""), STR(""));
    end_operator_request(operator_request);
    return 0;
}

static int send_reading(struct operator_request *operator_request, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(NATS_SUBJECT_MAX), body = BUF_INIT(PAYLOAD_MAX);

    reading_print_subject(&operator_request->reading, &subject);
    if (reading_print_body(&operator_request->arena, &operator_request->reading,
                           operator_request->form.payload, &body, err) < 0)
        return -1;
    return send_on(operator_request, buf_view(&subject), STR(""), buf_view(&body), err);
}

static int send_form(struct operator_request *operator_request, struct err *err)
{
    AUTO_BUF struct buf payload = BUF_INIT(PAYLOAD_MAX), header = BUF_INIT(NATS_HEADER_MAX);

    if (operator_form_print(&operator_request->arena, &operator_request->form, &payload, &header,
                            err) < 0)
        return -1;
    return send_on(operator_request, operator_request->form.subject, buf_view(&header),
                   buf_view(&payload), err);
}

/* Services write who did what; an event has none. */
static void note_event(const struct operator_request *operator_request)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (operator_request->act && operator_request->form.kind == SUBJECT_EVENT_ADMIN)
        audit_log(&(struct audit){ .action = operator_request->act->name,
                                   .by = operator_request->name,
                                   .id = arena_str(&arena, operator_request->form.subject).p });
}

static void forward_request(struct operator_request *operator_request)
{
    struct err err;

    note_event(operator_request);
    if ((operator_request->act ? send_form(operator_request, &err)
                               : send_reading(operator_request, &err)) < 0)
        refuse_operator_request(operator_request, err.text);
}

/* --- jobs that wait for a second person ---------------------------------------------- */

static void on_operator_job_kept(void *self, const char *error)
{
    struct operator_request *operator_request = self;
    const struct job_reply reply = { .jid = operator_request->job.jid, .error = "", .waits = true };

    if (error) {
        refuse_operator_request(operator_request, error);
        return;
    }
    audit_log(&(struct audit){ .action = "job.wait",
                               .by = operator_request->name,
                               .id = operator_request->job.jid,
                               .function = operator_request->job.function,
                               .target = operator_request->job.target_expr });
    if (operator_request->reply.n > 0)
        master_answer(operator_request->operator_proxy->master, operator_request->reply,
                      &job_reply_type, &reply);
    end_operator_request(operator_request);
}

/* --- deciding ----------------------------------------------------------------------- */

static void judge_operator_request(struct operator_request *operator_request,
                                   const struct param_strs *inside)
{
    const struct policy_question question = {
        .act = operator_request->act,
        .job = &operator_request->job,
        .inside = *inside,
        .person = operator_request->person ? operator_request->person : "",
        .now = bus_time_seconds(),
    };
    struct err why;

    switch (policy_decide(&operator_request->policy, &question, &why)) {
    case POLICY_ALLOWED: forward_request(operator_request); break;
    case POLICY_REFUSED: refuse_operator_request(operator_request, why.text); break;
    case POLICY_WAITS:
        approvals_keep(operator_request->operator_proxy->master, &operator_request->job,
                       on_operator_job_kept, operator_request);
        break;
    }
}

static void on_inside(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct operator_request *operator_request = self;
    struct question_resolved answer_to;
    struct err err;

    if (error) {
        refuse_operator_request(operator_request, error->text);
        return;
    }
    if (record_decode(&operator_request->arena, &question_resolved_type, 1,
                      arena_str(&operator_request->arena, msg->payload), &answer_to, &err) < 0) {
        refuse_operator_request(operator_request, err.text);
        return;
    }
    if (answer_to.err[0]) {
        err_set(&err, ERR_BUSY, "%s", answer_to.err);
        err_wrap(&err, "the target of operator '%s'", operator_request->name);
        refuse_operator_request(operator_request, err.text);
        return;
    }
    judge_operator_request(operator_request, &answer_to.peels);
}

/* Who is inside of the operator's target? */
static void ask_inside(struct operator_request *operator_request)
{
    AUTO_BUF struct buf bytes = BUF_INIT(PAYLOAD_MAX);
    const struct question_resolve question = { .expr = operator_request->policy.target,
                                               .type = "" };
    struct err err;

    if (record_encode(&bytes, &question_resolve_type, &question, &err) < 0 ||
        nats_request(operator_request->operator_proxy->master->js.conn,
                     &(struct nats_pub){ .subject = str_from(subject_template(SUBJECT_RESOLVE)),
                                         .payload = buf_view(&bytes) },
                     RESOLVE_NS, on_inside, operator_request, NULL, &err) < 0)
        refuse_operator_request(operator_request, err.text);
}

static void judge_operator_job(struct operator_request *operator_request)
{
    struct err err;

    if (operator_form_job(&operator_request->arena, &operator_request->form, &operator_request->job,
                          &err) < 0 ||
        dispatcher_check(&operator_request->job, &err) < 0)
        refuse_operator_request(operator_request, err.text);
    else
        ask_inside(operator_request);
}

/* --- the job that is meant ------------------------------------------------------------ */

static void on_owned(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct operator_request *operator_request = self;
    struct err err;

    if (error || record_decode(&operator_request->arena, &job_type, 1,
                               arena_str(&operator_request->arena, entry->value),
                               &operator_request->job, &err) < 0) {
        refuse_operator_request(operator_request, error ? error->text : err.text);
        return;
    }
    operator_request->person = value_get_text(&operator_request->job.metadata, OPERATOR_METADATA);
    judge_operator_request(operator_request, &(struct param_strs){ 0 });
}

static void on_operator_waiting_job(void *self, const struct nats_error *error,
                                    const struct nats_kv_entry *entry)
{
    struct operator_request *operator_request = self;
    struct approval approval;
    struct err err;

    if (error ||
        record_decode(&operator_request->arena, &approval_type, 1,
                      arena_str(&operator_request->arena, entry->value), &approval, &err) < 0) {
        refuse_operator_request(operator_request, !error ? err.text
                                                  : error->fault == NATS_FAULT_NOT_FOUND
                                                      ? APPROVAL_UNKNOWN
                                                      : error->text);
        return;
    }
    operator_request->job = approval.job;
    operator_request->person = approval.asked_by;
    ask_inside(operator_request);
}

static void read_operator_record(struct operator_request *operator_request,
                                 enum store_bucket bucket, const char *key, nats_kv_entry_fn *fn)
{
    const struct nats_kv kv = get_proxy_bucket(operator_request, bucket);
    struct err err;

    if (nats_kv_get(&kv, key, fn, operator_request, &err) < 0)
        refuse_operator_request(operator_request, err.text);
}

static void judge_operator_approval(struct operator_request *operator_request)
{
    struct approval_request request;
    struct err err;

    if (record_decode(&operator_request->arena, &approval_request_type, 1,
                      operator_request->form.payload, &request, &err) < 0)
        refuse_operator_request(operator_request, err.text);
    else
        read_operator_record(operator_request, STORE_APPROVALS, request.jid,
                             on_operator_waiting_job);
}

/* --- the policy --------------------------------------------------------------------- */

static bool may_operator_read(struct operator_request *operator_request)
{
    return policy_may_read(operator_request->policy.role, operator_request->reading.stream) ||
           (reading_narrow(&operator_request->arena, operator_request->form.payload,
                           &operator_request->reading) &&
            policy_may_read_one(operator_request->policy.role, &operator_request->reading));
}

static void judge_reading(struct operator_request *operator_request)
{
    struct err why;

    if (policy_check_person(&operator_request->policy, bus_time_seconds(), &why) < 0) {
        refuse_operator_request(operator_request, why.text);
        return;
    }
    if (!may_operator_read(operator_request)) {
        err_set(&why, ERR_INVALID, "operator '%s' may not read '%.*s': the role is '%s'",
                operator_request->name, STR_ARG(operator_request->reading.stream),
                operator_role_name(operator_request->policy.role));
        refuse_operator_request(operator_request, why.text);
        return;
    }
    forward_request(operator_request);
}

static void judge_operator_act(struct operator_request *operator_request)
{
    struct err why;

    if (policy_check_role(&operator_request->policy, operator_request->act, &why) < 0) {
        refuse_operator_request(operator_request, why.text);
        return;
    }
    switch (operator_request->act->ground) {
    case POLICY_JOB: judge_operator_job(operator_request); break;
    case POLICY_APPROVAL: judge_operator_approval(operator_request); break;
    case POLICY_OWNER:
        read_operator_record(operator_request, STORE_JOBS,
                             arena_str(&operator_request->arena, operator_request->jid).p,
                             on_owned);
        break;
    case POLICY_ROLE:
    case POLICY_EVENT: judge_operator_request(operator_request, &(struct param_strs){ 0 }); break;
    }
}

static void on_proxy_policy(void *self, const struct nats_error *error,
                            const struct nats_kv_entry *entry)
{
    struct operator_request *operator_request = self;
    struct err err;

    if (error && error->fault == NATS_FAULT_NOT_FOUND)
        refuse_operator_request(operator_request, "no such operator");
    else if (error)
        refuse_operator_request(operator_request, error->text);
    else if (record_decode(&operator_request->arena, &operator_policy_type, 1,
                           arena_str(&operator_request->arena, entry->value),
                           &operator_request->policy, &err) < 0)
        refuse_operator_request(operator_request, err.text);
    else if (strcmp(operator_request->policy.name, operator_request->name) != 0)
        refuse_operator_request(operator_request, "policy belongs to another operator");
    else if (operator_request->act)
        judge_operator_act(operator_request);
    else
        judge_reading(operator_request);
}

/* --- requests ----------------------------------------------------------------------- */

/* The request kind, by the tokens after the name. */
static bool read_tokens(struct operator_request *operator_request, struct str tokens)
{
    struct subject_names names;
    enum subject_kind kind;

    operator_request->is_reading = str_starts(tokens, STR(READING_PREFIX "."));
    if (operator_request->is_reading)
        return reading_parse(str_from_offset(tokens, strlen(READING_PREFIX ".")),
                             &operator_request->reading);
    operator_request->form.subject =
        str_from(arena_printf(&operator_request->arena, "zester.%.*s", STR_ARG(tokens)));
    if (!subject_parse(operator_request->form.subject, &kind, &names))
        return false;
    operator_request->act = policy_find_act(kind);
    operator_request->form.kind = kind;
    operator_request->jid = names.jid;
    return operator_request->act != NULL;
}

/* Replies go to nobody else, and no master is made to publish elsewhere. */
static bool is_own_inbox(struct operator_request *operator_request, struct str reply)
{
    const char *prefix =
        arena_printf(&operator_request->arena, "%s.",
                     grant_operator_inbox(&operator_request->arena, operator_request->name));

    return reply.n == 0 || (str_starts(reply, str_from(prefix)) && nats_subject_is_plain(reply));
}

/* Where orders must be signed, the operator proxy signs what it passes on, since it is another
 * message. False: it would pass on, or store, a job that nobody has signed. Other services refuse
 * by themselves. */
static bool check_request_signature(struct operator_request *operator_request,
                                    const struct nats_msg *msg, struct err *err)
{
    struct master *master = operator_request->operator_proxy->master;

    if (operator_request->is_reading || !master->conf.require_signed_requests)
        return true;
    operator_request->is_vouched = authority_check_order(master, msg, err) == 0;
    return operator_request->is_vouched || operator_request->form.kind != SUBJECT_DISPATCH;
}

static struct operator_request *new_operator_request(struct operator_proxy *operator_proxy,
                                                     const struct nats_msg *msg, struct str name)
{
    struct arena arena = ARENA_INIT;
    struct operator_request *operator_request = ARENA_NEW(&arena, struct operator_request);

    *operator_request = (struct operator_request){ .operator_proxy = operator_proxy };
    operator_request->name = operator_request->form.name = arena_str(&arena, name).p;
    operator_request->form.payload = arena_str(&arena, msg->payload);
    operator_request->arena = arena;
    operator_request->is_too_many =
        !operator_rate_begin(&operator_proxy->rate, operator_request->name);
    operator_proxy->request_count++;
    return operator_request;
}

static void on_operator_request(void *self, const struct nats_msg *msg)
{
    struct operator_proxy *operator_proxy = self;
    struct subject_names names;
    enum subject_kind kind;
    struct operator_request *operator_request;
    struct err err;

    if (!subject_parse(msg->subject, &kind, &names) || kind != SUBJECT_OPERATOR)
        return;
    operator_request = new_operator_request(operator_proxy, msg, names.peel);
    if (!is_own_inbox(operator_request, msg->reply)) {
        refuse_operator_request(operator_request, "reply subject is not an inbox of this operator");
        return;
    }
    operator_request->reply = arena_str(&operator_request->arena, msg->reply);
    if (!read_tokens(operator_request, arena_str(&operator_request->arena, names.tag)))
        refuse_operator_request(operator_request, "permission denied: requires admin.creds");
    else if (operator_request->is_too_many || operator_proxy->request_count > REQUESTS_MAX)
        refuse_operator_request(operator_request, "too many requests at once");
    else if (!check_request_signature(operator_request, msg, &err))
        refuse_operator_request(operator_request, err.text);
    else
        read_operator_record(operator_request, STORE_OPERATORS, operator_request->name,
                             on_proxy_policy);
}

/* --- the service -------------------------------------------------------------------- */

static void *open_operator_proxy(struct master *master, struct err *err)
{
    struct operator_proxy *operator_proxy = mem_zalloc(sizeof(*operator_proxy));

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

static int start_operator_proxy(void *self, struct err *err)
{
    struct operator_proxy *operator_proxy = self;
    AUTO_BUF struct buf pattern = BUF_INIT(SUBJECT_MAX);

    if (subject_print_pattern(&pattern, SUBJECT_OPERATOR, NULL, err) < 0)
        return -1;
    operator_proxy->requests =
        nats_sub_new(operator_proxy->master->js.conn,
                     &(struct nats_sub_options){ .subject = buf_text(&pattern),
                                                 .queue = subject_queue(SUBJECT_OPERATOR),
                                                 .message = on_operator_request,
                                                 .self = operator_proxy },
                     err);
    return operator_proxy->requests ? 0 : -1;
}

static void stop_operator_proxy(void *self)
{
    struct operator_proxy *operator_proxy = self;

    nats_sub_free(operator_proxy->requests);
    operator_proxy->requests = NULL;
}

const struct master_service operator_proxy_service = {
    .name = "operators",
    .open = open_operator_proxy,
    .start = start_operator_proxy,
    .stop = stop_operator_proxy,
    .free = free_gate,
};
