/* zester-master backup: keys, configuration, trees and the store of the bus in one sealed file. */
#include <stdio.h>
#include <unistd.h>

#include "commands/cli/fleet/backup/backup_content.h"
#include "commands/cli/fleet/backup/backup_file.h"
#include "commands/cli/fleet/backup/backup_streams.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/shared/interrupt.h"
#include "core/base/arena.h"
#include "core/base/build.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/hostnames.h"
#include "fleet/bus/identity.h"
#include "fleet/nats/nkey.h"

struct backup_args {
    struct fleet_options fleet;
    struct backup_key_options key;
    const char *nats_conf;
    struct param_strs include;
};

#define ARGS struct backup_args

/* clang-format off */
static const struct param backup_options[] = {
    BACKUP_KEY_OPTIONS(ARGS, key),
    PARAM("nats-conf", PATH, ARGS, nats_conf, "the configuration of nats-server (/etc/zester/nats-server.conf, else /etc/nats/nats-server.conf)", .kind_text = "FILE"),
    PARAM("include", STRS, ARGS, include, "another file or folder to back up; may be repeated", .kind_text = "PATH"),
    FLEET_LINK_OPTIONS(ARGS, fleet, FLEET_TIMEOUT),
    { 0 },
};
/* clang-format on */

struct backup {
    struct cli *cli;
    const struct backup_args *want;
    struct fleet_target target;
    struct backup_content content;
    struct backup_streams_count streams;
    struct backup_file file;
    struct fleet *fleet;
};

static int read_fleet_key(struct backup *backup, const char **ret_key, struct err *err)
{
    char text[NATS_NKEY_TEXT_SIZE];
    struct nats_nkey account;

    if (identity_read_key(backup->content.conf.auth_dir, IDENTITY_ACCOUNT_SEED, &account, err) < 0)
        return -1;
    nats_nkey_print_public(&account, text);
    nats_nkey_done(&account);
    *ret_key = arena_strdup(backup->cli->arena, text);
    return 0;
}

static int begin_backup(struct backup *backup, struct err *err)
{
    const struct nats_conn *conn = backup->fleet->js.conn;
    const int64_t now = clock_wall() / CLOCK_SECOND;
    char id[KSUID_SIZE];
    struct archive_info info = {
        .id = id,
        .host = hostnames_own(backup->cli->arena),
        .zester = build_info.version,
        .server_number = nats_conn_version(conn),
        .conf = backup->content.conf_file,
        .nats_conf = backup->content.nats_conf,
        .made = { .seconds = now },
    };

    ksuid_new(now, id);
    info.server = arena_printf(
        backup->cli->arena, "%lld.%lld.%lld", (long long)(info.server_number / 1000000),
        (long long)(info.server_number / 1000 % 1000), (long long)(info.server_number % 1000));
    return read_fleet_key(backup, &info.fleet, err) < 0
               ? -1
               : archive_begin(&backup->file.writer, &backup->file.head, backup->file.key, &info,
                               err);
}

static int write_backup_parts(struct backup *backup, struct err *err)
{
    struct archive_writer *writer = &backup->file.writer;

    if (begin_backup(backup, err) < 0 || backup_content_write(&backup->content, writer, err) < 0 ||
        backup_streams_write(backup->fleet, writer, &backup->streams, err) < 0 ||
        archive_close(writer, err) < 0)
        return -1;
    return backup_file_commit(&backup->file, err);
}

static int make_backup(struct backup *backup, const char *path, struct err *err)
{
    const struct backup_args *want = backup->want;
    struct arena *arena = backup->cli->arena;
    int result;

    if (fleet_find(arena, &want->fleet, &backup->target, err) < 0 ||
        backup_content_find(arena,
                            &(struct backup_want){ .config = backup->target.file,
                                                   .nats_conf = want->nats_conf,
                                                   .include = want->include },
                            &backup->content, err) < 0 ||
        fleet_connect(arena, &backup->target, &backup->fleet, err) < 0 ||
        fleet_require_admin(backup->fleet, "back up the fleet", err) < 0)
        return -1;
    if (backup_file_create(arena, path, &backup->file, err) < 0)
        return -1;
    result = backup_key_make(&want->key, &backup->file.head, backup->file.key, err);
    if (result == 0)
        result = write_backup_parts(backup, err);
    backup_file_done(&backup->file);
    return result;
}

static int run_backup(struct cli *cli, const void *args, struct param_strs operands)
{
    struct backup backup = { .cli = cli, .want = args };
    struct cancel cancel;
    struct err err;
    int result;

    if (cancel_init(&cancel, &err) < 0)
        return cli_err(cli, &err);
    interrupt_watch(&cancel, 0);
    (void)cancel_heed(&cancel);
    result = make_backup(&backup, operands.p[0], &err);
    (void)cancel_heed(NULL);
    interrupt_forget();
    fleet_close(backup.fleet);
    cancel_done(&cancel);
    if (result < 0)
        return cli_err_root(cli, &err);
    printf("%s: %zu files, %zu streams with %lld messages, %llu bytes\n"
           "Keep its %s elsewhere: without it nobody can read the backup.\n",
           operands.p[0], backup.content.files, backup.streams.streams,
           (long long)backup.streams.messages, (unsigned long long)backup.file.size,
           backup.file.head.kind == ARCHIVE_KEY_FILE ? "key file" : "passphrase");
    return CLI_OK;
}

const struct command command_backup = {
    .name = "backup",
    .operands = "FILE",
    .summary = "back up the fleet into one sealed file, while it works",
    .details =
        "Contains the keys and credentials, the configuration of master and nats-server with the\n"
        "files that it names, the trees, and all streams and buckets: jobs, returns, events,\n"
        "enrollments, operators, tokens, published files. Leases, heartbeats and presence are\n"
        "left out.\n"
        "\n"
        "FILE is sealed with a key from a passphrase or a key file, written as "
        "FILE" BACKUP_FILE_PART ",\nand renamed when it is complete and on disk. Then check it "
        "with 'zester-master verify'.\n",
    .examples = "  zester-master backup /backup/fleet.zb\n"
                "  zester-master backup /backup/fleet.zb --key-file /root/backup.key\n",
    .options = backup_options,
    .args_size = sizeof(struct backup_args),
    .least = 1,
    .most = 1,
    .run = run_backup,
};
