#include "commands/cli/fleet/audit.h"

#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/link.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/request.h"
#include "fleet/wire/subject.h"

#define AUDIT_NS (INT64_C(5) * 1000000000)

static void warn_about_audit(struct fleet_notice *sent, const char *why)
{
    sent->is_done = true;
    (void)err_set(&sent->problem, ERR_NOT_FOUND, "%s", why);
}

static void on_audit_stored(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    (void)msg;
    warn_about_audit(self, !error                                     ? ""
                           : error->fault == NATS_FAULT_NO_RESPONDERS ? "none is running"
                                                                      : error->text);
}

void fleet_notice_send(struct cli *cli, struct fleet *fleet, const struct audit_notice *notice,
                       int64_t timeout, struct fleet_notice *ret_sent)
{
    struct audit_notice mine = *notice;
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    *ret_sent = (struct fleet_notice){ 0 };
    mine.operator= fleet_user(cli->arena);
    if (record_encode(&bytes, &audit_notice_type, &mine, &err) < 0 ||
        nats_request(
            fleet->js.conn,
            &(struct nats_pub){ .subject = str_from(subject_template(SUBJECT_AUDIT_NOTICE)),
                                .payload = buf_view(&bytes) },
            timeout, on_audit_stored, ret_sent, NULL, &err) < 0)
        warn_about_audit(ret_sent, err.text);
}

void fleet_notices_wait(struct fleet *fleet, struct fleet_notice *sent, size_t count)
{
    const char *problem = NULL;
    struct err err;

    for (size_t i = 0; i < count; i++) {
        while (!sent[i].is_done && !fleet_is_over(fleet)) /* each has its own timeout */
            (void)fleet_wait(fleet, &sent[i].is_done, AUDIT_NS, &err);
        if (!sent[i].is_done)
            warn_about_audit(&sent[i], "the connection was lost");
        if (!problem && sent[i].problem.text[0])
            problem = sent[i].problem.text;
    }
    if (problem)
        (void)fprintf(stderr, "warning: not in the audit of any master: %s\n", problem);
}

void fleet_audit(struct cli *cli, struct fleet *fleet, enum audit_act act, const char *id,
                 const struct err *failure)
{
    struct fleet_notice *sent = ARENA_NEW(cli->arena, struct fleet_notice);

    fleet_notice_send(
        cli, fleet,
        &(struct audit_notice){ .act = act, .id = id, .err = failure ? failure->text : "" },
        AUDIT_NS, sent);
    fleet_notices_wait(fleet, sent, 1);
}
