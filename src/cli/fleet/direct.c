#include "cli/fleet/direct.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/err.h"
#include "data/yaml.h"
#include "nats/conn.h"
#include "nats/error.h"
#include "nats/request.h"
#include "wire/exec.h"
#include "wire/subject.h"

struct direct {
    struct fleet_answers *answers;
    const char *peel;
};

/* In the words of a job that found nobody. */
static const char *explain_silence(struct arena *arena, const struct nats_error *error)
{
    if (error->fault == NATS_FAULT_TIMEOUT)
        return EXEC_OVERDUE;
    return arena_printf(arena, "UNREACHABLE: %s",
                        error->fault == NATS_FAULT_NO_RESPONDERS ? "not connected to the bus"
                                                                 : error->text);
}

static void on_response(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct direct *direct = self;

    if (error)
        fleet_answers_set(direct->answers, direct->peel, NULL,
                          explain_silence(direct->answers->arena, error));
    else
        fleet_answers_set(direct->answers, direct->peel, &msg->payload, "");
}

static void ask_peel(struct fleet *fleet, struct direct *direct, struct str request,
                     int64_t timeout)
{
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);
    struct nats_pub pub = { .payload = request };
    struct err err;
    int result = subject_print(&subject, SUBJECT_COMMAND,
                               &(struct subject_names){ .peel = str_from(direct->peel) }, &err);

    pub.subject = buf_view(&subject);
    if (result < 0 || fleet_sign(fleet, &pub, &err) < 0 ||
        nats_request(fleet->js.conn, &pub, timeout, on_response, direct, NULL, &err) < 0)
        fleet_answers_set(direct->answers, direct->peel, NULL, err.text);
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
        each[i] = (struct direct){ ret_answers, question->peels.p[i] };
        ask_peel(fleet, &each[i], buf_view(&bytes), question->timeout);
    }
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
