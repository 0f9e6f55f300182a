/* zester-master restore: a fleet from its backup. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands/cli/fleet/backup/backup_file.h"
#include "commands/cli/fleet/backup/restore_files.h"
#include "commands/cli/fleet/backup/restore_streams.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/keys/signing_keys.h"
#include "commands/cli/fleet/setup/reconfigure.h"
#include "commands/cli/shared/interrupt.h"
#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/time_text.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/port_owner.h"
#include "core/sys/process.h"
#include "core/sys/program.h"
#include "core/sys/site.h"

/* Conflicts that are shown. */
#define SHOWN_MAX 20
/* For a server to start, and to end. */
#define SERVER_NS     (60 * CLOCK_SECOND)
#define PAUSE_US      100000
#define NATS_CONF_MAX ((size_t)1 << 20)
#define STORE_KEY     "store_dir: \""

struct restore_args {
    struct fleet_options fleet;
    struct backup_key_options key;
    bool force;
};

#define ARGS struct restore_args

/* clang-format off */
static const struct param restore_options[] = {
    BACKUP_KEY_OPTIONS(ARGS, key),
    PARAM("force", BOOL, ARGS, force, "replace files that differ, and delete the streams of the bus"),
    PARAM("master", STRS, ARGS, fleet.masters, "servers of the bus, tls:// only; may be repeated; default: as in the restored configuration", .kind_text = "URL"),
    { 0 },
};
/* clang-format on */

struct restoring {
    struct cli *cli;
    const struct restore_args *want;
    struct backup_file file;
    struct restore_files files;
    struct restore_streams streams;
    struct restore_settled settled;
    struct fleet_target target;
    struct process server; /* that this command has started; pid 0: none */
    const struct archive_info *info;
    const char *unpushed; /* why servers do not know the revocations yet; NULL: they do */
};

/* --- checking ------------------------------------------------------------------------- */

/* The whole archive is read before anything is changed. */
static int check_backup(struct restoring *restoring, struct err *err)
{
    struct archive_item item;

    do {
        if (backup_file_next(&restoring->file, &item, err) < 0)
            return -1;
        if (item.step == ARCHIVE_INFO || item.step == ARCHIVE_CLOSE ||
            item.part->kind == ARCHIVE_STREAM)
            continue;
        if (restore_files_compare(&restoring->files, &item, err) < 0)
            return -1;
    } while (item.step != ARCHIVE_CLOSE);
    return restore_files_look(&restoring->files, err);
}

static int refuse_conflicts(const struct restoring *restoring, struct err *err)
{
    size_t shown = 0;

    VEC_EACH (&restoring->files.conflicts, conflict)
        if (shown++ < SHOWN_MAX)
            (void)fprintf(stderr, "  %s: %s\n", conflict->path, conflict->why);
    if (shown > SHOWN_MAX)
        (void)fprintf(stderr, "  and %zu more\n", shown - SHOWN_MAX);
    return err_set(err, ERR_BUSY,
                   "this machine has other files than the backup (see above); nothing was changed; "
                   "--force replaces those that differ, and keeps those that the backup does not "
                   "have");
}

/* --- the bus -------------------------------------------------------------------------- */

static bool starts_server(const struct restoring *restoring)
{
    return restoring->info->nats_conf[0] && restoring->want->fleet.masters.n == 0 &&
           access(restoring->info->nats_conf, R_OK) == 0;
}

static const char *find_nats_server(struct arena *arena)
{
    const char *found = program_find(arena, "nats-server");

    return found || access("/usr/sbin/nats-server", X_OK) != 0 ? found : "/usr/sbin/nats-server";
}

/* The folder of its store, as its configuration names it; NULL: it has another form. */
static const char *find_store(struct arena *arena, const char *conf)
{
    struct str text;
    struct err ignored; /* the server reports it */
    size_t at;

    if (fs_read(arena, conf, NATS_CONF_MAX, &text, &ignored) < 0 || !text.p)
        return NULL;
    at = str_find(text, STR(STORE_KEY), 0);
    if (at == STR_NONE)
        return NULL;
    text = str_from_offset(text, at + strlen(STORE_KEY));
    return arena_str(arena, str_cut(&text, '"')).p;
}

/* Its store belongs to the user that the keys belong to, as when its supervisor starts it. */
static int choose_user(struct restoring *restoring, struct process_user *ret, bool *ret_has_user,
                       struct err *err)
{
    struct arena *arena = restoring->cli->arena;
    const char *store = find_store(arena, restoring->info->nats_conf);
    AUTO_SITE struct site site = SITE_INIT;
    struct fs_attr attr = { 0700, FS_KEEP, FS_KEEP };
    struct fs_info keys;

    if (fs_stat(restoring->target.auth_dir, &keys, err) < 0)
        return -1;
    *ret_has_user = geteuid() == 0 && keys.uid != 0;
    *ret = (struct process_user){ .uid = keys.uid, .gid = keys.gid };
    if (!*ret_has_user || !store)
        return 0;
    attr.uid = keys.uid;
    attr.gid = keys.gid;
    if (fs_mkdirs(store, attr.mode, err) < 0 || site_walk(&site, store, SITE_OWN, err) < 0)
        return -1;
    return site_set(&site, &attr, err);
}

/* It ends with this command, and is started again by the one that supervises it. */
static int start_own_server(struct restoring *restoring, struct err *err)
{
    const char *program = find_nats_server(restoring->cli->arena);
    const char *const argv[] = { program, "-c", restoring->info->nats_conf, NULL };
    struct process_spec spec = { .argv = argv, .parent_death = SIGTERM };
    struct process_user user = { 0 };
    bool has_user = false;

    if (!program)
        return err_set(err, ERR_NOT_FOUND,
                       "nats-server is not installed; install the package 'nats-server'");
    if (choose_user(restoring, &user, &has_user, err) < 0)
        return -1;
    spec.user = has_user ? &user : NULL;
    return process_start(&spec, &restoring->server, err);
}

static void stop_own_server(struct restoring *restoring)
{
    struct process_status status;
    struct err ignored; /* it ends, or its supervisor finds the port taken */

    if (restoring->server.pid == 0)
        return;
    if (process_signal(&restoring->server, SIGTERM, &ignored) == 0)
        (void)process_wait(&restoring->server, clock_after(clock_real(), SERVER_NS), &status,
                           &ignored);
    process_done(&restoring->server);
}

static int try_bus(struct restoring *restoring, struct err *err)
{
    struct fleet *fleet;

    if (fleet_connect(restoring->cli->arena, &restoring->target, &fleet, err) < 0)
        return -1;
    fleet_close(fleet);
    return 0;
}

/* Such as the server that the package of nats-server starts by itself. What is wrong with a
 * configuration that setup did not make, the server reports. */
static int check_own_port(struct restoring *restoring, struct err *err)
{
    struct arena *arena = restoring->cli->arena;
    struct reconfigure conf;
    struct port_owner owner;
    struct err ignored;

    if (reconfigure_read(arena, restoring->info->conf, restoring->info->nats_conf, &conf,
                         &ignored) < 0 ||
        !port_owner_find(arena, (uint16_t)conf.before.port, &owner))
        return 0;
    return err_set(err, ERR_BUSY,
                   "the files are restored; port %lld of nats-server is in use by %s (process "
                   "%lld%s%s): stop it%s%s, and run this again",
                   (long long)conf.before.port, owner.name, (long long)owner.pid,
                   owner.unit ? ", unit " : "", owner.unit ? owner.unit : "",
                   owner.unit ? " with 'systemctl disable --now " : "",
                   owner.unit ? arena_printf(arena, "%s'", owner.unit) : "");
}

static int reach_bus(struct restoring *restoring, struct err *err)
{
    const int64_t deadline = clock_after(clock_real(), SERVER_NS);
    struct err why;

    if (try_bus(restoring, err) == 0)
        return 0;
    if (!starts_server(restoring))
        return err_wrap(err, "the files are restored; start nats-server and run this again");
    why = *err;
    if (check_own_port(restoring, err) < 0)
        return -1;
    if (start_own_server(restoring, err) < 0)
        return err_wrap(err, "%s", why.text);
    while (try_bus(restoring, err) < 0) {
        if (clock_real() >= deadline || cancel_check(&why) < 0)
            return err_wrap(err, "nats-server was started with '%s'", restoring->info->nats_conf);
        (void)usleep(PAUSE_US);
    }
    return 0;
}

/* The claims in the configuration of a server may be from before a revocation. */
static void push_claims(struct restoring *restoring)
{
    struct signing_keys keys;
    struct err err;

    if (signing_keys_open(restoring->cli->arena, restoring->target.auth_dir, &restoring->target,
                          &keys, &err) < 0) {
        restoring->unpushed = arena_strdup(restoring->cli->arena, err.text);
        return;
    }
    if (signing_keys_push(&keys, &err) < 0)
        restoring->unpushed = arena_strdup(restoring->cli->arena, err.text);
    signing_keys_close(&keys);
}

static int open_bus(struct restoring *restoring, struct err *err)
{
    const struct fleet_options options = { .config = restoring->info->conf,
                                           .masters = restoring->want->fleet.masters };

    if (fleet_find(restoring->cli->arena, &options, &restoring->target, err) < 0 ||
        reach_bus(restoring, err) < 0)
        return -1;
    push_claims(restoring);
    restoring->streams = (struct restore_streams){ .arena = restoring->cli->arena,
                                                   .info = restoring->info,
                                                   .is_forced = restoring->want->force };
    return restore_streams_open(&restoring->streams, &restoring->target, err);
}

/* --- writing -------------------------------------------------------------------------- */

static int restore_item(struct restoring *restoring, const struct archive_item *item,
                        struct err *err)
{
    if (item->step == ARCHIVE_INFO || item->step == ARCHIVE_CLOSE)
        return 0;
    if (item->part->kind != ARCHIVE_STREAM)
        return restore_files_write(&restoring->files, item, err);
    if (!restoring->streams.fleet && open_bus(restoring, err) < 0)
        return -1;
    return restore_streams_write(&restoring->streams, &restoring->file, item->part, err);
}

static int write_backup(struct restoring *restoring, struct err *err)
{
    struct archive_item item;

    if (backup_file_rewind(&restoring->file, err) < 0)
        return -1;
    do {
        if (backup_file_next(&restoring->file, &item, err) < 0 ||
            restore_item(restoring, &item, err) < 0)
            return -1;
    } while (item.step != ARCHIVE_CLOSE);
    if (!restoring->streams.fleet)
        return 0;
    return restore_streams_settle(&restoring->streams, restoring->target.auth_dir,
                                  &restoring->settled, err);
}

static int restore_fleet(struct restoring *restoring, const char *path, struct err *err)
{
    if (backup_file_open(path, &restoring->want->key, &restoring->file, err) < 0 ||
        check_backup(restoring, err) < 0)
        return -1;
    restoring->info = &restoring->file.reader.info;
    if (restoring->files.conflicts.n > 0 && !restoring->want->force)
        return refuse_conflicts(restoring, err);
    return write_backup(restoring, err);
}

/* --- telling -------------------------------------------------------------------------- */

static void print_lost(struct restoring *restoring)
{
    const char *made = time_text(restoring->cli->arena, restoring->info->made);

    printf(
        "\n"
        "THE FLEET NOW HAS ITS STATE OF %s. What was done after that is forgotten:\n"
        "  revoked machines     are let in again: compare 'zester enroll list -s all' with your\n"
        "                       records, and revoke them again\n"
        "  removed operators    are let in again: 'zester operator list'\n"
        "  revoked join tokens  are valid again until they expire: 'zester-master token list'\n"
        "  new machines         are unknown, and must join again\n"
        "  rollouts             continue from there: 'zester update rollouts'\n",
        made);
}

static void print_restored(struct restoring *restoring, const char *path)
{
    printf("%s: %lld files written, %lld unchanged, %lld streams with %lld messages\n", path,
           (long long)restoring->files.written, (long long)restoring->files.kept,
           (long long)restoring->streams.restored, (long long)restoring->streams.messages);
    printf("  jobs recorded as failed, because they had not ended: %zu\n", restoring->settled.jobs);
    printf("  events skipped, because nobody had handled them: %zu%s\n", restoring->settled.events,
           restoring->settled.events ? " ('zester reactor replay' shows what would follow)" : "");
    printf("  published trees signed again: %zu\n", restoring->settled.trees);
    if (restoring->unpushed)
        printf("  servers do not know the revocations until a master runs: %s\n",
               restoring->unpushed);
    print_lost(restoring);
    printf(
        "\nNow start nats-server and the master: 'zester-master setup', or your own units. Then: "
        "zester doctor\n");
}

static int run_restore(struct cli *cli, const void *args, struct param_strs operands)
{
    struct restoring restoring = { .cli = cli, .want = args, .file = { .fd = -1 } };
    struct cancel cancel;
    struct err err;
    int result;

    if (cancel_init(&cancel, &err) < 0)
        return cli_err(cli, &err);
    interrupt_watch(&cancel, 0);
    (void)cancel_heed(&cancel);
    restore_files_begin(&restoring.files, cli->arena);
    result = restore_fleet(&restoring, operands.p[0], &err);
    (void)cancel_heed(NULL);
    interrupt_forget();
    restore_streams_close(&restoring.streams);
    stop_own_server(&restoring);
    if (result == 0)
        print_restored(&restoring, operands.p[0]);
    restore_files_done(&restoring.files);
    backup_file_done(&restoring.file);
    cancel_done(&cancel);
    return result < 0 ? cli_err_root(cli, &err) : CLI_OK;
}

const struct command command_restore = {
    .name = "restore",
    .operands = "FILE",
    .summary = "restore the fleet from a backup, into empty servers",
    .details =
        "Stop every master first. The whole backup is checked before anything is changed. Files\n"
        "go to where they were; then the streams go to the bus, which must have none of them.\n"
        "nats-server is started for that time if it does not run. Peels keep their credentials\n"
        "and reconnect. A restore that was killed is finished by running it again; masters do\n"
        "not start before.\n"
        "\n"
        "What was under way when the backup was made does not happen again: such jobs are\n"
        "recorded as failed, and events that wait for a reaction are skipped. What was done after\n"
        "the backup is forgotten, revocations too: the command prints what to check.\n",
    .examples = "  zester-master restore /backup/fleet.zb\n"
                "  zester-master restore /backup/fleet.zb --key-file /root/backup.key\n",
    .options = restore_options,
    .args_size = sizeof(struct restore_args),
    .least = 1,
    .most = 1,
    .run = run_restore,
};
