/* zester nats-auth rotate: a new signing key of the account, without enrolling peels again. */
#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/identity.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/audit.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/fleet/keys/nats_auth.h"
#include "commands/cli/fleet/keys/signing_keys.h"
#include "core/data/time_text.h"
#include "fleet/view/enrollments.h"
#include "fleet/view/issuers.h"
#include "core/sys/clock.h"
#include "core/sys/path.h"

/* Names in a message. */
#define NAMES_MAX  20
#define SPREAD_MAX (INT64_C(30) * 86400 * CLOCK_SECOND)

#define ARGS struct nats_auth_rotate_args

/* clang-format off */
const struct param nats_auth_rotate_options[] = {
    PARAM("dir",    STR,      ARGS, dir, "the folder of keys and credentials (that of the configuration)", .kind_text = "DIR"),
    PARAM("spread", DURATION, ARGS, spread, "the time over which peels get new credentials", PARAM_RANGE(0, SPREAD_MAX), .default_text = "1h"),
    PARAM("status", BOOL,     ARGS, status, "only show which peels use which key"),
    PARAM("finish", BOOL,     ARGS, finish, "stop accepting older keys"),
    PARAM("force",  BOOL,     ARGS, force, "with --finish: even if peels still use an older key"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

struct rotate {
    struct cli *cli;
    const struct nats_auth_rotate_args *want;
    struct fleet_target target;
    struct signing_keys keys;
    struct fleet_issuers issuers;
};

/* --- peels -------------------------------------------------------------------------- */

static void on_rotated_enrollment(void *self, const struct nats_kv_entry *entry)
{
    fleet_enrollments_take(self, entry->key, entry->value);
}

static int read_issuers(struct rotate *rotate, struct err *err)
{
    struct fleet_enrollments all = FLEET_ENROLLMENTS_INIT(rotate->cli->arena);
    struct fleet *fleet;
    int result;

    if (fleet_connect(rotate->cli->arena, &rotate->target, &fleet, err) < 0)
        return -1;
    result = fleet_require_admin(fleet, "rotate keys", err);
    if (result == 0)
        result =
            fleet_bucket_each(fleet, STORE_ENROLLMENTS, NULL, on_rotated_enrollment, &all, err);
    fleet_close(fleet);
    if (result < 0)
        return err_wrap(err, "enrollments");
    fleet_enrollments_end(&all);
    fleet_issuers_sort(&all,
                       &(struct fleet_issuer_keys){ rotate->keys.ring.keys,
                                                    signing_keys_peel_account(&rotate->keys) },
                       clock_wall() / CLOCK_SECOND, &rotate->issuers);
    return 0;
}

static const char *list_peel_names(struct arena *arena, const struct issuer_peels *peels)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < peels->list.n && i < NAMES_MAX; i++)
        buf_printf(&text, "%s%s", i > 0 ? ", " : "", peels->list.p[i]);
    if (peels->list.n > NAMES_MAX)
        buf_printf(&text, " and %zu more", peels->list.n - NAMES_MAX);
    return buf_copy(&text, arena).p;
}

/* --- showing ------------------------------------------------------------------------ */

static void add_peel_names(struct arena *arena, struct value *map, const char *key,
                           const struct issuer_peels *peels)
{
    struct value_list *list = value_list_new(arena, peels->list.n);

    for (size_t i = 0; i < peels->list.n; i++)
        value_list_push(arena, list, value_text(peels->list.p[i]));
    value_map_set(arena, map->map, value_text(key), value_list(list));
}

static struct value status_value(struct rotate *rotate)
{
    struct arena *arena = rotate->cli->arena;
    const struct keyring *ring = &rotate->keys.ring;
    const char *current = keyring_current(ring);
    struct value_list *older = value_list_new(arena, 0);
    struct value map = value_map(value_map_new(arena, 0)),
                 peels = value_map(value_map_new(arena, 0));

    for (size_t i = 1; i < ring->keys.n; i++)
        value_list_push(arena, older, value_text(ring->keys.p[i]));
    value_map_set(arena, map.map, value_text("generation"), value_int(ring->generation));
    value_map_set(arena, map.map, value_text("key"), current ? value_text(current) : value_null());
    value_map_set(arena, map.map, value_text("since"),
                  current ? value_text(time_text(arena, (struct value_time){ ring->since, 0 }))
                          : value_null());
    value_map_set(arena, map.map, value_text("older_keys"), value_list(older));
    value_map_set(arena, map.map, value_text("servers"), value_int((int64_t)rotate->keys.servers));
    value_map_set(arena, map.map, value_text("servers_current"),
                  value_int((int64_t)rotate->keys.current));
    add_peel_names(arena, &peels, "current", &rotate->issuers.current);
    add_peel_names(arena, &peels, "older", &rotate->issuers.older);
    add_peel_names(arena, &peels, "account", &rotate->issuers.account);
    add_peel_names(arena, &peels, "unmoved", &rotate->issuers.unmoved);
    add_peel_names(arena, &peels, "gone", &rotate->issuers.gone);
    value_map_set(arena, map.map, value_text("peels"), peels);
    return map;
}

static void print_group(struct arena *arena, const char *words, const struct issuer_peels *peels)
{
    if (peels->list.n > 0)
        printf("%s %zu (%s)\n", words, peels->list.n, list_peel_names(arena, peels));
}

static void print_rotation_status(struct rotate *rotate)
{
    struct arena *arena = rotate->cli->arena;
    const struct keyring *ring = &rotate->keys.ring;
    const struct fleet_issuers *issuers = &rotate->issuers;

    if (ring->keys.n == 0) {
        printf("Key in use: the account's own; 'zester nats-auth rotate' makes a signing key\n");
    } else {
        printf("Key in use: %s since %s\n", ring->keys.p[0],
               time_text(arena, (struct value_time){ ring->since, 0 }));
        for (size_t i = 1; i < ring->keys.n; i++)
            printf("Older key:  %s, still accepted\n", ring->keys.p[i]);
        printf("Servers:    %zu of %zu have this\n", rotate->keys.current, rotate->keys.servers);
        printf("Peels:      %zu have credentials of the key in use\n", issuers->current.list.n);
    }
    print_group(arena, "Peels with credentials of an older key:", &issuers->older);
    print_group(arena, "Peels with credentials of the account itself:", &issuers->account);
    print_group(arena, "Peels with credentials of the fleet's account:", &issuers->unmoved);
    print_group(arena, "Peels with credentials that are no longer accepted, until they renew them:",
                &issuers->gone);
    if (rotate->keys.has_next)
        printf("The last rotation has not ended: run 'zester nats-auth rotate' again\n");
}

static int show_rotation_status(struct rotate *rotate, struct err *err)
{
    struct value value;

    if (read_issuers(rotate, err) < 0)
        return -1;
    if (rotate->want->fleet.format == FLEET_TEXT) {
        print_rotation_status(rotate);
        return CLI_OK;
    }
    value = status_value(rotate);
    return fleet_print(rotate->cli, rotate->want->fleet.format, &value);
}

/* --- doing -------------------------------------------------------------------------- */

static int rotate_key(struct rotate *rotate, struct err *err)
{
    const bool was_begun = rotate->keys.has_next;
    const bool was_separate = rotate->keys.border.version > 0;

    if (signing_keys_rotate(&rotate->keys, rotate->want->spread / CLOCK_SECOND, err) < 0)
        return -1;
    printf("%s: %s is in use\n"
           "Peels get new credentials by themselves; 'zester nats-auth rotate --status' shows how "
           "many have.\n"
           "Masters on other machines need %s/%s, with its owner and mode.\n"
           "When all peels have them: zester nats-auth rotate --finish\n",
           was_begun ? "Ended the rotation that was begun" : "Made a new signing key",
           keyring_current(&rotate->keys.ring), rotate->keys.dir,
           identity_file_name(IDENTITY_SIGNING_SEED));
    if (!was_separate)
        printf("Peels and operators now have their own accounts, without JetStream.\n"
               "Before --finish: copy %s/master.creds to the other masters and restart all "
               "masters, copy\n"
               "admin.creds to everyone who has the old one, issue operators new credentials "
               "('zester operator issue'),\n"
               "and make the files of leaf nodes again ('zester nats-auth leaf').\n",
               rotate->keys.dir);
    return CLI_OK;
}

/* Refuse if peels would or may be locked out. */
static int check_peels(struct rotate *rotate, struct err *err)
{
    const struct fleet_issuers *issuers = &rotate->issuers;

    if (read_issuers(rotate, err) < 0)
        return -1;
    if (rotate->want->force)
        return 0;
    if (issuers->unmoved.list.n > 0)
        return err_set(err, ERR_BUSY,
                       "%zu peel%s not moved to the peels' account yet: %s; wait until they have "
                       "renewed their credentials, revoke them, or use --force: then they have to "
                       "renew them before they can connect again",
                       issuers->unmoved.list.n, issuers->unmoved.list.n == 1 ? " has" : "s have",
                       list_peel_names(rotate->cli->arena, &issuers->unmoved));
    if (issuers->older.list.n > 0)
        return err_set(err, ERR_BUSY,
                       "%zu peel%s credentials of an older key: %s; wait until they have renewed "
                       "them, revoke them, or use --force: then they have to renew them before "
                       "they can connect again",
                       issuers->older.list.n, issuers->older.list.n == 1 ? " has" : "s have",
                       list_peel_names(rotate->cli->arena, &issuers->older));
    if (issuers->unreadable > 0)
        return err_set(err, ERR_BUSY,
                       "the enrollments of %zu peel%s cannot be read, so it is not known whether "
                       "they depend on an older key: try again when a master has put them right, "
                       "or use --force",
                       issuers->unreadable, issuers->unreadable == 1 ? "" : "s");
    return 0;
}

static int check_keys(const struct rotate *rotate, struct err *err)
{
    if (rotate->keys.has_next)
        return err_set(
            err, ERR_BUSY,
            "the last rotation has not ended: run 'zester nats-auth rotate' again first");
    if (rotate->keys.ring.keys.n == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "the account has no signing key: 'zester nats-auth rotate' makes one");
    if (!signing_keys_has_seed(&rotate->keys))
        return err_set(err, ERR_NOT_FOUND,
                       "'%s/%s' is not the key in use, %s: copy it from the master where it was "
                       "made",
                       rotate->keys.dir, identity_file_name(IDENTITY_SIGNING_SEED),
                       keyring_current(&rotate->keys.ring));
    return 0;
}

static int finish_rotation(struct rotate *rotate, struct err *err)
{
    const size_t count = rotate->keys.ring.keys.n;
    const bool has_unmoved = signing_keys_has_unmoved(&rotate->keys);

    if (check_keys(rotate, err) < 0)
        return -1;
    if (count == 1 && !signing_keys_has_unmoved(&rotate->keys)) {
        printf("Nothing to do: %s is the only signing key\n", keyring_current(&rotate->keys.ring));
        return CLI_OK;
    }
    if (check_peels(rotate, err) < 0 || signing_keys_finish(&rotate->keys, err) < 0)
        return -1;
    if (count > 1)
        printf("%zu older key%s no longer accepted\n", count - 1, count == 2 ? " is" : "s are");
    if (has_unmoved)
        printf("Older credentials of the fleet's account are no longer accepted\n");
    if (rotate->keys.current < rotate->keys.servers)
        (void)fprintf(stderr,
                      "WARNING: %zu of %zu servers confirmed it; masters send it again until all "
                      "do\n",
                      rotate->keys.current, rotate->keys.servers);
    return CLI_OK;
}

/* Servers know it through the system account; this is for the log of a master. */
static void audit_keys(struct rotate *rotate, const struct err *failure)
{
    const char *key = keyring_current(&rotate->keys.ring);
    struct fleet *fleet;
    struct err err;

    if (fleet_connect(rotate->cli->arena, &rotate->target, &fleet, &err) < 0) {
        (void)fprintf(stderr, "WARNING: not in the audit of a master: %s\n", err.text);
        return;
    }
    fleet_audit(rotate->cli, fleet, rotate->want->finish ? AUDIT_KEY_FINISH : AUDIT_KEY_ROTATE,
                key ? key : "", failure);
    fleet_close(fleet);
}

int nats_auth_run_rotate(struct cli *cli, const void *args, struct param_strs operands)
{
    struct rotate rotate = { .cli = cli, .want = args };
    const char *dir;
    struct err err;
    int result = -1;

    (void)operands;
    if (rotate.want->status && rotate.want->finish)
        return cli_usage(cli, "--status and --finish exclude each other");
    if (rotate.want->force && !rotate.want->finish)
        return cli_usage(cli, "--force is for --finish only");
    if (fleet_find(cli->arena, &rotate.want->fleet, &rotate.target, &err) < 0)
        return cli_err(cli, &err);
    dir = rotate.want->dir ? rotate.want->dir : rotate.target.auth_dir;
    rotate.target.auth_dir = dir;
    if (!rotate.want->fleet.creds)
        rotate.target.creds = path_join(cli->arena, dir, identity_file_name(IDENTITY_ADMIN_CREDS));
    if (signing_keys_open(cli->arena, dir, &rotate.target, &rotate.keys, &err) == 0)
        result = rotate.want->status   ? show_rotation_status(&rotate, &err)
                 : rotate.want->finish ? finish_rotation(&rotate, &err)
                                       : rotate_key(&rotate, &err);
    if (!rotate.want->status)
        audit_keys(&rotate, result < 0 ? &err : NULL);
    signing_keys_close(&rotate.keys);
    return result < 0 ? cli_err(cli, &err) : result;
}
