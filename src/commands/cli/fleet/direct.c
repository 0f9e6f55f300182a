#include "commands/cli/fleet/direct.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/yaml.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/request.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/subject.h"

/* A 2.9 server does not report missing listeners in another account. So a peel that is silent for a
 * while is pinged, which it answers while it is busy, too. */
#define SILENCE_NS (INT64_C(2) * 1000000000)
#define PING_NS    (INT64_C(8) * 1000000000)
#define ABSENT     "UNREACHABLE: not connected to the bus"

struct direct {
    struct fleet *fleet;
    struct fleet_answers *answers;
    const char *peel;
    uint64_t request;
    bool has_ended;
};

/* The words of a job that reached no peel. */
static const char *explain_direct_silence(struct arena *arena, const struct nats_error *error)
{
    if (error->fault == NATS_FAULT_TIMEOUT)
        return EXEC_OVERDUE;
    if (error->fault == NATS_FAULT_NO_RESPONDERS)
        return ABSENT;
    return arena_printf(arena, "UNREACHABLE: %s", error->text);
}

static void on_response(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct direct *direct = self;

    direct->has_ended = true;
    if (error)
        fleet_answers_set(direct->answers, direct->peel, NULL,
                          explain_direct_silence(direct->answers->arena, error));
    else
        fleet_answers_set(direct->answers, direct->peel, &msg->payload, "");
}

static int send_to_peel(struct direct *direct, struct str request, int64_t timeout,
                        nats_reply_fn *fn, uint64_t *ret_id, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);
    struct nats_pub pub = { .payload = request };
    const struct subject_names names = { .peel = str_from(direct->peel) };

    if (subject_print(&subject, SUBJECT_COMMAND, &names, err) < 0)
        return -1;
    pub.subject = buf_view(&subject);
    if (fleet_sign(direct->fleet, &pub, err) < 0)
        return -1;
    return nats_request(direct->fleet->js.conn, &pub, timeout, fn, direct, ret_id, err);
}

static void ask_peel_directly(struct direct *direct, struct str request, int64_t timeout)
{
    struct err err;

    if (send_to_peel(direct, request, timeout, on_response, &direct->request, &err) == 0)
        return;
    direct->has_ended = true;
    fleet_answers_set(direct->answers, direct->peel, NULL, err.text);
}

/* --- silence ------------------------------------------------------------------------- */

static void on_ping(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct direct *direct = self;

    (void)msg;
    if (!error || error->fault == NATS_FAULT_CANCELED || direct->has_ended)
        return;
    direct->has_ended = true;
    nats_request_cancel(direct->fleet->js.conn, direct->request);
    fleet_answers_set(direct->answers, direct->peel, NULL, ABSENT);
}

static void ping_silent(struct direct *each, size_t n)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const struct exec_request ping = {
        .v = EXEC_PROTOCOL, .jid = "", .module = "test.ping", .id = "", .window = ""
    };
    struct err ignored; /* then it is waited for as long as was said */

    if (record_encode(&bytes, &exec_request_type, &ping, &ignored) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (!each[i].has_ended)
            (void)send_to_peel(&each[i], buf_view(&bytes), PING_NS, on_ping, NULL, &ignored);
}

int fleet_ask_peels(struct fleet *fleet, const struct fleet_question *question,
                    struct fleet_answers *ret_answers, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct direct *each = ARENA_ARRAY(fleet->arena, struct direct, question->peels.n);
    const struct exec_request request = { .v = EXEC_PROTOCOL,
                                          .jid = "",
                                          .module = question->function,
                                          .id = question->id,
                                          .args = question->args,
                                          .window = question->window ? question->window : "",
                                          .timeout = question->node_timeout,
                                          .user = question->user,
                                          .secret_args = question->secrets };

    fleet_answers_init(ret_answers, fleet->arena, &question->peels);
    if (fleet_require_admin(fleet, "ask peels directly", err) < 0 ||
        record_encode(&bytes, &exec_request_type, &request, err) < 0)
        return -1;
    for (size_t i = 0; i < question->peels.n; i++) {
        each[i] =
            (struct direct){ .fleet = fleet, .answers = ret_answers, .peel = question->peels.p[i] };
        ask_peel_directly(&each[i], buf_view(&bytes), question->timeout);
    }
    if (question->timeout > SILENCE_NS + PING_NS && !ret_answers->all_come &&
        fleet_wait(fleet, &ret_answers->all_come, SILENCE_NS, err) < 0)
        ping_silent(each, question->peels.n);
    while (!ret_answers->all_come) /* each request has its own timeout */
        (void)fleet_wait(fleet, &ret_answers->all_come, question->timeout, err);
    return 0;
}

int fleet_answer_read(struct arena *arena, const struct fleet_answer *answer, struct value *ret,
                      struct err *err)
{
    const struct exec_result *result =
        answer->response.results.list.n > 0 ? &answer->response.results.list.p[0] : NULL;
    const char *text = result ? value_get_text(&result->details, "result") : NULL;
    struct diags diags = DIAGS_INIT(arena);

    if (!answer->success || !text)
        return err_set(err, ERR_INVALID, "%s",
                       answer->error[0] ? answer->error : "the answer has no result");
    if (yaml_parse(arena, "answer", str_from(text), NULL, ret, &diags) < 0)
        return diags_to_err(&diags, err);
    return 0;
}
