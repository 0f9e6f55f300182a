/* zester why: why something is as it is, with the chain back to the first cause. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "core/base/sha256.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/job_id.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/fleet/why/chain.h"
#include "commands/cli/fleet/why/fleet.h"
#include "commands/cli/fleet/why/service.h"
#include "commands/cli/fleet/why/state.h"
#include "states/local/session.h"
#include "fleet/wire/event.h"
#include "fleet/wire/job.h"

#define KSUID_DIGITS "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* Prefix of references in rules. */
#define REACTION_PREFIX "reactor."

struct why_args {
    struct fleet_options fleet;
    const char *data_dir;
};

#define ARGS struct why_args

/* clang-format off */
static const struct param why_options[] = {
    PARAM("data-dir", STR, ARGS, data_dir, "the data folder of this machine (/var/lib/zester; ~/.local/state/zester for users other than root)", .kind_text = "DIR"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

struct question {
    struct cli *cli;
    const struct why_args *args;
    const char *peel; /* of a state or service; NULL: this machine */
    const char *thing;
    struct why_chain chain;
    struct fleet *fleet; /* once it was needed */
};

/* Connects once. */
static int reach_fleet(struct question *q, struct err *err)
{
    if (q->fleet)
        return 0;
    return fleet_open(q->cli->arena, &q->args->fleet, &q->fleet, err);
}

/* --- ids --------------------------------------------------------------------------------- */

static bool is_ksuid(const char *text)
{
    struct ksuid ksuid;
    struct err ignored;

    return ksuid_parse(str_from(text), &ksuid, &ignored) == 0;
}

static bool is_job_id(const struct question *q)
{
    return !q->peel && (strncmp(q->thing, EVENT_JOB_PREFIX, strlen(EVENT_JOB_PREFIX)) == 0 ||
                        is_ksuid(q->thing));
}

static bool is_digest(const char *text)
{
    return strlen(text) == SHA256_HEX_SIZE - 1 && strspn(text, "0123456789abcdef") == strlen(text);
}

/* Ids of events from machines and people, or from rules. */
static bool is_event_id(const struct question *q)
{
    return !q->peel && (is_ksuid(q->thing) || is_digest(q->thing));
}

static int answer_about_job(struct question *q, struct err *err)
{
    return reach_fleet(q, err) < 0 ? -1 : why_add_job(&q->chain, q->fleet, q->thing, err);
}

static int answer_event(struct question *q, struct err *err)
{
    return reach_fleet(q, err) < 0 ? -1 : why_add_event(&q->chain, q->fleet, q->thing, err);
}

/* As rules name it. */
static bool is_reaction_id(const struct question *q)
{
    return !q->peel && strncmp(q->thing, REACTION_PREFIX, strlen(REACTION_PREFIX)) == 0;
}

static int answer_reaction(struct question *q, struct err *err)
{
    return reach_fleet(q, err) < 0 ? -1 : why_add_reaction(&q->chain, q->fleet, q->thing, err);
}

/* --- states and services ----------------------------------------------------------------- */

static bool is_of_peel(const struct question *q)
{
    return q->peel != NULL;
}

static bool is_of_machine(const struct question *q)
{
    return !q->peel;
}

static int answer_peel_state(struct question *q, struct err *err)
{
    return reach_fleet(q, err) < 0
               ? -1
               : why_add_peel_state(&q->chain, q->fleet, q->peel, q->thing, err);
}

/* Is this machine one that operators use? Others have only their own records. */
static bool has_fleet(const struct question *q)
{
    struct fleet_target target;
    struct err ignored;

    return fleet_find(q->cli->arena, &q->args->fleet, &target, &ignored) == 0 &&
           (target.file || q->args->fleet.masters.n > 0 || getenv(FLEET_URL_VARIABLE));
}

/* The run may be a job of the fleet; without a way to it, the chain ends with the run. */
static void follow_run(struct question *q, const char *run)
{
    struct err err;

    if (!run[0] || !has_fleet(q))
        return;
    if (reach_fleet(q, &err) < 0)
        why_end(&q->chain, "unknown: cannot query the fleet: %s", err.text);
    else
        (void)why_add_job(&q->chain, q->fleet, run, &err); /* it was not a job */
}

static int answer_state(struct question *q, struct err *err)
{
    struct diags diags = DIAGS_INIT(q->cli->arena);
    const char *folder = q->args->data_dir, *run;

    if (!folder && session_find_data_dir(q->cli->arena, &folder, &diags) < 0)
        return diags_to_err(&diags, err);
    if (why_add_state(&q->chain, folder, q->thing, &run, err) < 0)
        return -1;
    follow_run(q, run);
    why_end(&q->chain, "not recorded: the run was not a job of the fleet");
    return 0;
}

/* Answers as `kepler why` does, and adds the run of states that asked for it. */
static int answer_service(struct question *q, struct err *err)
{
    struct diags diags = DIAGS_INIT(q->cli->arena);
    const char *folder = q->args->data_dir, *run;

    if (!folder && session_find_data_dir(q->cli->arena, &folder, &diags) < 0)
        folder = NULL;
    if (why_add_service(&q->chain, q->thing, folder, &run, err) < 0)
        return -1;
    if (run[0]) {
        follow_run(q, run);
        why_end(&q->chain, "not recorded: the run was not a job of the fleet");
    }
    return 0;
}

static int answer_peel_service(struct question *q, struct err *err)
{
    return reach_fleet(q, err) < 0 ? -1
                                   : why_add_peel_service(&q->chain, q->fleet, q->peel, q->thing,
                                                          q->args->fleet.timeout, err);
}

/* The beginning of an id, when nothing else is called so. */
static bool is_job_beginning(const struct question *q)
{
    return !q->peel && !is_job_id(q) && strlen(q->thing) >= FLEET_JOB_ID_MIN &&
           strlen(q->thing) < KSUID_LENGTH && strspn(q->thing, KSUID_DIGITS) == strlen(q->thing) &&
           has_fleet(q);
}

static int answer_job_beginning(struct question *q, struct err *err)
{
    struct job job;

    return reach_fleet(q, err) < 0 || fleet_find_job(q->fleet, q->thing, &job, err) < 0
               ? -1
               : why_add_job(&q->chain, q->fleet, job.jid, err);
}

/* --- kinds ------------------------------------------------------------------------------- */

/* Asked in this order; the first that knows the thing answers. */
static const struct kind {
    const char *name;
    bool (*recognizes)(const struct question *q);
    int (*answer)(struct question *q, struct err *err); /* ERR_NOT_FOUND: it is something else */
} kinds[] = {
    { "job", is_job_id, answer_about_job },
    { "event", is_event_id, answer_event },
    { "reaction", is_reaction_id, answer_reaction },
    { "state", is_of_peel, answer_peel_state },
    { "service", is_of_peel, answer_peel_service },
    { "state", is_of_machine, answer_state },
    { "service", is_of_machine, answer_service },
    { "job", is_job_beginning, answer_job_beginning },
};

static int answer_why(struct question *q, struct err *err)
{
    AUTO_BUF struct buf tried = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (!kinds[i].recognizes(q))
            continue;
        if (kinds[i].answer(q, err) == 0)
            return 0;
        if (err->code != ERR_NOT_FOUND)
            return -1;
        buf_printf(&tried, "\n  %s: %s", kinds[i].name, err->text);
    }
    return err_set(err, ERR_NOT_FOUND, "nothing is known about '%.256s':%s", q->thing,
                   buf_text(&tried));
}

static int print_answer(const struct question *q)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct value result = why_chain_value(&q->chain);

    if (q->args->fleet.format != FLEET_TEXT)
        return fleet_print(q->cli, q->args->fleet.format, &result);
    why_chain_print(&q->chain, &out);
    (void)fwrite(buf_text(&out), 1, out.n, stdout);
    return CLI_OK;
}

static int run_fleet_why(struct cli *cli, const void *args, struct param_strs operands)
{
    struct question q = { .cli = cli,
                          .args = args,
                          .peel = operands.n > 1 ? operands.p[0] : NULL,
                          .thing = operands.p[operands.n - 1],
                          .chain = { .arena = cli->arena } };
    struct err err;
    int result = answer_why(&q, &err);

    fleet_close(q.fleet);
    return result < 0 ? cli_err(cli, &err) : print_answer(&q);
}

const struct command command_why = {
    .name = "why",
    .operands = "THING | PEEL STATE | PEEL SERVICE",
    .summary = "explain why something happened, back to the first cause",
    .details =
        "THING is the id of a job or its beginning (also of a reaction: rxn-...), the id of an\n"
        "event, a reaction as rules name it (reactor.restart: what it did last), a state of the\n"
        "last run on this machine, in full or by its ID, or a service of kepler: SERVICE,\n"
        "CONFIG/SERVICE or "
        "PATH:SERVICE. With PEEL, it is a state of the last job that ran states there, or a\n"
        "service there. Each line is the cause of the one above: a service was started by a run\n"
        "of states, that was a job, a job comes from a reaction, that from an event, that from\n"
        "a beacon, a job or a person, on whatever machine.\n",
    .examples = "  zester why rxn-7f3a0c11d2e84b5596a7c8d9e0f1a2b3\n"
                "  zester why reactor.restart\n"
                "  zester why web-01 file.managed:/etc/motd\n"
                "  zester why web/api\n"
                "  zester why web-01 web/api\n",
    .lookup = "job list",
    .options = why_options,
    .args_size = sizeof(struct why_args),
    .least = 1,
    .most = 2,
    .run = run_fleet_why,
};
