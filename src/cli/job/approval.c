#include "cli/job/approval.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cli/fleet/bucket.h"
#include "cli/table.h"
#include "data/time_text.h"
#include "nats/conn.h"
#include "nats/kv.h"
#include "wire/approval.h"
#include "wire/operator.h"
#include "wire/peel_id.h"

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

struct listing {
    struct arena *arena;
    VEC(struct approval) list;
};

static void add_approval(void *self, const struct nats_kv_entry *entry)
{
    struct listing *listing = self;
    struct approval approval;
    struct err err;

    if (record_decode(listing->arena, &approval_type, 1, arena_str(listing->arena, entry->value),
                      &approval, &err) == 0)
        VEC_PUSH_IN(listing->arena, &listing->list, approval);
}

static int compare_approvals(const void *a, const void *b)
{
    const struct approval *left = a, *right = b;

    return time_is_later(left->asked, right->asked) ? -1 : time_is_later(right->asked, left->asked);
}

static void set_text(struct arena *arena, struct value_map *map, const char *key, const char *text)
{
    value_map_set(arena, map, value_text(key), value_text(text));
}

static struct value describe(struct arena *arena, const struct approval *approval)
{
    const struct job *job = &approval->job;
    struct value_map *map = value_map_new(arena, 12);
    struct value_list *targets = value_list_new(arena, job->targets.n);

    for (size_t i = 0; i < job->targets.n; i++)
        value_list_push(arena, targets, value_text(peel_id_name(arena, job->targets.p[i])));
    set_text(arena, map, "jid", approval->jid);
    set_text(arena, map, "state", approval_state_name(approval->state));
    set_text(arena, map, "asked_by", approval->asked_by);
    set_text(arena, map, "asked", time_text(arena, approval->asked));
    set_text(arena, map, "function", job->function);
    set_text(arena, map, "id", job->state_id);
    value_map_set(arena, map, value_text("args"), job->args);
    set_text(arena, map, "target", job->target_expr);
    value_map_set(arena, map, value_text("targets"), value_list(targets));
    set_text(arena, map, "decided_by", approval->decided_by);
    set_text(arena, map, "reason", approval->reason);
    set_text(arena, map, "error", approval->error);
    return value_map(map);
}

int job_print_approvals(struct cli *cli, struct fleet *fleet, enum fleet_format format)
{
    static const char *const heads[] = { "JID",      "STATE",  "ASKED BY",  "ASKED",
                                         "FUNCTION", "TARGET", "DECIDED BY" };
    struct listing listing = { .arena = cli->arena };
    struct value_list *values = value_list_new(cli->arena, 8);
    struct table table = TABLE_INIT(cli->arena, heads);
    struct err err;

    if (fleet_bucket_each(fleet, STORE_APPROVALS, NULL, add_approval, &listing, &err) < 0)
        return cli_err(cli, &err);
    if (listing.list.n > 1)
        qsort(listing.list.p, listing.list.n, sizeof(listing.list.p[0]), compare_approvals);
    VEC_EACH (&listing.list, approval) {
        const char **row = table_add(&table);

        row[0] = approval->jid;
        row[1] = approval_state_name(approval->state);
        row[2] = approval->asked_by;
        row[3] = time_text(cli->arena, approval->asked);
        row[4] = approval->job.function;
        row[5] = approval->job.target_expr;
        row[6] = approval->decided_by[0] ? approval->decided_by : "-";
        value_list_push(cli->arena, values, describe(cli->arena, approval));
    }
    return fleet_print_rows(cli, format, &table, values);
}
