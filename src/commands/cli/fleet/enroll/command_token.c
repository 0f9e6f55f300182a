/* zester-master token: creates join tokens, lists them, and revokes them. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/audit.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/fleet/enroll/join_token.h"
#include "commands/cli/fleet/list.h"
#include "core/data/time_text.h"
#include "core/sys/clock.h"
#include "core/sys/hostnames.h"

#define VALID_MAX_NS (INT64_C(366) * 86400 * 1000000000)

struct token_args {
    struct fleet_options fleet;
    const char *host, *peels;
    int64_t valid;
};

#define ARGS struct token_args

/* clang-format off */
static const struct param make_options[] = {
    PARAM("valid", DURATION, ARGS, valid, "validity of the token", PARAM_RANGE(CLOCK_SECOND, VALID_MAX_NS), .default_text = "24h"),
    PARAM("peels", STR, ARGS, peels, "only peels whose id matches this pattern", .kind_text = "GLOB", .default_text = ""),
    PARAM("host", STR, ARGS, host, "the host name of this master for the peels (default: this host's name)", .kind_text = "HOST"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param fleet_options[] = {
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

/* --- make --------------------------------------------------------------------------- */

static int print_token(struct cli *cli, const struct token_args *want,
                       const struct fleet_target *target, const struct token *token)
{
    AUTO_BUF struct buf text = BUF_INIT(TOKEN_TEXT_MAX);
    const char *host = want->host ? want->host : hostnames_own(cli->arena);
    struct value_map *map = value_map_new(cli->arena, 4);
    const struct value result = value_map(map);

    token_print(token, &text);
    if (want->fleet.format == FLEET_TEXT) {
        printf("%s\n", join_token_command(cli->arena, target, host, token));
        return CLI_OK;
    }
    value_map_set(cli->arena, map, value_text("id"), value_text(token->id));
    value_map_set(cli->arena, map, value_text("token"), value_str(buf_view(&text)));
    value_map_set(cli->arena, map, value_text("host"), value_text(host));
    value_map_set(cli->arena, map, value_text("expires"), value_int(token->expires));
    return fleet_print(cli, want->fleet.format, &result);
}

static int run_make(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct token_args *want = args;
    struct fleet_target target;
    struct token token;
    struct err err;
    int result;

    (void)operands;
    if (fleet_find(cli->arena, &want->fleet, &target, &err) < 0)
        return cli_err(cli, &err);
    result = join_token_make(
        cli->fleet, &(struct join_token_want){ .valid = want->valid, .peels = want->peels }, &token,
        &err);
    fleet_audit(cli, cli->fleet, AUDIT_TOKEN_CREATE, result < 0 ? "" : token.id,
                result < 0 ? &err : NULL);
    return result < 0 ? cli_err(cli, &err) : print_token(cli, want, &target, &token);
}

/* --- list --------------------------------------------------------------------------- */

static const struct fleet_column list_columns[] = {
    FLEET_COLUMN("ID", "id"),
    FLEET_COLUMN("STATE", "state"),
    FLEET_COLUMN("CREATED", "created"),
    FLEET_COLUMN("EXPIRES", "expires"),
    FLEET_COLUMN("CREATED BY", "created_by"),
    FLEET_COLUMN("PEELS", "peels"),
};

static int print_tokens(struct cli *cli, enum fleet_format format,
                        const struct join_token_list *tokens)
{
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, list_columns);

    VEC_EACH (&tokens->tokens, record)
        fleet_list_add_texts(
            &list,
            (const char *[]){ record->id, join_token_is_expired(record) ? "expired" : "valid",
                              time_text(cli->arena, record->created_at),
                              time_text(cli->arena, record->expires_at), record->created_by,
                              record->peels[0] ? record->peels : "*" });
    return fleet_list_print(cli, format, &list);
}

static int run_token_list(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct token_args *want = args;
    struct join_token_list list;
    struct err err;

    (void)operands;
    return join_token_list(cli->fleet, &list, &err) < 0
               ? cli_err(cli, &err)
               : print_tokens(cli, want->fleet.format, &list);
}

/* --- revoke ------------------------------------------------------------------------- */

/* The id, of an id or of a whole token; NULL: neither. */
static const char *find_token_id(struct arena *arena, const char *word)
{
    AUTO_BUF struct buf bytes = BUF_INIT(TOKEN_ID_BYTES);
    struct token token;
    struct err err;

    if (token_parse(str_from(word), &token, &err) == 0)
        return arena_strdup(arena, token.id);
    if (strlen(word) == 2 * TOKEN_ID_BYTES && hex_decode(str_from(word), &bytes, &err) == 0)
        return word;
    return NULL;
}

static int revoke_named_token(struct cli *cli, const char *word)
{
    const char *id = find_token_id(cli->arena, word);
    struct err err;
    int result;

    if (!id)
        return cli_error(cli, "'%s' is not a token or a token id", word);
    result = join_token_revoke(cli->fleet, id, &err);
    fleet_audit(cli, cli->fleet, AUDIT_TOKEN_REVOKE, id, result < 0 ? &err : NULL);
    if (result < 0)
        return err.code == ERR_NOT_FOUND ? cli_error(cli, "'%s': no such token", id)
                                         : cli_err(cli, &err);
    printf("%s revoked\n", id);
    return CLI_OK;
}

static int run_token_revoke(struct cli *cli, const void *args, struct param_strs operands)
{
    int status = CLI_OK;

    (void)args;
    for (size_t i = 0; i < operands.n; i++)
        if (revoke_named_token(cli, operands.p[i]) != CLI_OK)
            status = CLI_ERROR;
    return status;
}

static const struct command token_commands[] = {
    {
        .name = "list",
        .operands = "",
        .summary = "list join tokens with state, validity and creator",
        .details = "The secret of a token is not stored and cannot be shown again.\n",
        .options = fleet_options,
        .args_size = sizeof(struct token_args),
        FLEET_CONNECT(ARGS, fleet),
        .run = run_token_list,
    },
    {
        .name = "revoke",
        .operands = "TOKEN...",
        .summary = "revoke join tokens",
        .details = "TOKEN is an id that 'token list' prints, or the token itself. Machines can no\n"
                   "longer join with it. Machines that have joined stay: 'zester enroll revoke'.\n",
        .examples = "  zester-master token revoke 3f61c29a7be04d58\n",
        .options = fleet_options,
        .args_size = sizeof(struct token_args),
        .least = 1,
        .most = COMMAND_MANY,
        FLEET_CONNECT(ARGS, fleet),
        .run = run_token_revoke,
    },
    { 0 },
};

const struct command command_token = {
    .name = "token",
    .operands = "",
    .summary = "create a join token, and print the command for new peels",
    .details =
        "A machine that joins with the token is approved at once. The token contains\n"
        "the fingerprint of the fleet's certificate authority, so the machine can verify the\n"
        "master. Treat it as a secret while it is valid.\n",
    .examples = "  zester-master token\n"
                "  zester-master token --valid 1h --peels 'web-*' --host master.example.com\n"
                "  zester-master token list\n",
    .options = make_options,
    .args_size = sizeof(struct token_args),
    FLEET_CONNECT(ARGS, fleet),
    .run = run_make,
    .commands = token_commands,
};
