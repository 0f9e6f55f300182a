/* zester-master token: creates join tokens. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "bus/store.h"
#include "cli/commands.h"
#include "cli/fleet_link.h"
#include "cli/join_token.h"
#include "data/msgpack.h"
#include "enroll/token.h"
#include "nats/error.h"
#include "nats/kv.h"
#include "sys/chance.h"
#include "sys/clock.h"
#include "sys/hostnames.h"

#define RECORD_MAX   4096
#define CLUSTER_INFO "_cluster_info"
#define VALID_MAX_NS (INT64_C(366) * 86400 * 1000000000)

struct token_args {
    struct fleet_options fleet;
    const char *host, *peels;
    int64_t valid;
};

#define ARGS struct token_args

/* clang-format off */
static const struct param token_options[] = {
    PARAM("valid", DURATION, ARGS, valid, "validity of the token", PARAM_RANGE(CLOCK_SECOND, VALID_MAX_NS), .default_text = "24h"),
    PARAM("peels", STR, ARGS, peels, "only peels whose id matches this pattern", .kind_text = "GLOB", .default_text = ""),
    PARAM("host", STR, ARGS, host, "the host name of this master for the peels (default: this host's name)", .kind_text = "HOST"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

/* --- one answer of a bucket --------------------------------------------------------- */

struct entry {
    struct arena *arena;
    bool is_done, has_failed;
    struct str value; /* NULL view: none */
    struct err err;
};

static void on_entry(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct entry *wanted = self;

    wanted->is_done = true;
    wanted->has_failed = error && error->fault != NATS_FAULT_NOT_FOUND;
    if (wanted->has_failed)
        (void)nats_error_to_err(error, &wanted->err);
    if (entry)
        wanted->value = arena_str(wanted->arena, entry->value);
}

static void on_put(void *self, const struct nats_error *error, uint64_t revision)
{
    struct entry *wanted = self;

    (void)revision;
    wanted->is_done = true;
    wanted->has_failed = error != NULL;
    if (error)
        (void)nats_error_to_err(error, &wanted->err);
}

static int wait_entry(struct fleet *fleet, struct entry *entry, int64_t timeout, struct err *err)
{
    if (fleet_wait(fleet, &entry->is_done, timeout, err) < 0)
        return -1;
    if (entry->has_failed)
        *err = entry->err;
    return entry->has_failed ? -1 : 0;
}

/* --- making ------------------------------------------------------------------------- */

/* What masters announce on the bus. */
static int read_pin(struct fleet *fleet, int64_t timeout, const char **ret_pin, struct err *err)
{
    const struct nats_kv kv = { .js = fleet->js, .bucket = store_bucket_name(STORE_SECRETS) };
    struct entry entry = { .arena = fleet->arena };
    struct value document;

    if (nats_kv_get(&kv, CLUSTER_INFO, on_entry, &entry, err) < 0 ||
        wait_entry(fleet, &entry, timeout, err) < 0)
        return -1;
    if (!entry.value.p)
        return err_set(err, ERR_NOT_FOUND, "no master has announced itself; start one first");
    if (msgpack_decode(fleet->arena, entry.value, &document, err) < 0)
        return err_wrap(err, "bootstrap document");
    *ret_pin = value_get_text(&document, "fingerprint");
    if (!*ret_pin || !(*ret_pin)[0])
        return err_set(err, ERR_UNSUPPORTED,
                       "join tokens need a certificate authority of the fleet ('zester ca init')");
    return 0;
}

static int store_token(struct fleet *fleet, const struct token *token,
                       const struct join_token_want *want, struct err *err)
{
    const struct nats_kv kv = { .js = fleet->js, .bucket = store_bucket_name(STORE_ENROLLMENTS) };
    AUTO_BUF struct buf bytes = BUF_INIT(RECORD_MAX);
    struct entry entry = { .arena = fleet->arena };
    char hash[SHA256_HEX_SIZE];
    const struct token_record record = {
        .id = token->id,
        .secret_sha256 = hash,
        .created_at = { .seconds = clock_wall() / CLOCK_SECOND },
        .expires_at = { .seconds = token->expires },
        .created_by = fleet_user(fleet->arena),
        .peels = want->peels,
    };

    token_hash(token, hash);
    if (record_encode(&bytes, &token_record_type, &record, err) < 0 ||
        nats_kv_create(&kv, arena_printf(fleet->arena, TOKEN_KEY "%s", token->id), buf_view(&bytes),
                       on_put, &entry, err) < 0)
        return -1;
    return wait_entry(fleet, &entry, want->timeout, err);
}

int join_token_make(struct fleet *fleet, const struct join_token_want *want, struct token *ret,
                    struct err *err)
{
    int64_t now = clock_wall() / CLOCK_SECOND;
    unsigned char random[TOKEN_RANDOM_BYTES];
    const char *pin = NULL;

    chance_bytes(random, sizeof(random));
    if (read_pin(fleet, want->timeout, &pin, err) < 0 ||
        token_make(pin, now + want->valid / CLOCK_SECOND, random, ret, err) < 0)
        return -1;
    return store_token(fleet, ret, want, err);
}

static int print_token(struct cli *cli, const struct token_args *want, const struct token *token)
{
    AUTO_BUF struct buf text = BUF_INIT(TOKEN_TEXT_MAX);
    const char *host = want->host ? want->host : hostnames_own(cli->arena);
    struct value_map *map = value_map_new(cli->arena, 4);
    const struct value result = value_map(map);

    token_print(token, &text);
    if (want->fleet.format == FLEET_TEXT) {
        printf("zester-peel join %s %s\n", host, buf_text(&text));
        return CLI_OK;
    }
    value_map_set(cli->arena, map, value_text("id"), value_text(token->id));
    value_map_set(cli->arena, map, value_text("token"), value_str(buf_view(&text)));
    value_map_set(cli->arena, map, value_text("host"), value_text(host));
    value_map_set(cli->arena, map, value_text("expires"), value_int(token->expires));
    return fleet_print(cli, want->fleet.format, &result);
}

static int run_token(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct token_args *want = args;
    struct fleet *fleet;
    struct token token;
    struct err err;
    int result;

    (void)operands;
    if (fleet_open(cli->arena, &want->fleet, &fleet, &err) < 0)
        return cli_err(cli, &err);
    result = join_token_make(fleet,
                             &(struct join_token_want){ .valid = want->valid,
                                                        .peels = want->peels,
                                                        .timeout = want->fleet.timeout },
                             &token, &err);
    fleet_close(fleet);
    return result < 0 ? cli_err(cli, &err) : print_token(cli, want, &token);
}

const struct command command_token = {
    .name = "token",
    .operands = "",
    .summary = "create a join token, and print the command for new peels",
    .details =
        "A machine that joins with the token is approved at once. The token contains\n"
        "the fingerprint of the fleet's certificate authority, so the machine can verify the\n"
        "master. Treat it as a secret while it is valid.\n",
    .examples = "  zester-master token\n"
                "  zester-master token --valid 1h --peels 'web-*' --host master.example.com\n",
    .options = token_options,
    .args_size = sizeof(struct token_args),
    .run = run_token,
};
