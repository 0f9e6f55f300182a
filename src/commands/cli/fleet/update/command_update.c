/* zester update: publishes signed versions of the daemons, and rolls them out. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "fleet/bus/bus_time.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/audit.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/fleet/list.h"
#include "commands/cli/fleet/update/args.h"
#include "commands/cli/fleet/update/versions.h"
#include "core/data/time_text.h"
#include "states/facts/facts.h"
#include "fleet/nats/nkey.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"

#define SYSTEM    "linux"
#define SEED_MAX  4096
#define SEED_MODE 0600
#define YEAR_NS   (INT64_C(366) * 86400 * CLOCK_SECOND)

#define ARGS struct update_args

/* clang-format off */
#define COMPONENT PARAM("component", CHOICE, ARGS, component, "the daemon", .choices = UPDATE_COMPONENT_WORDS, .default_text = "peel")
#define ARCH      PARAM("arch", STR, ARGS, arch, "the architecture, as Go names it (default: that of this machine)", .kind_text = "ARCH")

static const struct param no_options[] = {
    { 0 },
};

static const struct param publish_options[] = {
    COMPONENT,
    ARCH,
    PARAM("key", STR, ARGS, key, "the file of the signing key, as 'zester update keygen' writes it", .kind_text = "FILE"),
    PARAM("ttl", DURATION, ARGS, ttl, "when it expires; 0: after 30 days", PARAM_RANGE(0, 100 * YEAR_NS), .default_text = "0s"),
    PARAM("min-protocol", INT, ARGS, min_protocol, "the lowest protocol of nodes that may get it", PARAM_RANGE(0, 1000), .default_text = "0"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param version_options[] = {
    COMPONENT,
    ARCH,
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param fleet_options[] = {
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param node_options[] = {
    COMPONENT,
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param rollout_options[] = {
    COMPONENT,
    PARAM("batch", STR, ARGS, batch, "nodes of a batch", .kind_text = "N|N%", .default_text = "1"),
    PARAM("soak", DURATION, ARGS, soak, "how long the new version must be ready before it is confirmed", PARAM_RANGE(CLOCK_MS, YEAR_NS), .default_text = "60s"),
    PARAM("pause", DURATION, ARGS, pause, "pause between batches", PARAM_RANGE(0, YEAR_NS), .default_text = "30s"),
    PARAM("max-failed", INT, ARGS, max_failed, "end it after this many failed nodes", PARAM_RANGE(1, 1000000), .default_text = "1"),
    PARAM("id", STR, ARGS, id, "the id of the rollout; a second start with it is refused (default: a new one)", .kind_text = "ID"),
    PARAM("dry-run", BOOL, ARGS, dry_run, "show the batches; nothing is stored or sent"),
    PARAM("wait", BOOL, ARGS, wait, "wait for the end: status 0 when it completed, 2 when it did not; --timeout limits it"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

/* --- keygen ----------------------------------------------------------------------------- */

static int run_keygen(struct cli *cli, const void *args, struct param_strs operands)
{
    unsigned char bytes[ED25519_SEED_SIZE];
    char text[NATS_NKEY_TEXT_SIZE], public_key[NATS_NKEY_TEXT_SIZE];
    AUTO_BUF struct buf line = BUF_INIT(SEED_MAX);
    struct nats_nkey key;
    struct err err;
    int result;

    (void)args;
    chance_bytes(bytes, sizeof(bytes));
    nats_nkey_make(NATS_NKEY_USER, bytes, &key);
    nats_nkey_print_seed(&key, text);
    nats_nkey_print_public(&key, public_key);
    buf_printf(&line, "%s\n", text);
    result = fs_write(operands.p[0], buf_view(&line), SEED_MODE, &err);
    ed25519_wipe(bytes, sizeof(bytes));
    ed25519_wipe(text, sizeof(text));
    ed25519_wipe(line.p, line.n);
    nats_nkey_done(&key);
    if (result < 0)
        return cli_err(cli, &err);
    printf("%s\n", public_key);
    return CLI_OK;
}

static int read_signing_key(struct arena *arena, const char *file, struct nats_nkey *ret_key,
                            struct err *err)
{
    struct str text;
    int result;

    if (fs_read(arena, file, SEED_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND,
                       "key '%s' does not exist; 'zester update keygen' makes one", file);
    result = nats_nkey_parse_seed(str_trim(text), ret_key, err);
    ed25519_wipe((char *)(uintptr_t)text.p, text.n);
    return result < 0 ? err_wrap(err, "key '%s'", file) : 0;
}

/* --- versions --------------------------------------------------------------------------- */

static const char *arch_of(const struct update_args *want)
{
    return want->arch ? want->arch : facts_go_arch();
}

static const char *print_version_end(struct arena *arena, const void *record)
{
    const struct update_manifest *manifest = record;
    const int64_t seconds = update_manifest_end(manifest);

    if (manifest->promoted)
        return "promoted";
    return seconds == UPDATE_EXPIRES_NEVER ? "never"
                                           : time_text(arena, (struct value_time){ seconds, 0 });
}

static const char *print_system(struct arena *arena, const void *record)
{
    const struct update_manifest *manifest = record;

    return arena_printf(arena, "%s/%s", manifest->goos, manifest->goarch);
}

static const struct fleet_column version_columns[] = {
    FLEET_COLUMN("VERSION", "version"),
    FLEET_COLUMN("COMPONENT", "component"),
    FLEET_COLUMN("SYSTEM", NULL, .cell = print_system),
    FLEET_COLUMN("PUBLISHED", "published"),
    FLEET_COLUMN("EXPIRES", NULL, .cell = print_version_end),
    FLEET_COLUMN("SIGNED WITH", "key"),
};

static int run_versions(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct update_args *want = args;
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, version_columns);
    struct update_versions versions;
    struct err err;

    (void)operands;
    if (update_versions_read(cli->fleet, &versions, &err) < 0)
        return cli_err(cli, &err);
    VEC_EACH (&versions.list, manifest)
        fleet_list_add(&list, record_value(cli->arena, &update_manifest_type, manifest), manifest);
    return fleet_list_print(cli, want->fleet.format, &list);
}

/* "peel 1.4.0 linux/amd64", for the audit. */
static const char *name_version(struct cli *cli, const struct update_args *want,
                                const char *version)
{
    return arena_printf(cli->arena, "%s %s %s/%s", update_component_name(want->component), version,
                        SYSTEM, arch_of(want));
}

/* --- publish ---------------------------------------------------------------------------- */

/* Masters compare with the clock of the servers. */
static int64_t find_version_end(struct fleet *fleet, int64_t life)
{
    fleet_learn_time(fleet);
    return (bus_time() + life) / CLOCK_SECOND;
}

static int publish_version(struct cli *cli, const struct update_args *want, const char *version,
                           const char *file, struct update_manifest *manifest, struct err *err)
{
    struct nats_nkey key;
    struct fleet *fleet;
    int result;

    *manifest = (struct update_manifest){
        .version = version,
        .component = want->component,
        .goos = SYSTEM,
        .goarch = arch_of(want),
        .publisher = fleet_user(cli->arena),
        .min_protocol = (int32_t)want->min_protocol,
    };
    if (read_signing_key(cli->arena, want->key, &key, err) < 0)
        return -1;
    result = fleet_open(cli->arena, &want->fleet, &fleet, err);
    if (result == 0) {
        if (want->ttl > 0)
            manifest->expires_at = find_version_end(fleet, want->ttl);
        result = update_versions_publish(fleet, file, &key, manifest, want->fleet.timeout, err);
        fleet_audit(cli, fleet, AUDIT_UPDATE_PUBLISH, name_version(cli, want, version),
                    result < 0 ? err : NULL);
        fleet_close(fleet);
    }
    nats_nkey_done(&key);
    return result;
}

static int run_publish(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct update_args *want = args;
    struct update_manifest manifest;
    struct value result;
    struct err err;

    if (!update_version_is_valid(operands.p[0]))
        return cli_usage(cli, "'%s' is not a valid version", operands.p[0]);
    if (!want->key)
        return cli_usage(cli, "--key is required: nodes accept signed versions only");
    if (publish_version(cli, want, operands.p[0], operands.p[1], &manifest, &err) < 0)
        return cli_err(cli, &err);
    result = record_value(cli->arena, &update_manifest_type, &manifest);
    if (want->fleet.format != FLEET_TEXT)
        return fleet_print(cli, want->fleet.format, &result);
    printf("published %s %s for %s/%s, signed with %s\n", update_component_name(manifest.component),
           manifest.version, manifest.goos, manifest.goarch, manifest.key);
    return CLI_OK;
}

/* --- one version ------------------------------------------------------------------------ */

typedef int version_fn(struct fleet *fleet, const struct update_args *want,
                       const struct update_manifest *manifest, struct param_strs operands,
                       struct err *err);

static const struct update_manifest *find_version(const struct update_versions *versions,
                                                  const struct update_args *want,
                                                  const char *version)
{
    VEC_EACH (&versions->list, manifest)
        if (manifest->component == want->component && strcmp(manifest->version, version) == 0 &&
            strcmp(manifest->goarch, arch_of(want)) == 0)
            return manifest;
    return NULL;
}

/* An action on a version, and how it is reported. */
struct version_action {
    version_fn *fn;
    const char *done;
    enum audit_act act;
    bool changes_nothing; /* it is not in the audit */
};

static int with_version(struct cli *cli, const struct update_args *want, struct param_strs operands,
                        const struct version_action *action)
{
    const struct update_manifest *manifest = NULL;
    struct update_versions versions;
    struct fleet *fleet = cli->fleet;
    struct err err;
    int result = update_versions_read(fleet, &versions, &err);

    if (result == 0) {
        manifest = find_version(&versions, want, operands.p[0]);
        result = manifest ? action->fn(fleet, want, manifest, operands, &err)
                          : err_set(&err, ERR_NOT_FOUND,
                                    "version '%s' of %s is not published for %s/%s", operands.p[0],
                                    update_component_name(want->component), SYSTEM, arch_of(want));
    }
    if (!action->changes_nothing)
        fleet_audit(cli, fleet, action->act, name_version(cli, want, operands.p[0]),
                    result < 0 ? &err : NULL);
    if (result < 0)
        return cli_err(cli, &err);
    printf("%s %s %s\n", action->done, update_component_name(want->component), operands.p[0]);
    return CLI_OK;
}

static void clear_promoted(struct update_manifest *manifest, int64_t number)
{
    (void)number;
    manifest->promoted = false;
}

static void set_version_end(struct update_manifest *manifest, int64_t number)
{
    manifest->expires_at = number;
}

static int promote_version(struct fleet *fleet, const struct update_args *want,
                           const struct update_manifest *manifest, struct param_strs operands,
                           struct err *err)
{
    (void)operands;
    return update_versions_promote(fleet, manifest, want->fleet.timeout, err);
}

static int demote_version(struct fleet *fleet, const struct update_args *want,
                          const struct update_manifest *manifest, struct param_strs operands,
                          struct err *err)
{
    (void)operands;
    return update_versions_change(fleet, manifest, clear_promoted, 0, want->fleet.timeout, err);
}

static int set_ttl(struct fleet *fleet, const struct update_args *want,
                   const struct update_manifest *manifest, struct param_strs operands,
                   struct err *err)
{
    int64_t end = UPDATE_EXPIRES_NEVER, life = 0;

    if (strcmp(operands.p[1], "never") != 0) {
        if (number_parse_duration(str_from(operands.p[1]), &life, err) < 0)
            return -1;
        if (life <= 0 || life > 100 * YEAR_NS)
            return err_set(err, ERR_INVALID, "'%s': expected a time above 0, or 'never'",
                           operands.p[1]);
        end = find_version_end(fleet, life);
    }
    return update_versions_change(fleet, manifest, set_version_end, end, want->fleet.timeout, err);
}

static int unpublish_version(struct fleet *fleet, const struct update_args *want,
                             const struct update_manifest *manifest, struct param_strs operands,
                             struct err *err)
{
    (void)operands;
    return update_versions_remove(fleet, manifest, want->fleet.timeout, err);
}

static int fetch_version(struct fleet *fleet, const struct update_args *want,
                         const struct update_manifest *manifest, struct param_strs operands,
                         struct err *err)
{
    return update_versions_fetch(fleet, manifest, operands.p[1], want->fleet.timeout, err);
}

static int run_promote(struct cli *cli, const void *args, struct param_strs operands)
{
    return with_version(
        cli, args, operands,
        &(struct version_action){ promote_version, "promoted", AUDIT_UPDATE_PROMOTE, false });
}

static int run_demote(struct cli *cli, const void *args, struct param_strs operands)
{
    return with_version(
        cli, args, operands,
        &(struct version_action){ demote_version, "demoted", AUDIT_UPDATE_DEMOTE, false });
}

static int run_set_ttl(struct cli *cli, const void *args, struct param_strs operands)
{
    return with_version(
        cli, args, operands,
        &(struct version_action){ set_ttl, "changed", AUDIT_UPDATE_SET_TTL, false });
}

static int run_unpublish(struct cli *cli, const void *args, struct param_strs operands)
{
    return with_version(cli, args, operands,
                        &(struct version_action){ unpublish_version, "unpublished",
                                                  AUDIT_UPDATE_UNPUBLISH, false });
}

static int run_fetch(struct cli *cli, const void *args, struct param_strs operands)
{
    return with_version(cli, args, operands,
                        &(struct version_action){ fetch_version, "fetched", 0, true });
}

/* --- the table -------------------------------------------------------------------------- */

static const struct command update_commands[] = {
    { .name = "keygen",
      .operands = "FILE",
      .summary = "make a key that signs versions, and print its public part",
      .details = "The file is readable by its owner only; keep it where releases are built, away\n"
                 "from masters. The public part goes into 'trusted_keys' of the watchdogs.\n",
      .examples = "  zester update keygen release.seed\n",
      .options = no_options,
      .args_size = sizeof(ARGS),
      .least = 1,
      .most = 1,
      .run = run_keygen },
    { .name = "publish",
      .operands = "VERSION FILE",
      .summary = "sign a binary and make it available to rollouts",
      .details = "A version never changes: the same content again is fine, other content is\n"
                 "refused.\n",
      .examples = "  zester update publish 1.4.0 build/zester-peel --key release.seed\n",
      .options = publish_options,
      .args_size = sizeof(ARGS),
      .least = 2,
      .most = 2,
      .run = run_publish },
    { .name = "versions",
      .operands = "",
      .summary = "list what is published",
      .examples = "  zester update versions\n",
      .options = fleet_options,
      .args_size = sizeof(ARGS),
      FLEET_CONNECT(ARGS, fleet),
      .run = run_versions },
    { .name = "fetch",
      .operands = "VERSION FILE",
      .summary = "download a published binary into a new file, verified",
      .examples = "  zester update fetch 1.4.0 /tmp/zester-peel\n",
      .options = version_options,
      .args_size = sizeof(ARGS),
      .least = 2,
      .most = 2,
      FLEET_CONNECT(ARGS, fleet),
      .run = run_fetch,
      .lookup = "update versions" },
    { .name = "promote",
      .operands = "VERSION",
      .summary = "keep a version, and let masters roll it out",
      .details =
          "It does not expire, and masters bring it to nodes that run an older one, unless\n"
          "'zester update auto' is off. A node gets it once: promote it again for nodes that\n"
          "failed or were brought back, or after its rollout was aborted.\n",
      .examples = "  zester update promote 1.4.0\n",
      .options = version_options,
      .args_size = sizeof(ARGS),
      .least = 1,
      .most = 1,
      FLEET_CONNECT(ARGS, fleet),
      .run = run_promote,
      .lookup = "update versions" },
    { .name = "demote",
      .operands = "VERSION",
      .summary = "undo promote; nodes that run the version keep it",
      .examples = "  zester update demote 1.4.0\n",
      .options = version_options,
      .args_size = sizeof(ARGS),
      .least = 1,
      .most = 1,
      FLEET_CONNECT(ARGS, fleet),
      .run = run_demote,
      .lookup = "update versions" },
    { .name = "set-ttl",
      .operands = "VERSION TIME|never",
      .summary = "set when a version expires",
      .examples = "  zester update set-ttl 1.4.0 720h\n",
      .options = version_options,
      .args_size = sizeof(ARGS),
      .least = 2,
      .most = 2,
      FLEET_CONNECT(ARGS, fleet),
      .run = run_set_ttl,
      .lookup = "update versions" },
    { .name = "unpublish",
      .operands = "VERSION",
      .summary = "remove a version and its binary; nodes that run it keep it",
      .examples = "  zester update unpublish 1.4.0\n",
      .options = version_options,
      .args_size = sizeof(ARGS),
      .least = 1,
      .most = 1,
      FLEET_CONNECT(ARGS, fleet),
      .run = run_unpublish,
      .lookup = "update versions" },
    { .name = "rollout",
      .operands = "VERSION TARGET",
      .summary = "roll out a version, batch by batch",
      .details =
          "A batch is prepared, applied, watched for the soak time and confirmed before the\n"
          "next one begins. A node whose new version does not work goes back to the old\n"
          "one by itself. Masters do the work: this command may end.\n"
          "\n"
          "TARGET is a target expression, or names with commas; of masters (--component\n"
          "master) names or patterns with commas. Nodes without a watchdog, and degraded\n"
          "ones, are left out.\n",
      .examples = "  zester update rollout 1.4.0 'web*' --batch 10% --wait\n"
                  "  zester update rollout 1.4.0 '*' --component master --dry-run\n",
      .statuses = "0 started, or with --wait completed; 1 wrong usage, or it cannot start; 2 with\n"
                  "--wait: it was aborted",
      .options = rollout_options,
      .args_size = sizeof(ARGS),
      .least = 2,
      .most = 2,
      .run = update_run_rollout,
      .lookup = "update versions" },
    { .name = "rollouts",
      .operands = "[ID]",
      .summary = "list rollouts, or show one with its nodes",
      .examples = "  zester update rollouts\n",
      .options = fleet_options,
      .args_size = sizeof(ARGS),
      .most = 1,
      FLEET_CONNECT(ARGS, fleet),
      .run = update_run_rollouts,
      .lookup = "update rollouts" },
    { .name = "abort",
      .operands = "ID",
      .summary = "end a rollout; nodes in flight go back, confirmed ones stay",
      .examples = "  zester update abort rol-2abC\n",
      .options = fleet_options,
      .args_size = sizeof(ARGS),
      .least = 1,
      .most = 1,
      FLEET_CONNECT(ARGS, fleet),
      .run = update_run_abort,
      .lookup = "update rollouts" },
    { .name = "auto",
      .operands = "on|off|status",
      .summary = "control automatic rollouts of promoted versions",
      .details =
          "'on' and 'off' hold for the whole fleet, whatever 'update_auto_rollout' of a master\n"
          "says. A rollout that is under way goes on: 'zester update abort' ends it. 'status'\n"
          "also shows the promoted versions with their last automatic rollouts.\n",
      .examples = "  zester update auto off\n"
                  "  zester update auto status\n",
      .options = fleet_options,
      .args_size = sizeof(ARGS),
      .least = 1,
      .most = 1,
      .run = update_run_auto },
    { .name = "status",
      .operands = "",
      .summary = "list the nodes that have a watchdog, and what they run",
      .examples = "  zester update status\n",
      .options = fleet_options,
      .args_size = sizeof(ARGS),
      FLEET_CONNECT(ARGS, fleet),
      .run = update_run_status },
    { .name = "rollback",
      .operands = "NODE",
      .summary = "roll one node back to its previous version",
      .examples = "  zester update rollback web-01\n",
      .options = node_options,
      .args_size = sizeof(ARGS),
      .least = 1,
      .most = 1,
      FLEET_CONNECT(ARGS, fleet),
      .run = update_run_rollback,
      .lookup = "update status" },
    { 0 },
};

const struct command command_update = {
    .name = "update",
    .operands = "",
    .summary = "publish signed versions of the daemons and roll them out",
    .examples = "  zester update publish 1.4.0 build/zester-peel --key release.seed\n"
                "  zester update rollout 1.4.0 '*' --batch 10%\n",
    .commands = update_commands,
};
