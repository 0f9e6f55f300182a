#include "fleet/master/enroll/enroll_admin.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/master/audit.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/enroll/revocation.h"
#include "fleet/wire/subject.h"

#define REPLY_MAX ((size_t)1 << 20)

/* clang-format off */
static const struct decision_row {
    enum subject_kind subject;
    const char *action;
} decisions[] = {
    [ADMISSION_APPROVE] = { SUBJECT_ENROLL_APPROVE, "enroll.approve" },
    [ADMISSION_REJECT]  = { SUBJECT_ENROLL_REJECT, "enroll.reject" },
    [ADMISSION_REVOKE]  = { SUBJECT_ENROLL_REVOKE, "enroll.revoke" },
};
/* clang-format on */
#define DECISIONS ARRAY_LEN(decisions)

struct enroll_admin;

struct admin_subscription {
    struct enroll_admin *admin;
    enum admission_decision decision;
    struct nats_sub *sub;
};

struct enroll_admin {
    struct master *master;
    struct authority *authority;
    struct revocation *revocation;
    struct admin_subscription subscriptions[DECISIONS];
};

/* --- decisions ---------------------------------------------------------------------- */

/* A decision in progress. */
struct decision_request {
    struct arena arena; /* the decision request is in it */
    struct enroll_admin *admin;
    enum admission_decision decision;
    struct enrollment_request request;
    struct enrollment_reply done; /* kept while servers are notified */
    enroll_admin_fn *fn;
    void *self;
};

static void end_decision_request(struct decision_request *request, enum admission_status status,
                                 const struct enrollment_reply *reply)
{
    struct arena arena = request->arena;

    request->fn(request->self, status, reply);
    arena_done(&arena);
}

/* Servers have confirmed, or the answer has a warning. */
static void on_revocation_enforced(void *self, const char *warning)
{
    struct decision_request *request = self;

    request->done.warning = warning ? warning : "";
    end_decision_request(request, ADMISSION_OK, &request->done);
}

/* Copied, since the registry owns the record. */
static struct value copy_enrollment(struct arena *arena, const struct enrollment *record)
{
    const struct value value = record_value(arena, &enrollment_type, record);

    return value_copy(arena, &value);
}

static void on_admin_decided(void *self, const struct registry_verdict *verdict)
{
    const struct enrollment *record = verdict->record;
    struct decision_request *request = self;
    struct enrollment_reply reply = { .err = verdict->error ? verdict->error : "", .warning = "" };

    audit_log(&(struct audit){
        .action = decisions[request->decision].action,
        .by = request->request.operator_name,
        .id = record ? record->id : request->request.id,
        .peel = record ? record->peel_id : NULL,
        .reason = request->request.reason,
        .error = verdict->error,
    });
    if (record)
        reply.record = copy_enrollment(&request->arena, record);
    if (record && request->decision == ADMISSION_REVOKE) {
        request->done = reply;
        revocation_enforce(request->admin->revocation, record, on_revocation_enforced, request);
        return;
    }
    end_decision_request(request, record ? ADMISSION_OK : verdict->status, &reply);
}

static void decide_admin_request(struct enroll_admin *admin, enum admission_decision decision,
                                 const struct enrollment_request *asked, enroll_admin_fn *fn,
                                 void *self)
{
    struct arena arena = ARENA_INIT;
    struct decision_request *request = ARENA_NEW(&arena, struct decision_request);

    *request = (struct decision_request){
        .admin = admin,
        .decision = decision,
        .request = { .id = arena_strdup(&arena, asked->id),
                     .operator_name = arena_strdup(&arena, asked->operator_name),
                     .reason = arena_strdup(&arena, asked->reason),
                     .force = asked->force },
        .fn = fn,
        .self = self,
    };
    request->arena = arena;
    registry_decide(&admin->authority->registry, decision, &request->request, on_admin_decided,
                    request);
}

void enroll_admin_decide(struct master *master, enum admission_decision decision,
                         const struct enrollment_request *request, enroll_admin_fn *fn, void *self)
{
    decide_admin_request(master_find(master, &enroll_admin_service), decision, request, fn, self);
}

/* --- requests ----------------------------------------------------------------------- */

/* The destination of an answer. */
struct answer {
    struct master *master;
    size_t size;
    char subject[];
};

static void send_admin_answer(void *self, enum admission_status status,
                              const struct enrollment_reply *reply)
{
    struct answer *answer = self;
    AUTO_BUF struct buf bytes = BUF_INIT(REPLY_MAX);
    struct err err;

    (void)status;
    if (answer->size > 0 &&
        (record_encode(&bytes, &enrollment_reply_type, reply, &err) < 0 ||
         nats_publish(answer->master->js.conn,
                      &(struct nats_pub){ .subject = { answer->subject, answer->size },
                                          .payload = buf_view(&bytes) },
                      &err) < 0))
        log_warning("answer to an operator was not sent error=%s", err.text);
    free(answer);
}

static void on_admin_request(void *self, const struct nats_msg *msg)
{
    struct admin_subscription *subscription = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct answer *answer = mem_zalloc(sizeof(*answer) + msg->reply.n);
    struct enrollment_request request;
    struct err err;

    answer->master = subscription->admin->master;
    answer->size = msg->reply.n;
    if (msg->reply.n > 0)
        memcpy(answer->subject, msg->reply.p, msg->reply.n);
    if (record_decode(&arena, &enrollment_request_type, 1, msg->payload, &request, &err) < 0 ||
        authority_check_order(subscription->admin->master, msg, &err) < 0)
        send_admin_answer(answer, ADMISSION_MALFORMED,
                          &(struct enrollment_reply){ .err = err.text, .warning = "" });
    else
        decide_admin_request(subscription->admin, subscription->decision, &request,
                             send_admin_answer, answer);
}

/* --- the service -------------------------------------------------------------------- */

static void *open_enroll_admin(struct master *master, struct err *err)
{
    struct enroll_admin *admin = mem_zalloc(sizeof(*admin));

    (void)err;
    admin->master = master;
    admin->authority = master_find(master, &authority_service);
    admin->revocation = master_find(master, &revocation_service);
    return admin;
}

static void stop_enroll_admin(void *self)
{
    struct enroll_admin *admin = self;

    for (size_t i = 0; i < DECISIONS; i++) {
        nats_sub_free(admin->subscriptions[i].sub);
        admin->subscriptions[i].sub = NULL;
    }
}

static int start_enroll_admin(void *self, struct err *err)
{
    struct enroll_admin *admin = self;

    for (size_t i = 0; i < DECISIONS; i++) {
        struct admin_subscription *subscription = &admin->subscriptions[i];

        *subscription =
            (struct admin_subscription){ .admin = admin, .decision = (enum admission_decision)i };
        subscription->sub = nats_sub_new(
            admin->master->js.conn,
            &(struct nats_sub_options){ .subject = subject_template(decisions[i].subject),
                                        .queue = subject_queue(decisions[i].subject),
                                        .message = on_admin_request,
                                        .self = subscription },
            err);
        if (!subscription->sub) {
            stop_enroll_admin(admin);
            return -1;
        }
    }
    return 0;
}

const struct master_service enroll_admin_service = {
    .name = "enroll-admin",
    .open = open_enroll_admin,
    .start = start_enroll_admin,
    .stop = stop_enroll_admin,
    .free = free,
};
