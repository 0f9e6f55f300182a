#include "commands/cli/fleet/job/approval.h"

#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/job_id.h"
#include "commands/cli/fleet/list.h"
#include "fleet/view/approvals.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/kv.h"
#include "fleet/wire/approval.h"
#include "fleet/wire/operator.h"

/* --- deciding ----------------------------------------------------------------------- */

static int ask_decision(struct fleet *fleet, enum subject_kind decision,
                        const struct approval_request *request, int64_t timeout, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct approval_reply reply;
    struct str answer;

    if (record_encode(&bytes, &approval_request_type, request, err) < 0)
        return -1;
    if (fleet_request(fleet,
                      &(struct nats_pub){ .subject = str_from(subject_template(decision)),
                                          .payload = buf_view(&bytes) },
                      timeout, &answer, err) < 0)
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no master is running")
                                          : -1;
    if (record_decode(fleet->arena, &approval_reply_type, 1, answer, &reply, err) < 0)
        return -1;
    return reply.err[0] ? err_set(err, ERR_INVALID, "%s", reply.err) : 0;
}

int job_decide(struct cli *cli, struct fleet *fleet, enum subject_kind decision, const char *jid,
               const char *reason, int64_t timeout)
{
    struct approval_request request = { .jid = jid,
                                        .operator= OPERATOR_RESERVED,
                                        .reason = reason ? reason : "" };
    struct err err;

    if (!nats_kv_is_key(jid))
        return cli_error(
            cli, "'%s' is not a valid job id: 'zester job approvals' lists jobs that wait", jid);
    if (fleet_find_approval(fleet, jid, &request.jid, &err) < 0)
        return cli_err(cli, &err);
    jid = request.jid;
    if (ask_decision(fleet, decision, &request, timeout, &err) < 0)
        return cli_error(cli, "job %s: %s", jid, err.text);
    if (decision == SUBJECT_JOB_APPROVE)
        printf("Job %s approved: zester job watch %s\n", jid, jid);
    else
        printf("Job %s rejected\n", jid);
    return CLI_OK;
}

/* --- what waits --------------------------------------------------------------------- */

static void add_approval(void *self, const struct nats_kv_entry *entry)
{
    fleet_approvals_take(self, entry->value);
}

static const struct fleet_column approval_columns[] = {
    FLEET_COLUMN("JID", "jid"),
    FLEET_COLUMN("STATE", "state"),
    FLEET_COLUMN("ASKED BY", "asked_by"),
    FLEET_COLUMN("ASKED", "asked"),
    FLEET_COLUMN("FUNCTION", "function"),
    FLEET_COLUMN("TARGET", "target"),
    FLEET_COLUMN("DECIDED BY", "decided_by", .empty = "-"),
};

int job_print_approvals(struct cli *cli, struct fleet *fleet, enum fleet_format format)
{
    struct fleet_approvals approvals = { .arena = cli->arena };
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, approval_columns);
    struct err err;

    if (fleet_bucket_each(fleet, STORE_APPROVALS, NULL, add_approval, &approvals, &err) < 0)
        return cli_err(cli, &err);
    fleet_approvals_sort(&approvals);
    VEC_EACH (&approvals.list, approval)
        fleet_list_add(&list, fleet_approval_value(cli->arena, approval), approval);
    return fleet_list_print(cli, format, &list);
}
