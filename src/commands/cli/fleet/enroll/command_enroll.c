/* zester enroll: lists enrollments and decides about them. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/store.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/enroll/pause.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/fleet/list.h"
#include "fleet/enroll/admission.h"
#include "fleet/enroll/registry.h"
#include "fleet/view/enrollments.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/subject.h"

/* Timeout of a reply; masters have five seconds. */
#define ANSWER_NS (INT64_C(5) * 1000000000)
/* A revocation is answered when the servers have confirmed it. */
#define REVOKE_NS (INT64_C(20) * 1000000000)
#define REPLY_MAX ((size_t)1 << 20)

struct enroll_args {
    struct fleet_options fleet;
    const char *state, *peel, *reason;
    bool all_pending, force, direct;
};

#define ARGS struct enroll_args

/* clang-format off */
static const struct param list_options[] = {
    PARAM("state", STR, ARGS, state, "only enrollments in this state; 'all' for all of them", .aliases = "s", .kind_text = "STATE", .default_text = "pending"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param show_options[] = {
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

#define DIRECT PARAM("direct-kv", BOOL, ARGS, direct, "write the decision to the bucket directly, without a master")

static const struct param approve_options[] = {
    PARAM("peel", STR, ARGS, peel, "the current enrollment of this peel", .kind_text = "PEEL"),
    PARAM("all-pending", BOOL, ARGS, all_pending, "every pending enrollment"),
    PARAM("force", BOOL, ARGS, force, "approve even if the machine does not trust our certificate authority"),
    DIRECT,
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param refuse_options[] = {
    PARAM("peel", STR, ARGS, peel, "the current enrollment of this peel", .kind_text = "PEEL"),
    PARAM("reason", STR, ARGS, reason, "the reason; stored in the record", .kind_text = "REASON"),
    DIRECT,
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param pause_options[] = {
    PARAM("reason", STR, struct enroll_pause_args, reason, "the reason; sent to machines that ask", .kind_text = "REASON"),
    FLEET_OPTIONS(struct enroll_pause_args, fleet),
    { 0 },
};

static const struct param resume_options[] = {
    FLEET_OPTIONS(struct enroll_pause_args, fleet),
    { 0 },
};
/* clang-format on */

/* --- reading ------------------------------------------------------------------------ */

struct listing {
    struct fleet_enrollments all;
    bool is_done;
    struct err err;
    bool has_failed;
};

static void on_enrollment_entry(void *self, const struct nats_kv_entry *entry)
{
    fleet_enrollments_take(&((struct listing *)self)->all, entry->key, entry->value);
}

static void on_enrollments_end(void *self)
{
    ((struct listing *)self)->is_done = true;
}

static void on_enrollments_failed(void *self, const struct nats_error *error)
{
    struct listing *listing = self;

    listing->has_failed = true;
    listing->is_done = true;
    (void)nats_error_to_err(error, &listing->err);
}

static int read_enrollments(struct fleet *fleet, int64_t timeout, struct listing *ret,
                            struct err *err)
{
    const struct nats_kv kv = { .js = fleet->js, .bucket = store_bucket_name(STORE_ENROLLMENTS) };
    struct nats_kv_watch *watch;
    int result;

    *ret = (struct listing){ .all = FLEET_ENROLLMENTS_INIT(fleet->arena) };
    watch = nats_kv_watch_new(&kv,
                              &(struct nats_kv_watch_options){ .without_deletes = true,
                                                               .entry = on_enrollment_entry,
                                                               .caught_up = on_enrollments_end,
                                                               .failed = on_enrollments_failed,
                                                               .self = ret },
                              err);
    if (!watch)
        return -1;
    result = fleet_wait(fleet, &ret->is_done, timeout, err);
    nats_kv_watch_free(watch);
    if (result == 0 && ret->has_failed) {
        *err = ret->err;
        result = -1;
    }
    fleet_enrollments_end(&ret->all);
    return result < 0 ? err_wrap(err, "enrollments") : 0;
}

/* --- printing ----------------------------------------------------------------------- */

static const struct fleet_column list_columns[] = {
    FLEET_COLUMN("ID", "id"),
    FLEET_COLUMN("PEEL ID", "peel_id"),
    FLEET_COLUMN("HOSTNAME", "hostname"),
    FLEET_COLUMN("SOURCE", "source"),
    FLEET_COLUMN("STATE", "state"),
    FLEET_COLUMN("TRUST", "trust"),
    FLEET_COLUMN("CREATED", "created"),
};

static int print_enrollments(struct cli *cli, enum fleet_format format,
                             const struct listing *listing, const char *state)
{
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, list_columns);

    VEC_EACH (&listing->all.records, record)
        if (fleet_enrollments_lists(&listing->all, record, state))
            fleet_list_add(&list, fleet_enrollment_value(cli->arena, record), record);
    return fleet_list_print(cli, format, &list);
}

static int check_state(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct enroll_args *want = args;

    (void)operands;
    if (!fleet_enrollments_has_state(want->state))
        return cli_usage(cli, "invalid enrollment state '%s': expected %s, or '%s'", want->state,
                         fleet_enrollments_states(cli->arena), FLEET_ENROLLMENTS_ALL);
    return CLI_OK;
}

static int run_enroll_list(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct enroll_args *want = args;
    struct listing listing;
    struct err err;

    (void)operands;
    if (read_enrollments(cli->fleet, want->fleet.timeout, &listing, &err) < 0 ||
        enroll_pause_remark(cli->fleet, &err) < 0)
        return cli_err(cli, &err);
    return print_enrollments(cli, want->fleet.format, &listing, want->state);
}

/* --- show --------------------------------------------------------------------------- */

/* A name with dots is written with underscores on the wire; ids of enrollments have neither. */
static const char *wire_id(struct arena *arena, const char *id)
{
    char name[PEEL_ID_SIZE];
    struct err err;

    if (!strchr(id, '.') || peel_id_encode(str_from(id), name, &err) < 0)
        return id;
    return arena_strdup(arena, name);
}

static const struct enrollment *find_enrollment(const struct listing *listing, const char *id)
{
    VEC_EACH (&listing->all.records, record)
        if (strcmp(record->id, id) == 0 || (strcmp(record->peel_id, id) == 0 &&
                                            map_has(&listing->all.current, str_from(record->id))))
            return record;
    return NULL;
}

static void show_line(struct buf *out, const char *name, const char *text)
{
    if (!text || !text[0])
        return;
    buf_printf(out, "%-12s ", name);
    columns_print_text(out, text);
    buf_add_char(out, '\n');
}

static void print_enrollment(struct arena *arena, const struct enrollment *record)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    show_line(&out, "id", record->id);
    show_line(&out, "peel", peel_id_name(arena, record->peel_id));
    show_line(&out, "hostname", record->hostname);
    show_line(&out, "source", record->remote_addr);
    show_line(&out, "state", enrollment_state_name(record->state));
    show_line(&out, "trust", admission_trust(record));
    show_line(&out, "trusted CA", record->trusted_ca_spki);
    show_line(&out, "public key", record->public_key);
    show_line(&out, "created", fleet_enrollment_time(arena, record->created_at));
    show_line(&out, "decided by", record->decided_by);
    show_line(&out, "decided", fleet_enrollment_time(arena, record->decided_at));
    show_line(&out, "reason", record->reject_reason);
    show_line(&out, "issued", fleet_enrollment_time(arena, record->issued_at));
    show_line(&out, "expires", fleet_enrollment_time(arena, record->expires_at));
    for (size_t i = 0; record->metadata.kind == VALUE_MAP && i < record->metadata.map->count; i++)
        show_line(&out, record->metadata.map->pairs[i].key.s.p,
                  record->metadata.map->pairs[i].value.s.p);
    (void)fwrite(buf_text(&out), 1, out.n, stdout);
}

/* The stored record, and the verdict on its trust. */
static int show_value(struct cli *cli, enum fleet_format format, const struct enrollment *record)
{
    struct value result = record_value(cli->arena, &enrollment_type, record);

    value_map_set(cli->arena, result.map, value_text("trust"), value_text(admission_trust(record)));
    return fleet_print(cli, format, &result);
}

static int run_enroll_show(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct enroll_args *want = args;
    const struct enrollment *record;
    struct listing listing;
    struct err err;

    if (read_enrollments(cli->fleet, want->fleet.timeout, &listing, &err) < 0)
        return cli_err(cli, &err);
    record = find_enrollment(&listing, wire_id(cli->arena, operands.p[0]));
    if (!record)
        return cli_error(cli, "'%s': no such enrollment", operands.p[0]);
    if (want->fleet.format != FLEET_TEXT)
        return show_value(cli, want->fleet.format, record);
    print_enrollment(cli->arena, record);
    return CLI_OK;
}

/* --- deciding ----------------------------------------------------------------------- */

/* clang-format off */
static const struct {
    enum subject_kind subject;
    const char *done;
} decisions[] = {
    [ADMISSION_APPROVE] = { SUBJECT_ENROLL_APPROVE, "approved" },
    [ADMISSION_REJECT]  = { SUBJECT_ENROLL_REJECT, "rejected" },
    [ADMISSION_REVOKE]  = { SUBJECT_ENROLL_REVOKE, "revoked" },
};
/* clang-format on */

struct decision {
    struct cli *cli;
    const struct enroll_args *want;
    enum admission_decision what;
    struct registry registry; /* for --direct-kv */
    bool is_done, has_failed;
    size_t decided, failed;
};

static void print_decision(struct decision *decision, const char *id, const char *peel)
{
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);

    columns_print_text(&line, id);
    buf_add_text(&line, " (");
    columns_print_text(&line, peel ? peel_id_name(decision->cli->arena, peel) : "");
    buf_printf(&line, ") %s\n", decisions[decision->what].done);
    (void)fwrite(buf_text(&line), 1, line.n, stdout);
    decision->decided++;
}

static void print_decision_error(struct decision *decision, const char *text)
{
    (void)cli_error(decision->cli, "%s", text);
    decision->failed++;
}

/* Without a master: only the bucket changes. */
static void on_enrollment_decided(void *self, const struct registry_verdict *verdict)
{
    struct decision *decision = self;

    decision->is_done = true;
    if (verdict->error)
        print_decision_error(decision, verdict->error);
    else
        print_decision(decision, verdict->record->id, verdict->record->peel_id);
}

static void decide_directly(struct decision *decision, const struct enrollment_request *request)
{
    struct err err;

    decision->is_done = false;
    registry_decide(&decision->registry, decision->what, request, on_enrollment_decided, decision);
    if (fleet_wait(decision->cli->fleet, &decision->is_done, decision->want->fleet.timeout, &err) <
        0)
        print_decision_error(decision, err.text);
    else if (decision->what == ADMISSION_REVOKE)
        (void)fprintf(stderr, "WARNING: servers still accept the peel until a master runs\n");
}

static int64_t answer_time(const struct decision *decision)
{
    if (decision->want->fleet.has_timeout)
        return decision->want->fleet.timeout;
    return decision->what == ADMISSION_REVOKE ? REVOKE_NS : ANSWER_NS;
}

static int send_decision(struct decision *decision, const struct enrollment_request *request,
                         struct enrollment_reply *ret_reply, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX), bytes = BUF_INIT(REPLY_MAX);
    struct str reply;

    if (subject_print(&subject, decisions[decision->what].subject, &(struct subject_names){ 0 },
                      err) < 0 ||
        record_encode(&bytes, &enrollment_request_type, request, err) < 0)
        return -1;
    if (fleet_request(
            decision->cli->fleet,
            &(struct nats_pub){ .subject = buf_view(&subject), .payload = buf_view(&bytes) },
            answer_time(decision), &reply, err) < 0)
        return err_wrap(err, "no master responds (use --direct-kv to do without one)");
    return record_decode(decision->cli->arena, &enrollment_reply_type, 1, reply, ret_reply, err);
}

static void decide_named_enrollment(struct decision *decision, const char *id)
{
    const struct enrollment_request request = {
        .id = id,
        .operator_name = fleet_user(decision->cli->arena),
        .reason = decision->want->reason ? decision->want->reason : "",
        .force = decision->want->force,
    };
    struct enrollment_reply reply = { 0 };
    struct err err;

    if (decision->want->direct) {
        decide_directly(decision, &request);
        return;
    }
    if (send_decision(decision, &request, &reply, &err) < 0) {
        print_decision_error(decision, err.text);
        return;
    }
    if (reply.err && reply.err[0]) {
        print_decision_error(decision, reply.err);
        return;
    }
    print_decision(decision, value_get_text(&reply.record, "id"),
                   value_get_text(&reply.record, "peel_id"));
    if (reply.warning && reply.warning[0])
        (void)fprintf(stderr, "WARNING: %s\n", reply.warning);
}

static int decide_pending(struct decision *decision, struct err *err)
{
    const char *pending = enrollment_state_name(ENROLLMENT_PENDING);
    struct listing listing;
    size_t count = 0;

    if (read_enrollments(decision->cli->fleet, decision->want->fleet.timeout, &listing, err) < 0)
        return -1;
    VEC_EACH (&listing.all.records, record)
        if (fleet_enrollments_lists(&listing.all, record, pending)) {
            decide_named_enrollment(decision, record->id);
            count++;
        }
    return count > 0 ? 0 : err_set(err, ERR_NOT_FOUND, "no pending enrollments");
}

static int run_decision(struct cli *cli, const struct enroll_args *want, struct param_strs operands,
                        enum admission_decision what)
{
    struct decision *decision = ARENA_NEW(cli->arena, struct decision);
    struct err err;

    if ((operands.n > 0) + (want->peel != NULL) + want->all_pending != 1)
        return cli_usage(cli, "missing enrollment: give an ID, or --peel%s",
                         what == ADMISSION_APPROVE ? ", or --all-pending" : "");
    if (fleet_attach(cli, &want->fleet) != CLI_OK)
        return CLI_ERROR;
    *decision = (struct decision){
        .cli = cli, .want = want, .what = what, .registry = { .js = cli->fleet->js }
    };
    if (!want->all_pending)
        decide_named_enrollment(decision,
                                wire_id(cli->arena, want->peel ? want->peel : operands.p[0]));
    else if (decide_pending(decision, &err) < 0)
        return cli_err(cli, &err);
    return decision->failed > 0 ? CLI_ERROR : CLI_OK;
}

static int run_enroll_approve(struct cli *cli, const void *args, struct param_strs operands)
{
    return run_decision(cli, args, operands, ADMISSION_APPROVE);
}

static int run_enroll_reject(struct cli *cli, const void *args, struct param_strs operands)
{
    return run_decision(cli, args, operands, ADMISSION_REJECT);
}

static int run_enroll_revoke(struct cli *cli, const void *args, struct param_strs operands)
{
    return run_decision(cli, args, operands, ADMISSION_REVOKE);
}

/* --- the group ---------------------------------------------------------------------- */

static const struct command enroll_commands[] = {
    {
        .name = "list",
        .operands = "",
        .summary = "list enrollments",
        .details =
            "TRUST: 'ok' the machine trusts our certificate authority; 'unverified' there is\n"
            "none to compare with; 'MISMATCH!' it trusts another one, which may be an attack;\n"
            "'-' unknown.\n",
        .examples = "  zester enroll list\n  zester enroll list -s all --format json\n",
        .options = list_options,
        .args_size = sizeof(struct enroll_args),
        .check = check_state,
        FLEET_CONNECT(ARGS, fleet),
        .run = run_enroll_list,
    },
    {
        .name = "show",
        .operands = "ID|PEEL",
        .lookup = "enroll list -s all",
        .summary = "show one enrollment",
        .examples = "  zester enroll show web-01\n",
        .options = show_options,
        .args_size = sizeof(struct enroll_args),
        .least = 1,
        .most = 1,
        FLEET_CONNECT(ARGS, fleet),
        .run = run_enroll_show,
    },
    {
        .name = "approve",
        .operands = "[ID]",
        .lookup = "enroll list",
        .summary = "approve enrollments",
        .examples = "  zester enroll approve --peel web-01\n"
                    "  zester enroll approve --all-pending\n",
        .options = approve_options,
        .args_size = sizeof(struct enroll_args),
        .most = 1,
        .run = run_enroll_approve,
    },
    {
        .name = "reject",
        .operands = "[ID]",
        .lookup = "enroll list",
        .summary = "reject an enrollment",
        .examples = "  zester enroll reject --peel web-01 --reason 'not ours'\n",
        .options = refuse_options,
        .args_size = sizeof(struct enroll_args),
        .most = 1,
        .run = run_enroll_reject,
    },
    {
        .name = "revoke",
        .operands = "[ID]",
        .lookup = "enroll list -s active",
        .summary = "revoke the credentials of a peel",
        .details = "Closes its connection, and removes its data from the bus.\n",
        .examples = "  zester enroll revoke --peel web-01 --reason 'stolen'\n",
        .options = refuse_options,
        .args_size = sizeof(struct enroll_args),
        .most = 1,
        .run = run_enroll_revoke,
    },
    {
        .name = "pause",
        .operands = "",
        .summary = "refuse new enrollment requests at all masters",
        .details =
            "New machines are refused and retry later. Credentials are still renewed, and pending\n"
            "enrollments can be approved.\n",
        .examples = "  zester enroll pause --reason 'moving the data center'\n",
        .options = pause_options,
        .args_size = sizeof(struct enroll_pause_args),
        .run = enroll_run_pause,
    },
    {
        .name = "resume",
        .operands = "",
        .summary = "accept new enrollment requests again",
        .examples = "  zester enroll resume\n",
        .options = resume_options,
        .args_size = sizeof(struct enroll_pause_args),
        .run = enroll_run_resume,
    },
    { 0 },
};

const struct command command_enroll = {
    .name = "enroll",
    .operands = "",
    .summary = "manage enrollments: list, approve, reject, revoke, pause",
    .examples = "  zester enroll list\n",
    .commands = enroll_commands,
};
