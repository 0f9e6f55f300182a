#include "commands/cli/fleet/orchestrate/orchestra_job.h"

#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/shared/interrupt.h"
#include "commands/cli/fleet/orchestrate/orchestra.h"
#include "states/local/perform.h"
#include "fleet/view/reply.h"
#include "states/local/session.h"
#include "fleet/nats/conn.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"

#define FUNCTION "state.apply"
/* Bytes of a message beside the return. */
#define SLACK ((size_t)4096)

struct orchestra_run {
    struct arena *arena;
    struct job job;
    size_t reply_max;
    struct cancel cancel;
    int64_t began;
};

/* The record, and how much the bus takes. */
static int read_orchestration(struct orchestra_run *run, const struct fleet_options *options,
                              const char *jid, struct err *err)
{
    struct fleet *fleet;
    int result;

    if (fleet_open(run->arena, options, &fleet, err) < 0)
        return -1;
    run->reply_max = nats_conn_max_payload(fleet->js.conn) - SLACK;
    result = fleet_read_job(fleet, jid, &run->job, err);
    fleet_close(fleet);
    if (result == 0 && !job_is_orchestration(&run->job))
        return err_set(err, ERR_INVALID, "job '%.64s' is not an orchestration", jid);
    return result;
}

static void answer_diags(struct orchestra_run *run, const struct diags *diags,
                         struct perform_answer *answer)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    diags_print(diags, &text);
    answer->error = arena_str(run->arena, str_trim_right(buf_view(&text))).p;
}

static int write_return(const struct orchestra_run *run, const struct perform_answer *answer)
{
    const struct exec_request request = { .jid = run->job.jid };
    const struct reply_head head = { JOB_TARGET_MASTER, &request, run->reply_max };
    const struct str bytes =
        reply_return(run->arena, &head, answer, clock_now() - run->began, clock_wall());

    return fwrite(bytes.p, 1, bytes.n, stdout) == bytes.n && fflush(stdout) == 0 ? CLI_OK
                                                                                 : CLI_ERROR;
}

static int run_orchestration(struct orchestra_run *run, struct session_options *options)
{
    const struct perform_request request = { .function = FUNCTION,
                                             .id = "",
                                             .args = run->job.args };
    struct diags diags = DIAGS_INIT(run->arena);
    struct perform_answer answer = { 0 };
    struct session session;
    int status;

    if (session_init(&session, options, SESSION_TREE, &diags) < 0)
        answer_diags(run, &diags, &answer);
    else
        perform(&session, &request, NULL, &answer);
    status = write_return(run, &answer);
    session_done(&session);
    return status;
}

static const char *find_ref(const struct job *job)
{
    const char *ref = value_get_text(&job->args, "mods");

    return ref ? ref : "";
}

int orchestra_run_job(struct cli *cli, const struct fleet_options *fleet,
                      const struct session_options *options, const char *jid)
{
    struct orchestra_run run = { .arena = cli->arena, .began = clock_now() };
    const struct value facts = value_map(value_map_new(cli->arena, 1)),
                       settings = value_map(value_map_new(cli->arena, 0));
    struct session_options own = *options;
    struct orchestra orchestra;
    struct err err;
    int status;

    if (cancel_init(&run.cancel, &err) < 0 || read_orchestration(&run, fleet, jid, &err) < 0)
        return cli_err(cli, &err);
    interrupt_watch(&run.cancel, fleet->timeout);
    value_map_set(cli->arena, facts.map, value_text("id"), value_text(JOB_TARGET_MASTER));
    orchestra_init(&orchestra, fleet,
                   &(struct orchestra_about){
                       .user = run.job.user, .ref = find_ref(&run.job), .job = &run.job });
    own.facts = &facts;
    own.settings = &settings;
    own.cancel = &run.cancel;
    own.fleet = &orchestra.fleet;
    own.steps_only = true;
    status = run_orchestration(&run, &own);
    interrupt_forget();
    orchestra_done(&orchestra);
    cancel_done(&run.cancel);
    return status;
}
