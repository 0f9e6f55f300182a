#include "commands/cli/fleet/tree/fileserver_canary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "fleet/bus/tree_fetch.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/tree/reach.h"
#include "core/data/time_text.h"
#include "fleet/nats/conn.h"
#include "fleet/wire/canary.h"
#include "fleet/wire/subject.h"

#define SHOW_NS (INT64_C(10) * 1000000000)
/* The folder is published, perhaps twice, and an abort changes it first. */
#define ACT_NS (INT64_C(120) * 1000000000)

#define ARGS struct fileserver_canary_args

/* clang-format off */
const struct param fileserver_canary_options[] = {
    PARAM("abort", BOOL, ARGS, abort, "end the canary, and restore the states that all other peels have"),
    FILESERVER_NO_WAIT(ARGS),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

const struct param fileserver_canary_promote_options[] = {
    FILESERVER_NO_WAIT(ARGS),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

/* --- which files differ -------------------------------------------------------------- */

static void add_canary_change(struct arena *arena, struct fileset_changes *changes,
                              const char *change, const char *path)
{
    VEC_PUSH_IN(arena, &changes->list, (struct fileset_change){ change, path });
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct fileset_change *)a)->path,
                  ((const struct fileset_change *)b)->path);
}

static void compare_sets(struct arena *arena, const struct tree_files *base,
                         const struct tree_files *tried, struct fileset_changes *ret)
{
    struct map before = MAP_INIT_IN(arena);

    for (size_t i = 0; i < base->n; i++)
        (void)map_set(&before, str_from(base->p[i].path), (void *)(uintptr_t)base->p[i].sha256);
    for (size_t i = 0; i < tried->n; i++) {
        const char *sum = map_remove(&before, str_from(tried->p[i].path));

        if (!sum)
            add_canary_change(arena, ret, "added", tried->p[i].path);
        else if (strcmp(sum, tried->p[i].sha256) != 0)
            add_canary_change(arena, ret, "changed", tried->p[i].path);
    }
    MAP_EACH (&before, entry)
        add_canary_change(arena, ret, "removed", entry->key.p);
    if (ret->list.n)
        qsort(ret->list.p, ret->list.n, sizeof(ret->list.p[0]), compare_paths);
}

static int read_manifest_files(struct cli *cli, const char *key, struct tree_files *ret,
                               struct err *err)
{
    struct str manifest;

    if (fleet_bucket_get(cli->fleet, STORE_STATE_FILES, key, &manifest, err) < 0)
        return -1;
    return tree_files_parse(cli->arena, manifest, ret, err);
}

static int read_canary_changes(struct cli *cli, struct fileset_changes *ret)
{
    struct tree_files base, tried;
    struct err err;

    if (read_manifest_files(cli, FILESET_MANIFEST, &base, &err) < 0 ||
        read_manifest_files(cli, CANARY_MANIFEST, &tried, &err) < 0)
        return cli_err(cli, &err);
    compare_sets(cli->arena, &base, &tried, ret);
    return CLI_OK;
}

/* --- what is printed ----------------------------------------------------------------- */

static void print_canary_changes(const struct fileset_changes *changes)
{
    if (changes->list.n == 0)
        (void)printf("Files:    none differ\n");
    VEC_EACH (&changes->list, change) {
        if (change - changes->list.p == FILESET_CHANGES_MAX) {
            (void)printf("          and %zu more\n", changes->list.n - FILESET_CHANGES_MAX);
            return;
        }
        (void)printf("%-9s %-8s %s\n", change == changes->list.p ? "Files:" : "", change->change,
                     change->path);
    }
}

static void print_canary_state(const struct canary_reply *reply,
                               const struct fileset_changes *changes)
{
    AUTO_BUF struct buf since = BUF_INIT(64);

    if (!reply->active) {
        (void)printf("No canary: all peels have the same states\n");
        return;
    }
    time_print(&since, (struct value_time){ reply->since_unix, 0 });
    (void)printf("Target:   %s\nPhase:    %s\nSince:    %s\nBy:       %s\n", reply->target,
                 reply->phase, buf_text(&since), reply->operator);
    (void)printf("Peels:    %" PRIu64 ", %" PRIu64 " of them have the newest revision\n",
                 reply->peels, reply->following);
    (void)printf("Base:     revision %" PRIu64 "\nRevision: %" PRIu64 "\n", reply->base,
                 reply->revision);
    print_canary_changes(changes);
}

static void print_begun(const struct canary_reply *reply)
{
    (void)printf("Changes of the states are published to %" PRIu64
                 " peels that match %s; all others "
                 "stay at revision %" PRIu64 "\n",
                 reply->peels, reply->target, reply->base);
}

static void print_promoted(const struct canary_reply *reply)
{
    (void)printf("The canary has ended: its states are published to all peels as revision %" PRIu64
                 "\n",
                 reply->published);
}

static void print_aborted(const struct canary_reply *reply)
{
    (void)printf("The canary has ended: all peels have the states from before, %" PRIu64
                 " files changed, recorded as revision %" PRIu64 "\n",
                 reply->files, reply->published);
}

static struct value merge_changes(struct cli *cli, const struct canary_reply *reply,
                                  const struct fileset_changes *changes)
{
    struct value v = record_value(cli->arena, &canary_reply_type, reply);
    struct value_list *rows = value_list_new(cli->arena, changes->list.n);

    VEC_EACH (&changes->list, change)
        value_list_push(cli->arena, rows, record_value(cli->arena, &fileset_change_type, change));
    value_map_set(cli->arena, v.map, value_text("changes"), value_list(rows));
    return v;
}

/* --- asking -------------------------------------------------------------------------- */

static int ask_for_canary(struct cli *cli, const struct fleet_options *options,
                          const struct canary_request *request, struct canary_reply *ret)
{
    AUTO_BUF struct buf bytes = BUF_INIT(CANARY_RECORD_MAX);
    struct str answer;
    struct err err;
    int status;

    if (record_encode(&bytes, &canary_request_type, request, &err) < 0)
        return cli_err(cli, &err);
    status = fleet_ask_publisher(cli, options, SUBJECT_FILES_CANARY, buf_view(&bytes),
                                 request->act == CANARY_SHOW ? SHOW_NS : ACT_NS, &answer);
    if (status == CLI_OK && record_decode(cli->arena, &canary_reply_type, 1, answer, ret, &err) < 0)
        return cli_err(cli, &err);
    return status;
}

static void print_canary_done(const struct canary_request *request,
                              const struct canary_reply *reply)
{
    static void (*const printers[])(const struct canary_reply *reply) = {
        [CANARY_BEGIN] = print_begun,
        [CANARY_PROMOTE] = print_promoted,
        [CANARY_ABORT] = print_aborted,
    };

    printers[request->act](reply);
}

static int show_canary(struct cli *cli, const struct fleet_options *options,
                       const struct canary_reply *reply)
{
    struct fileset_changes changes = { 0 };
    struct value v;

    if (reply->active) {
        const int status = read_canary_changes(cli, &changes);

        if (status != CLI_OK)
            return status;
    }
    if (options->format == FLEET_TEXT) {
        print_canary_state(reply, &changes);
        return CLI_OK;
    }
    v = merge_changes(cli, reply, &changes);
    return fleet_print(cli, options->format, &v);
}

static int do_request(struct cli *cli, const struct fileserver_canary_args *want,
                      const struct canary_request *request)
{
    const struct fleet_options *options = &want->fleet;
    const struct reach_options reach = { options, want->no_wait };
    struct canary_reply reply = { .err = "" };
    struct value v;
    int reached = CLI_OK, status = ask_for_canary(cli, options, request, &reply);

    if (status != CLI_OK)
        return status;
    if (reply.err[0] && options->format == FLEET_TEXT)
        return cli_error(cli, "%s", reply.err);
    if (!reply.err[0] && request->act == CANARY_SHOW)
        return show_canary(cli, options, &reply);
    if (options->format == FLEET_TEXT) {
        print_canary_done(request, &reply);
        (void)fflush(stdout);
        return reach_await(cli, &reach, &reply.trees, NULL);
    }
    v = record_value(cli->arena, &canary_reply_type, &reply);
    if (!reply.err[0])
        reached = reach_await(cli, &reach, &reply.trees, &v);
    status = fleet_print(cli, options->format, &v);
    if (status != CLI_OK)
        return status;
    return reply.err[0] ? CLI_ERROR : reached;
}

int fileserver_canary_run(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct fileserver_canary_args *want = args;
    struct canary_request request = { .act = CANARY_SHOW,
                                      .target = operands.n ? operands.p[0] : "",
                                      .operator= fleet_user(cli->arena) };

    if (want->abort && operands.n)
        return cli_usage(cli, "--abort takes no target");
    if (operands.n && !operands.p[0][0])
        return cli_usage(cli, "the target is empty");
    if (want->abort)
        request.act = CANARY_ABORT;
    else if (operands.n)
        request.act = CANARY_BEGIN;
    return do_request(cli, want, &request);
}

int fileserver_canary_promote(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct fileserver_canary_args *want = args;
    const struct canary_request request = { .act = CANARY_PROMOTE,
                                            .target = "",
                                            .operator= fleet_user(cli->arena) };

    (void)operands;
    return do_request(cli, want, &request);
}
