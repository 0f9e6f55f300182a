/*
 * The service "operators": whoever has a name asks here for everything.
 *
 *     zester.operator.alice.dispatch -> the policy of alice -> zester.dispatch, as alice
 *
 * The name is that of the subject, which servers hold every client to; what the payload says of it
 * is replaced. The policy is read anew for each request, and what cannot be read is refused. What
 * is allowed goes on to the service that does it, which answers to the operator itself: so replies
 * must go to an inbox of theirs, or they could make masters publish anywhere. Answers of JetStream
 * do not leave the fleet's account (fleet/bus/accounts.h), so the gate hands them on.
 *
 * A refusal is an empty message with the header OPERATOR_REFUSED, and for JetStream an error in its
 * own form.
 */
#include "fleet/master/operators/operator_gate.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/grant.h"
#include "fleet/bus/operator_form.h"
#include "fleet/bus/store.h"
#include "fleet/bus/warrant.h"
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

struct gate {
    struct master *master;
    struct nats_sub *requests;
    size_t visits;
    struct operator_rate rate;
};

/* A request under way. */
struct visit {
    struct arena arena;
    struct gate *gate;
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

static struct nats_kv open_bucket(const struct visit *visit, enum store_bucket bucket)
{
    return (struct nats_kv){ .js = visit->gate->master->js,
                             .bucket = store_bucket_name(bucket),
                             .indirect = true };
}

static void end_visit(struct visit *visit)
{
    struct arena arena = visit->arena;

    visit->gate->visits--;
    operator_rate_end(&visit->gate->rate, visit->name);
    arena_done(&arena); /* the visit is in it */
}

/* --- answers ------------------------------------------------------------------------ */

static void answer(const struct visit *visit, struct str header, struct str payload)
{
    struct err err;

    if (visit->reply.n > 0 &&
        nats_publish(
            visit->gate->master->js.conn,
            &(struct nats_pub){ .subject = visit->reply, .header = header, .payload = payload },
            &err) < 0)
        log_warning("answer to operator %s: %s", visit->name, err.text);
}

static void answer_refused(struct visit *visit, const char *reason)
{
    AUTO_BUF struct buf header = BUF_INIT(NATS_HEADER_MAX), body = BUF_INIT(NATS_HEADER_MAX);
    char line[ERR_TEXT_SIZE];
    struct err err;
    size_t n = 0;

    if (!visit->is_reading) {
        for (; reason[n] && n < sizeof(line) - 1; n++) /* texts of others may have line ends */
            line[n] = (unsigned char)reason[n] < ' ' ? ' ' : reason[n];
        line[n] = '\0';
        if (nats_header_add(&header, OPERATOR_REFUSED, str_from(line), &err) < 0)
            log_warning("answer to operator %s: %s", visit->name, err.text);
    } else {
        buf_add_text(&body, "{\"error\":{\"code\":403,\"description\":");
        json_print_text(&body, str_from(reason), JSON_STYLE_COMPACT);
        buf_add_text(&body, "}}");
    }
    answer(visit, buf_view(&header), buf_view(&body));
}

static void audit_refusal(const struct visit *visit, const char *reason)
{
    const struct job *job = visit->job.function ? &visit->job : NULL;

    audit_log(&(struct audit){ .action = visit->act          ? visit->act->name
                                         : visit->is_reading ? "operator.read"
                                                             : "operator.request",
                               .by = visit->name,
                               .id = job ? job->jid : NULL,
                               .function = job ? job->function : NULL,
                               .target = job ? job->target_expr : NULL,
                               .error = reason });
}

static void refuse_visit(struct visit *visit, const char *reason)
{
    const enum operator_rate_line line =
        operator_rate_refuse(&visit->gate->rate, visit->name, clock_now());

    if (line != OPERATOR_RATE_SILENT) {
        audit_refusal(visit, reason);
        answer_refused(visit, reason);
    }
    if (line == OPERATOR_RATE_LAST)
        log_warning("further refusals are neither logged nor answered for a minute operator=%s",
                    visit->name);
    end_visit(visit);
}

/* --- passing on --------------------------------------------------------------------- */

/* A header as it came ends in an empty line, which is added when it is sent. */
static struct str without_empty_line(struct str header)
{
    return str_ends(header, STR("\r\n\r\n")) ? str_slice(header, 0, header.n - 2) : header;
}

/* An answer of JetStream. */
static void on_answer(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct visit *visit = self;

    if (!error)
        answer(visit, without_empty_line(msg->header), msg->payload);
    else if (error->fault == NATS_FAULT_NO_RESPONDERS)
        answer(visit, STR(NO_RESPONDERS), STR(""));
    end_visit(visit);
}

/* Messages of a consumer, of which there may be many, do leave the account. */
static bool is_handed_on(const struct visit *visit)
{
    return visit->is_reading && visit->reading.verb != READING_CONSUMER_NEXT && visit->reply.n > 0;
}

/* The visit ends with the answer, or here. */
static int send_on(struct visit *visit, struct str subject, struct str header, struct str payload,
                   struct err *err)
{
    /* Nobody answers a cancel, so the gate does. */
    const bool is_answered = visit->form.kind != SUBJECT_JOB_CANCEL || !visit->act;
    const struct authority *authority = master_find(visit->gate->master, &authority_service);
    struct nats_conn *conn = visit->gate->master->js.conn;
    const struct warrant_signer signer = { .key = &authority->account };
    struct nats_pub pub = { .subject = subject,
                            .reply = is_answered ? visit->reply : STR(""),
                            .header = header,
                            .payload = payload };

    if (visit->is_vouched && warrant_add(&visit->arena, &signer, is_answered, &pub, err) < 0)
        return -1;
    if (is_handed_on(visit))
        return nats_request(conn, &pub, ANSWER_NS, on_answer, visit, NULL, err);
    if (nats_publish(conn, &pub, err) < 0)
        return -1;
    if (!is_answered)
        answer(visit, STR(""), STR(""));
    end_visit(visit);
    return 0;
}

static int send_reading(struct visit *visit, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(NATS_SUBJECT_MAX), body = BUF_INIT(PAYLOAD_MAX);

    reading_print_subject(&visit->reading, &subject);
    if (reading_print_body(&visit->arena, &visit->reading, visit->form.payload, &body, err) < 0)
        return -1;
    return send_on(visit, buf_view(&subject), STR(""), buf_view(&body), err);
}

static int send_form(struct visit *visit, struct err *err)
{
    AUTO_BUF struct buf payload = BUF_INIT(PAYLOAD_MAX), header = BUF_INIT(NATS_HEADER_MAX);

    if (operator_form_print(&visit->arena, &visit->form, &payload, &header, err) < 0)
        return -1;
    return send_on(visit, visit->form.subject, buf_view(&header), buf_view(&payload), err);
}

/* Services write who did what; an event has none. */
static void note_event(const struct visit *visit)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (visit->act && visit->form.kind == SUBJECT_EVENT_ADMIN)
        audit_log(&(struct audit){ .action = visit->act->name,
                                   .by = visit->name,
                                   .id = arena_str(&arena, visit->form.subject).p });
}

static void pass_on(struct visit *visit)
{
    struct err err;

    note_event(visit);
    if ((visit->act ? send_form(visit, &err) : send_reading(visit, &err)) < 0)
        refuse_visit(visit, err.text);
}

/* --- jobs that wait for a second person ---------------------------------------------- */

static void on_kept(void *self, const char *error)
{
    struct visit *visit = self;
    const struct job_reply reply = { .jid = visit->job.jid, .error = "", .waits = true };

    if (error) {
        refuse_visit(visit, error);
        return;
    }
    audit_log(&(struct audit){ .action = "job.wait",
                               .by = visit->name,
                               .id = visit->job.jid,
                               .function = visit->job.function,
                               .target = visit->job.target_expr });
    if (visit->reply.n > 0)
        master_answer(visit->gate->master, visit->reply, &job_reply_type, &reply);
    end_visit(visit);
}

/* --- deciding ----------------------------------------------------------------------- */

static void judge_visit(struct visit *visit, const struct param_strs *inside)
{
    const struct policy_question question = {
        .act = visit->act,
        .job = &visit->job,
        .inside = *inside,
        .person = visit->person ? visit->person : "",
        .now = bus_time_seconds(),
    };
    struct err why;

    switch (policy_decide(&visit->policy, &question, &why)) {
    case POLICY_ALLOWED: pass_on(visit); break;
    case POLICY_REFUSED: refuse_visit(visit, why.text); break;
    case POLICY_WAITS: approvals_keep(visit->gate->master, &visit->job, on_kept, visit); break;
    }
}

static void on_inside(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct visit *visit = self;
    struct question_resolved answer_to;
    struct err err;

    if (error) {
        refuse_visit(visit, error->text);
        return;
    }
    if (record_decode(&visit->arena, &question_resolved_type, 1,
                      arena_str(&visit->arena, msg->payload), &answer_to, &err) < 0) {
        refuse_visit(visit, err.text);
        return;
    }
    if (answer_to.err[0]) {
        err_set(&err, ERR_BUSY, "%s", answer_to.err);
        err_wrap(&err, "the target of operator '%s'", visit->name);
        refuse_visit(visit, err.text);
        return;
    }
    judge_visit(visit, &answer_to.peels);
}

/* Who is inside of the operator's target? */
static void ask_inside(struct visit *visit)
{
    AUTO_BUF struct buf bytes = BUF_INIT(PAYLOAD_MAX);
    const struct question_resolve question = { .expr = visit->policy.target, .type = "" };
    struct err err;

    if (record_encode(&bytes, &question_resolve_type, &question, &err) < 0 ||
        nats_request(visit->gate->master->js.conn,
                     &(struct nats_pub){ .subject = str_from(subject_template(SUBJECT_RESOLVE)),
                                         .payload = buf_view(&bytes) },
                     RESOLVE_NS, on_inside, visit, NULL, &err) < 0)
        refuse_visit(visit, err.text);
}

static void judge_job(struct visit *visit)
{
    struct err err;

    if (operator_form_job(&visit->arena, &visit->form, &visit->job, &err) < 0 ||
        dispatcher_check(&visit->job, &err) < 0)
        refuse_visit(visit, err.text);
    else
        ask_inside(visit);
}

/* --- the job that is meant ------------------------------------------------------------ */

static void on_owned(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct visit *visit = self;
    struct err err;

    if (error || record_decode(&visit->arena, &job_type, 1, arena_str(&visit->arena, entry->value),
                               &visit->job, &err) < 0) {
        refuse_visit(visit, error ? error->text : err.text);
        return;
    }
    visit->person = value_get_text(&visit->job.metadata, OPERATOR_METADATA);
    judge_visit(visit, &(struct param_strs){ 0 });
}

static void on_waiting(void *self, const struct nats_error *error,
                       const struct nats_kv_entry *entry)
{
    struct visit *visit = self;
    struct approval approval;
    struct err err;

    if (error || record_decode(&visit->arena, &approval_type, 1,
                               arena_str(&visit->arena, entry->value), &approval, &err) < 0) {
        refuse_visit(visit, !error                                 ? err.text
                            : error->fault == NATS_FAULT_NOT_FOUND ? APPROVAL_UNKNOWN
                                                                   : error->text);
        return;
    }
    visit->job = approval.job;
    visit->person = approval.asked_by;
    ask_inside(visit);
}

static void read_record(struct visit *visit, enum store_bucket bucket, const char *key,
                        nats_kv_entry_fn *fn)
{
    const struct nats_kv kv = open_bucket(visit, bucket);
    struct err err;

    if (nats_kv_get(&kv, key, fn, visit, &err) < 0)
        refuse_visit(visit, err.text);
}

static void judge_approval(struct visit *visit)
{
    struct approval_request request;
    struct err err;

    if (record_decode(&visit->arena, &approval_request_type, 1, visit->form.payload, &request,
                      &err) < 0)
        refuse_visit(visit, err.text);
    else
        read_record(visit, STORE_APPROVALS, request.jid, on_waiting);
}

/* --- the policy --------------------------------------------------------------------- */

static bool may_read(struct visit *visit)
{
    return policy_may_read(visit->policy.role, visit->reading.stream) ||
           (reading_narrow(&visit->arena, visit->form.payload, &visit->reading) &&
            policy_may_read_one(visit->policy.role, &visit->reading));
}

static void judge_reading(struct visit *visit)
{
    struct err why;

    if (policy_check_person(&visit->policy, bus_time_seconds(), &why) < 0) {
        refuse_visit(visit, why.text);
        return;
    }
    if (!may_read(visit)) {
        err_set(&why, ERR_INVALID, "operator '%s' may not read '%.*s': the role is '%s'",
                visit->name, STR_ARG(visit->reading.stream),
                operator_role_name(visit->policy.role));
        refuse_visit(visit, why.text);
        return;
    }
    pass_on(visit);
}

static void judge_act(struct visit *visit)
{
    struct err why;

    if (policy_check_role(&visit->policy, visit->act, &why) < 0) {
        refuse_visit(visit, why.text);
        return;
    }
    switch (visit->act->ground) {
    case POLICY_JOB: judge_job(visit); break;
    case POLICY_APPROVAL: judge_approval(visit); break;
    case POLICY_OWNER:
        read_record(visit, STORE_JOBS, arena_str(&visit->arena, visit->jid).p, on_owned);
        break;
    case POLICY_ROLE:
    case POLICY_EVENT: judge_visit(visit, &(struct param_strs){ 0 }); break;
    }
}

static void on_policy(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct visit *visit = self;
    struct err err;

    if (error && error->fault == NATS_FAULT_NOT_FOUND)
        refuse_visit(visit, "there is no operator of this name");
    else if (error)
        refuse_visit(visit, error->text);
    else if (record_decode(&visit->arena, &operator_policy_type, 1,
                           arena_str(&visit->arena, entry->value), &visit->policy, &err) < 0)
        refuse_visit(visit, err.text);
    else if (strcmp(visit->policy.name, visit->name) != 0)
        refuse_visit(visit, "the policy is that of somebody else");
    else if (visit->act)
        judge_act(visit);
    else
        judge_reading(visit);
}

/* --- requests ----------------------------------------------------------------------- */

/* What is asked for, by the tokens after the name. */
static bool read_tokens(struct visit *visit, struct str tokens)
{
    struct subject_names names;
    enum subject_kind kind;

    visit->is_reading = str_starts(tokens, STR(READING_PREFIX "."));
    if (visit->is_reading)
        return reading_parse(str_from_offset(tokens, strlen(READING_PREFIX ".")), &visit->reading);
    visit->form.subject = str_from(arena_printf(&visit->arena, "zester.%.*s", STR_ARG(tokens)));
    if (!subject_parse(visit->form.subject, &kind, &names))
        return false;
    visit->act = policy_find_act(kind);
    visit->form.kind = kind;
    visit->jid = names.jid;
    return visit->act != NULL;
}

/* Replies go to nobody else, and no master is made to publish elsewhere. */
static bool is_own_inbox(struct visit *visit, struct str reply)
{
    const char *prefix =
        arena_printf(&visit->arena, "%s.", grant_operator_inbox(&visit->arena, visit->name));

    return reply.n == 0 || (str_starts(reply, str_from(prefix)) && nats_subject_is_plain(reply));
}

/* Where orders must be signed, the gate signs what it passes on, since it is another message.
 * False: it would pass on, or store, a job that nobody has signed. Other services refuse by
 * themselves. */
static bool vouch_for(struct visit *visit, const struct nats_msg *msg, struct err *err)
{
    struct master *master = visit->gate->master;

    if (visit->is_reading || !master->conf.require_signed_requests)
        return true;
    visit->is_vouched = authority_check_order(master, msg, err) == 0;
    return visit->is_vouched || visit->form.kind != SUBJECT_DISPATCH;
}

static struct visit *new_visit(struct gate *gate, const struct nats_msg *msg, struct str name)
{
    struct arena arena = ARENA_INIT;
    struct visit *visit = ARENA_NEW(&arena, struct visit);

    *visit = (struct visit){ .gate = gate };
    visit->name = visit->form.name = arena_str(&arena, name).p;
    visit->form.payload = arena_str(&arena, msg->payload);
    visit->arena = arena;
    visit->is_too_many = !operator_rate_begin(&gate->rate, visit->name);
    gate->visits++;
    return visit;
}

static void on_request(void *self, const struct nats_msg *msg)
{
    struct gate *gate = self;
    struct subject_names names;
    enum subject_kind kind;
    struct visit *visit;
    struct err err;

    if (!subject_parse(msg->subject, &kind, &names) || kind != SUBJECT_OPERATOR)
        return;
    visit = new_visit(gate, msg, names.peel);
    if (!is_own_inbox(visit, msg->reply)) {
        refuse_visit(visit, "the reply would not go to an inbox of this operator");
        return;
    }
    visit->reply = arena_str(&visit->arena, msg->reply);
    if (!read_tokens(visit, arena_str(&visit->arena, names.tag)))
        refuse_visit(visit, "nobody with a name may do this: it needs admin.creds");
    else if (visit->is_too_many || gate->visits > VISITS_MAX)
        refuse_visit(visit, "too many requests at once");
    else if (!vouch_for(visit, msg, &err))
        refuse_visit(visit, err.text);
    else
        read_record(visit, STORE_OPERATORS, visit->name, on_policy);
}

/* --- the service -------------------------------------------------------------------- */

static void *open_gate(struct master *master, struct err *err)
{
    struct gate *gate = mem_zalloc(sizeof(*gate));

    (void)err;
    gate->master = master;
    operator_rate_init(&gate->rate);
    return gate;
}

static void free_gate(void *self)
{
    struct gate *gate = self;

    operator_rate_done(&gate->rate);
    free(gate);
}

static int start_gate(void *self, struct err *err)
{
    struct gate *gate = self;
    AUTO_BUF struct buf pattern = BUF_INIT(SUBJECT_MAX);

    if (subject_print_pattern(&pattern, SUBJECT_OPERATOR, NULL, err) < 0)
        return -1;
    gate->requests =
        nats_sub_new(gate->master->js.conn,
                     &(struct nats_sub_options){ .subject = buf_text(&pattern),
                                                 .queue = subject_queue(SUBJECT_OPERATOR),
                                                 .message = on_request,
                                                 .self = gate },
                     err);
    return gate->requests ? 0 : -1;
}

static void stop_gate(void *self)
{
    struct gate *gate = self;

    nats_sub_free(gate->requests);
    gate->requests = NULL;
}

const struct master_service operator_gate_service = {
    .name = "operators",
    .open = open_gate,
    .start = start_gate,
    .stop = stop_gate,
    .free = free_gate,
};
