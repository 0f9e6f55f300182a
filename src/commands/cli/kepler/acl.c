/* kepler acl: shows a user's rights on a config, and the rules that grant them. */
#include <stdio.h>

#include "kepler/access/right.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/kepler.h"
#include "commands/cli/shared/table.h"

struct kepler_acl_args {
    struct kepler_globals globals;
    bool json;
};

static const struct param options[] = {
    PARAM("json", BOOL, struct kepler_acl_args, json, "print JSON, with the rights of each rule"),
    KEPLER_GLOBALS(struct kepler_acl_args, globals),
    { 0 },
};

/* "bob (uid 1001)" */
static const char *name_user(struct arena *arena, const struct value *user)
{
    const struct value *uid = value_get(user, "uid");
    const struct str name = value_get_view(user, "name");
    const long long number = uid && value_is(uid, VALUE_INT) ? (long long)uid->i : -1;

    if (name.n == 0)
        return arena_printf(arena, "uid %lld", number);
    return arena_printf(arena, "%s (uid %lld)", name.p, number);
}

static uint64_t rights_of(const struct value *v)
{
    const struct value *rights = value_get(v, "rights");

    return rights && value_is(rights, VALUE_LIST) ? right_read(rights) : 0;
}

/* The sources with all of `rights`, or those with an authorizer. */
static const char *join_rule_sources(struct arena *arena, const struct value *body, uint64_t rights,
                                     bool only_authorizers)
{
    const struct value *sources = value_get(body, "sources");
    AUTO_BUF struct buf names = BUF_INIT(KEPLER_OUTPUT_MAX);

    for (size_t i = 0; sources && value_is(sources, VALUE_LIST) && i < sources->list->count; i++) {
        const struct value *one = &sources->list->items[i], *asks = value_get(one, "authorizer");

        if ((rights_of(one) & rights) != rights ||
            (only_authorizers && !(asks && value_is(asks, VALUE_BOOL) && asks->b)))
            continue;
        buf_add_text(&names, names.n > 0 ? ", " : "");
        buf_add_text(&names, value_get_view(one, "from").p);
    }
    return arena_strdup(arena, buf_text(&names));
}

static int print_rights(struct arena *arena, const struct value *body)
{
    static const char *const heads[] = { "RIGHT", "GRANTED BY" };
    struct table table = TABLE_INIT(arena, heads);
    const uint64_t rights = rights_of(body);
    const char *authorizers = join_rule_sources(arena, body, 0, true);
    const char **row;

    for (int i = 0; rights != RIGHT_ALL && i < RIGHTS; i++)
        if (rights & RIGHT_BIT(i)) {
            row = table_add(&table);
            row[0] = right_name((enum right)i);
            row[1] = join_rule_sources(arena, body, RIGHT_BIT(i), false);
        }
    if (rights == RIGHT_ALL) {
        row = table_add(&table);
        row[0] = RIGHT_ALL_NAME;
        row[1] = join_rule_sources(arena, body, RIGHT_ALL, false);
    }
    (void)table_print(&table);
    if (authorizers[0])
        (void)printf("\nEach request must also be authorized by: %s\n", authorizers);
    return KEPLER_OK;
}

static int print_acl_report(struct arena *arena, const struct value *body)
{
    const struct str obstacle = value_get_view(body, "obstacle");

    (void)printf("Config: %s\nOwner:  %s\nUser:   %s\n\n", value_get_view(body, "config").p,
                 name_user(arena, value_get(body, "owner")),
                 name_user(arena, value_get(body, "user")));
    if (rights_of(body) != 0)
        return print_rights(arena, body);
    (void)printf("No rights: %s\n", obstacle.n > 0 ? obstacle.p : "no rule matches");
    return KEPLER_OK;
}

static int run_acl(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct kepler_acl_args *args = raw;
    struct request_rights request = { .user = operands.n > 0 ? operands.p[0] : NULL };
    struct value body;
    struct err err;
    int status;

    if (kepler_config_path(cli->arena, &args->globals, &request.config, &err) < 0)
        return kepler_err(&err);
    status = kepler_ask(cli->arena, REQUEST_RIGHTS, &request, &body);
    if (status != 0)
        return status;
    return args->json ? kepler_print_json(&body) : print_acl_report(cli->arena, &body);
}

const struct command kepler_command_acl = {
    .name = "acl",
    .operands = "[USER]",
    .summary = "show a user's rights on a config, and the rules that grant them",
    .details =
        "Without USER, shows your own rights, or those of the token in KEPLER_TOKEN. Only root\n"
        "and the owner may ask about others. The rules are those of the file as it was loaded;\n"
        "'kepler doc acl' explains each right.\n",
    .examples = "  kepler acl\n  kepler acl bob\n  kepler acl --json bob | jq -r '.rights[]'\n",
    .options = options,
    .args_size = sizeof(struct kepler_acl_args),
    .least = 0,
    .most = 1,
    .run = run_acl,
};
