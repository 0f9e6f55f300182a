/* zester fileserver: publish the trees of a master now, see which master does, bring earlier
 * revisions back, and try new ones on some peels (commands/cli/fleet/tree/fileserver_canary.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "commands/cli/fleet/list.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/tree/fileserver_canary.h"
#include "commands/cli/fleet/tree/reach.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/link.h"
#include "core/data/time_text.h"
#include "fleet/nats/conn.h"
#include "fleet/wire/fileset.h"
#include "fleet/wire/subject.h"

/* Covers git, the check and the writes. */
#define UPDATE_NS (INT64_C(90) * 1000000000)
#define STATUS_NS (INT64_C(10) * 1000000000)
/* Covers publishing pending changes, then the revision. */
#define ROLLBACK_NS (INT64_C(120) * 1000000000)

struct fileserver_args {
    struct fleet_options fleet;
    bool force, no_wait;
};

#define ARGS struct fileserver_args

/* clang-format off */
static const struct param update_options[] = {
    PARAM("force", BOOL, ARGS, force, "write all files again, and publish them even with mistakes"),
    FILESERVER_NO_WAIT(ARGS),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param rollback_options[] = {
    FILESERVER_NO_WAIT(ARGS),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param status_options[] = {
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

static const char *print_outcome(struct arena *arena, const void *record)
{
    const struct fileset_outcome *set = record;

    return set->err[0]        ? set->err
           : !set->skipped[0] ? set->note
           : !set->note[0]    ? set->skipped
                              : arena_printf(arena, "%s: %s", set->skipped, set->note);
}

static const struct fleet_column update_columns[] = {
    FLEET_COLUMN("SET", "name"),
    FLEET_COLUMN("FILES", "files"),
    FLEET_COLUMN("CHANGED", "changed"),
    FLEET_COLUMN("NOTE", NULL, .cell = print_outcome),
};

static int print_outcomes(struct cli *cli, const struct fileset_update_reply *reply)
{
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, update_columns);
    int status = CLI_OK;

    VEC_EACH (&reply->sets.list, set) {
        fleet_list_add(&list, record_value(cli->arena, &fileset_outcome_type, set), set);
        if (set->err[0])
            status = CLI_ERROR;
    }
    (void)fleet_list_print_table(&list);
    return status;
}

static bool has_failed_set(const struct fileset_update_reply *reply)
{
    VEC_EACH (&reply->sets.list, set)
        if (set->err[0])
            return true;
    return false;
}

/* --- mistakes --------------------------------------------------------------------- */

static void print_mistake(const struct fileset_mistake *mistake)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    buf_printf(&out, "%s: ", mistake->tree);
    columns_print_text(&out, mistake->text);
    if (mistake->peel[0]) {
        buf_add_text(&out, " (");
        columns_print_text(&out, mistake->peel);
        if (mistake->peels > 1)
            buf_printf(&out, " and %" PRId64 " more", mistake->peels - 1);
        buf_add_char(&out, ')');
    }
    if (mistake->hint[0]) {
        buf_add_text(&out, "\n      = ");
        columns_print_text(&out, mistake->hint);
    }
    (void)fprintf(stderr, "%s\n", buf_text(&out));
}

/* `is_refused`: nothing was published because of them. */
static void print_check(struct cli *cli, const struct fileset_check *check, bool is_refused)
{
    const char *ending = check->total == 1 ? "" : "s";

    VEC_EACH (&check->mistakes.list, mistake)
        print_mistake(mistake);
    if (check->total > (int64_t)check->mistakes.list.n)
        (void)fprintf(stderr, "and %" PRId64 " more\n",
                      check->total - (int64_t)check->mistakes.list.n);
    if (check->checked < check->machines)
        (void)fprintf(stderr, "checked for %" PRId64 " of %" PRId64 " known machines in time\n",
                      check->checked, check->machines);
    if (check->total > 0 && is_refused)
        (void)cli_error(
            cli, "nothing was published: %" PRId64 " mistake%s; --force publishes all the same",
            check->total, ending);
    else if (check->total > 0)
        (void)fprintf(stderr, "warning: published with %" PRId64 " mistake%s\n", check->total,
                      ending);
}

static void report_check(struct cli *cli, const struct fileserver_args *want,
                         const struct fileset_update_reply *reply)
{
    struct fileset_check check;
    struct err ignored; /* of a newer version */

    (void)fflush(stdout);
    if (reply->check.kind == VALUE_MAP &&
        record_read(cli->arena, &fileset_check_type, 1, &reply->check, &check, &ignored) == 0)
        print_check(cli, &check, !want->force);
}

/* The table first, so that it is there while the command waits. */
static int print_update(struct cli *cli, const struct fileserver_args *want,
                        const struct fileset_update_reply *reply)
{
    const bool is_text = want->fleet.format == FLEET_TEXT;
    const struct reach_options reach = { &want->fleet, want->no_wait };
    struct value v = record_value(cli->arena, &fileset_update_reply_type, reply);
    int status = is_text ? print_outcomes(cli, reply) : CLI_OK, printed = CLI_OK, reached;

    if (is_text)
        report_check(cli, want, reply);
    reached = has_failed_set(reply) ? CLI_OK
                                    : reach_await(cli, &reach, &reply->trees, is_text ? NULL : &v);
    if (!is_text)
        printed = fleet_print(cli, want->fleet.format, &v);
    if (!is_text && has_failed_set(reply))
        status = CLI_ERROR;
    return status != CLI_OK ? status : printed != CLI_OK ? printed : reached;
}

static int run_update(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct fileserver_args *want = args;
    const struct fileset_update question = { want->force, fleet_user(cli->arena) };
    AUTO_BUF struct buf bytes = BUF_INIT(256);
    struct fileset_update_reply reply;
    struct str answer;
    struct err err;
    int status;

    (void)operands;
    if (record_encode(&bytes, &fileset_update_type, &question, &err) < 0)
        return cli_err(cli, &err);
    status = fleet_ask_publisher(cli, &want->fleet, SUBJECT_FILES_UPDATE, buf_view(&bytes),
                                 UPDATE_NS, &answer);
    if (status != CLI_OK)
        return status;
    if (record_decode(cli->arena, &fileset_update_reply_type, 1, answer, &reply, &err) < 0)
        return cli_err(cli, &err);
    return print_update(cli, want, &reply);
}

static int run_status(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct fileserver_args *want = args;
    AUTO_BUF struct buf since = BUF_INIT(64);
    struct fileset_status_reply reply;
    struct value v;
    struct str answer;
    struct err err;
    int status =
        fleet_ask_publisher(cli, &want->fleet, SUBJECT_FILES_STATUS, STR(""), STATUS_NS, &answer);

    (void)operands;
    if (status != CLI_OK)
        return status;
    if (record_decode(cli->arena, &fileset_status_reply_type, 1, answer, &reply, &err) < 0)
        return cli_err(cli, &err);
    v = record_value(cli->arena, &fileset_status_reply_type, &reply);
    if (want->fleet.format != FLEET_TEXT)
        return fleet_print(cli, want->fleet.format, &v);
    time_print(&since, (struct value_time){ reply.since_unix, 0 });
    (void)printf("Hostname:  %s\nMaster ID: %s\nSince:     %s\n", reply.hostname, reply.master,
                 buf_text(&since));
    return CLI_OK;
}

/* --- history ---------------------------------------------------------------------- */

static const char *const trees[] = { "states", "settings", "reactor" };

static bool is_tree_name(const char *text)
{
    for (size_t i = 0; i < ARRAY_LEN(trees); i++)
        if (strcmp(trees[i], text) == 0)
            return true;
    return false;
}

/* For completion. */
static void add_trees(struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(trees); i++)
        buf_printf(out, " %s", trees[i]);
}

static int check_tree(struct cli *cli, const char *text)
{
    return is_tree_name(text)
               ? CLI_OK
               : cli_usage(cli, "invalid tree '%s': expected states, settings or reactor", text);
}

static int read_revision(struct cli *cli, const char *text, uint64_t *ret)
{
    uint64_t number;
    struct err err;

    if (number_parse_uint(str_from(text), &number, &err) < 0 || number < 1 || number > INT64_MAX)
        return cli_usage(cli, "invalid revision '%s': 'zester fileserver history' lists them",
                         text);
    *ret = number;
    return CLI_OK;
}

struct revisions {
    struct arena *arena;
    VEC(struct fileset_revision) list;
    const char *tree;  /* NULL: all */
    uint64_t revision; /* 0: all */
};

static void add_revision(void *self, const struct nats_kv_entry *entry)
{
    struct revisions *revisions = self;
    struct fileset_revision revision;
    struct err err;

    if (record_decode(revisions->arena, &fileset_revision_type, 1,
                      arena_str(revisions->arena, entry->value), &revision, &err) == 0 &&
        (!revisions->revision || revision.revision == revisions->revision))
        VEC_PUSH_IN(revisions->arena, &revisions->list, revision);
}

/* The newest one of each tree first. */
static int compare_revisions(const void *a, const void *b)
{
    const struct fileset_revision *left = a, *right = b;
    const int tree = strcmp(left->tree, right->tree);

    if (tree != 0)
        return tree;
    return left->revision > right->revision ? -1 : left->revision < right->revision;
}

static int read_history(struct cli *cli, const struct fileserver_args *want,
                        struct revisions *revisions)
{
    const char *pattern =
        arena_printf(cli->arena, "%s.revision.*", revisions->tree ? revisions->tree : "*");
    struct err err;

    if (fleet_attach(cli, &want->fleet) != CLI_OK)
        return CLI_ERROR;
    if (fleet_bucket_each(cli->fleet, STORE_TREE_HISTORY, pattern, add_revision, revisions, &err) <
        0)
        return cli_err(cli, &err);
    if (revisions->list.n)
        qsort(revisions->list.p, revisions->list.n, sizeof(revisions->list.p[0]),
              compare_revisions);
    return CLI_OK;
}

static const char *print_published(struct arena *arena, const void *record)
{
    const struct fileset_revision *revision = record;

    return time_text(arena, (struct value_time){ revision->time_unix, 0 });
}

static const char *print_revision_note(struct arena *arena, const void *record)
{
    const struct fileset_revision *revision = record;

    if (revision->restored)
        return arena_printf(arena, "rollback to %" PRIu64 " by %s", revision->restored,
                            revision->operator);
    return revision->note[0] ? arena_printf(arena, "%s by %s", revision->note, revision->operator)
                             : "";
}

static const struct fleet_column history_columns[] = {
    FLEET_COLUMN("REVISION", "revision"),
    FLEET_COLUMN("TREE", "tree"),
    FLEET_COLUMN("PUBLISHED", NULL, .cell = print_published),
    FLEET_COLUMN("MASTER", "master"),
    FLEET_COLUMN("FILES", "files"),
    FLEET_COLUMN("ADDED", "added"),
    FLEET_COLUMN("CHANGED", "changed"),
    FLEET_COLUMN("REMOVED", "removed"),
    FLEET_COLUMN("NOTE", NULL, .cell = print_revision_note),
};

/* One revision: what it changed. */
static void print_revision_changes(const struct fileset_revision *revision)
{
    const uint64_t all = revision->added + revision->changed + revision->removed;

    VEC_EACH (&revision->changes.list, change)
        (void)printf("%-8s %s\n", change->change, change->path);
    if (all > revision->changes.list.n)
        (void)printf("and %" PRIu64 " more\n", all - revision->changes.list.n);
}

static int print_history(struct cli *cli, enum fleet_format format,
                         const struct revisions *revisions)
{
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, history_columns);

    if (format == FLEET_TEXT && revisions->revision) {
        print_revision_changes(&revisions->list.p[0]);
        return CLI_OK;
    }
    VEC_EACH (&revisions->list, revision)
        fleet_list_add(&list, record_value(cli->arena, &fileset_revision_type, revision), revision);
    return fleet_list_print(cli, format, &list);
}

static int run_history(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct fileserver_args *want = args;
    struct revisions revisions = { .arena = cli->arena };
    int status = CLI_OK;

    if (operands.n > 0)
        status = check_tree(cli, revisions.tree = operands.p[0]);
    if (status == CLI_OK && operands.n > 1)
        status = read_revision(cli, operands.p[1], &revisions.revision);
    if (status == CLI_OK)
        status = read_history(cli, want, &revisions);
    if (status != CLI_OK)
        return status;
    if (revisions.revision && !revisions.list.n)
        return cli_error(cli, "revision %" PRIu64 " of the %s is not recorded", revisions.revision,
                         revisions.tree);
    return print_history(cli, want->fleet.format, &revisions);
}

/* --- rollback --------------------------------------------------------------------- */

static int print_rollback(struct cli *cli, const struct fileset_rollback_reply *reply)
{
    if (reply->err[0])
        return cli_error(cli, "%s", reply->err);
    if (reply->files == 0)
        (void)printf("The %s are as in revision %" PRIu64 " already\n", reply->tree,
                     reply->restored);
    else
        (void)printf("The %s are as in revision %" PRIu64 " again: %" PRIu64
                     " files changed, published as revision %" PRIu64 "\n",
                     reply->tree, reply->restored, reply->files, reply->revision);
    return CLI_OK;
}

static int ask_rollback(struct cli *cli, const struct fileserver_args *want,
                        const struct fileset_rollback *question)
{
    AUTO_BUF struct buf bytes = BUF_INIT(1024);
    const struct reach_options reach = { &want->fleet, want->no_wait };
    const bool is_text = want->fleet.format == FLEET_TEXT;
    struct fileset_rollback_reply reply;
    struct value v;
    struct str answer;
    struct err err;
    int status, reached = CLI_OK;

    if (record_encode(&bytes, &fileset_rollback_type, question, &err) < 0)
        return cli_err(cli, &err);
    status = fleet_ask_publisher(cli, &want->fleet, SUBJECT_FILES_ROLLBACK, buf_view(&bytes),
                                 ROLLBACK_NS, &answer);
    if (status != CLI_OK)
        return status;
    if (record_decode(cli->arena, &fileset_rollback_reply_type, 1, answer, &reply, &err) < 0)
        return cli_err(cli, &err);
    v = record_value(cli->arena, &fileset_rollback_reply_type, &reply);
    if (is_text)
        status = print_rollback(cli, &reply);
    (void)fflush(stdout);
    if (!reply.err[0])
        reached = reach_await(cli, &reach, &reply.trees, is_text ? NULL : &v);
    if (!is_text)
        status = fleet_print(cli, want->fleet.format, &v);
    if (status != CLI_OK)
        return status;
    return reply.err[0] ? CLI_ERROR : reached;
}

static int run_rollback(struct cli *cli, const void *args, struct param_strs operands)
{
    struct fileset_rollback question = { .tree = operands.p[0], .operator= fleet_user(cli->arena) };
    int status = check_tree(cli, question.tree);

    if (status == CLI_OK)
        status = read_revision(cli, operands.p[1], &question.revision);
    return status == CLI_OK ? ask_rollback(cli, args, &question) : status;
}

static const struct command fileserver_commands[] = {
    { .name = "update",
      .operands = "",
      .summary = "publish changes of states, settings and rules now",
      .details =
          "Checks them first: rules, settings and states, for every known machine, as far as\n"
          "a master can know. With a mistake, nothing is published. Returns when masters and\n"
          "online peels have what is published, or names those that do not.\n",
      .statuses = "0 published, and all online have it; 1 wrong usage, or not published;\n"
                  "2 published, but some do not have it in time",
      .examples = "  zester fileserver update\n",
      .options = update_options,
      .args_size = sizeof(ARGS),
      .run = run_update },
    { .name = "status",
      .operands = "",
      .summary = "show which master publishes the trees",
      .examples = "  zester fileserver status\n",
      .options = status_options,
      .args_size = sizeof(ARGS),
      .run = run_status },
    { .name = "history",
      .operands = "[TREE [REVISION]]",
      .summary = "revisions of the published trees, the newest first",
      .details = "TREE is states, settings or reactor. Each change that was published is a\n"
                 "revision; masters keep the last ones (`files_history`). With a REVISION:\n"
                 "the files that it added, changed and removed.\n",
      .examples = "  zester fileserver history states\n"
                  "  zester fileserver history states 12\n",
      .options = status_options,
      .args_size = sizeof(ARGS),
      .most = 2,
      .run = run_history,
      .words = add_trees },
    { .name = "rollback",
      .operands = "TREE REVISION",
      .summary = "restore an earlier revision of a published tree",
      .details = "TREE is states, settings or reactor. The folder of the master that\n"
                 "publishes becomes what it was then, and is published as a new revision;\n"
                 "what is there now is a revision, too, and can be brought back. A folder\n"
                 "that is a git checkout, or that the master cannot write, is refused.\n",
      .examples = "  zester fileserver rollback states 12\n",
      .options = rollback_options,
      .args_size = sizeof(ARGS),
      .least = 2,
      .most = 2,
      .run = run_rollback,
      .words = add_trees,
      .lookup = "fileserver history" },
    { .name = "canary",
      .operands = "[TARGET]",
      .summary = "try state changes on some peels first, or show the current canary",
      .details = "From now on, changes of the folder of states are published only to peels\n"
                 "that match TARGET; all others stay with what is published now. Peels decide\n"
                 "with their own facts, so TARGET can be anything but settings (`I@`). Without\n"
                 "TARGET: who has which revision, and which files differ. `zester fileserver\n"
                 "promote` publishes what was tried to all; `--abort` brings the folder back to\n"
                 "what all others have. What is dropped is a revision, and can be brought back.\n",
      .examples = "  zester fileserver canary 'web-01 or G@role:test'\n"
                  "  zester fileserver canary\n"
                  "  zester fileserver canary --abort\n",
      .options = fileserver_canary_options,
      .args_size = sizeof(struct fileserver_canary_args),
      .most = 1,
      .run = fileserver_canary_run },
    { .name = "promote",
      .operands = "",
      .summary = "publish what a canary has tried to all peels",
      .details = "Changes of the folder that the canary does not have yet are published to the\n"
                 "canary instead, and the command fails: all get what was tried.\n",
      .examples = "  zester fileserver promote\n",
      .options = fileserver_canary_promote_options,
      .args_size = sizeof(struct fileserver_canary_args),
      .run = fileserver_canary_promote },
    { 0 },
};

const struct command command_fileserver = {
    .name = "fileserver",
    .operands = "",
    .summary = "show, update, try and roll back the file trees that masters publish",
    .examples = "  zester fileserver update\n",
    .commands = fileserver_commands,
};
