#include "commands/cli/fleet/job/approval.h"

#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/shared/table.h"
#include "core/data/time_text.h"
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
    const struct approval_request request = { .jid = jid,
                                              .operator= OPERATOR_RESERVED,
                                              .reason = reason ? reason : "" };
    struct err err;

    if (!nats_kv_is_key(jid))
        return cli_error(
            cli, "'%s' is not a valid job id: 'zester job approvals' lists jobs that wait", jid);
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

int job_print_approvals(struct cli *cli, struct fleet *fleet, enum fleet_format format)
{
    static const char *const heads[] = { "JID",      "STATE",  "ASKED BY",  "ASKED",
                                         "FUNCTION", "TARGET", "DECIDED BY" };
    struct fleet_approvals listing = { .arena = cli->arena };
    struct value_list *values = value_list_new(cli->arena, 8);
    struct table table = TABLE_INIT(cli->arena, heads);
    struct err err;

    if (fleet_bucket_each(fleet, STORE_APPROVALS, NULL, add_approval, &listing, &err) < 0)
        return cli_err(cli, &err);
    fleet_approvals_sort(&listing);
    VEC_EACH (&listing.list, approval) {
        const char **row = table_add(&table);

        row[0] = approval->jid;
        row[1] = approval_state_name(approval->state);
        row[2] = approval->asked_by;
        row[3] = time_text(cli->arena, approval->asked);
        row[4] = approval->job.function;
        row[5] = approval->job.target_expr;
        row[6] = approval->decided_by[0] ? approval->decided_by : "-";
        value_list_push(cli->arena, values, fleet_approval_value(cli->arena, approval));
    }
    return fleet_print_rows(cli, format, &table, values);
}
