/* ssh.auth_keys - the authorized public keys of a user. */
#include "core/base/err.h"
#include "core/edit/keyfile.h"
#include "core/edit/lines.h"
#include "states/state/module.h"
#include "core/sys/account.h"
#include "core/sys/path.h"
#include "core/sys/site.h"

#define ARGS struct auth_keys_args

struct auth_keys_args {
    const char *user, *config;
};

/* clang-format off */
static const struct param auth_keys_params[] = {
    PARAM("user", STR, ARGS, user, "the account", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    PARAM("config", STR, ARGS, config, "the file: a path, absolute or below the user's home", .flags = PARAM_FILLED, .default_text = ".ssh/authorized_keys"),
    { 0 },
};
/* clang-format on */

#define FILE_MAX ((size_t)16 << 20)

static void put_auth_text(struct arena *arena, struct value_map *map, const char *key,
                          struct str text)
{
    value_map_set(arena, map, value_text(key),
                  value_str(arena_str(arena, text.p ? text : STR(""))));
}

static void add_auth_key(struct arena *arena, struct value_list *list, struct str line)
{
    struct value_map *map = value_map_new(arena, 4);
    struct keyfile_key key;

    if (!keyfile_parse(line, &key))
        return;
    put_auth_text(arena, map, "key", key.blob);
    put_auth_text(arena, map, "enc", key.type);
    put_auth_text(arena, map, "comment", key.comment);
    put_auth_text(arena, map, "options", key.options);
    value_list_push(arena, list, value_map(map));
}

static int auth_keys_call(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    const struct auth_keys_args *want = args;
    AUTO_SITE struct site site = SITE_INIT;
    const struct account *account;
    struct line line;
    struct str text;

    if (account_find(run->arena, want->user, &account, err) < 0)
        return -1;
    if (!account)
        return err_set(err, ERR_NOT_FOUND, "user '%s' does not exist", want->user);
    if (site_walk(&site, path_join(run->arena, account->home, want->config), SITE_FOLLOW, err) <
            0 ||
        site_read(run->arena, &site, FILE_MAX, &text, err) < 0)
        return -1;
    *ret = value_list(value_list_new(run->arena, 4));
    while (text.p && lines_next(&text, &line))
        add_auth_key(run->arena, ret->list, line.text);
    return 0;
}

const struct module module_ssh_auth_keys = {
    .name = "ssh.auth_keys",
    .summary = "the authorized public keys of a user",
    .params = auth_keys_params,
    .args_size = sizeof(struct auth_keys_args),
    .call = auth_keys_call,
};
