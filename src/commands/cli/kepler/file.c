#include "commands/cli/kepler/file.h"

#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "kepler/config/config.h"
#include "kepler/config/environment.h"
#include "core/sys/fs.h"

#define MISTAKES_MAX ((size_t)64 << 20)

static const struct environment *own_environment(struct arena *arena)
{
    struct environment *env = ARENA_NEW(arena, struct environment);

    environment_init(env, arena);
    environment_merge_array(env, (const char *const *)environ);
    return env;
}

static const struct value *read_lua_flags(struct arena *arena, struct param_strs given)
{
    struct param_strs pairs = kepler_pairs(arena, "-D", given);
    struct value *flags = ARENA_NEW(arena, struct value);

    *flags = value_map(value_map_new(arena, pairs.n));
    for (size_t i = 0; i < pairs.n; i++) {
        struct str rest = str_from(pairs.p[i]), key = str_cut(&rest, '=');

        value_map_set(arena, flags->map, value_text(arena_strndup(arena, key.p, key.n)),
                      value_text(rest.p));
    }
    return flags;
}

static int report_mistakes(const struct diags *diags)
{
    AUTO_BUF struct buf text = BUF_INIT(MISTAKES_MAX);

    diags_print(diags, &text);
    return kepler_error("the config is not valid\n%.*s", STR_ARG(str_trim_right(buf_view(&text))));
}

int kepler_file_load(struct cli *cli, const struct kepler_globals *globals, struct param_strs flags,
                     const struct config **ret)
{
    struct diags diags = DIAGS_INIT(cli->arena);
    struct config_source source = { .cli_env = own_environment(cli->arena),
                                    .flags = read_lua_flags(cli->arena, flags),
                                    .owner = { getuid(), getgid() } };
    struct err err;

    if (kepler_config_path(cli->arena, globals, &source.path, &err) < 0 ||
        fs_read(cli->arena, source.path, CONFIG_FILE_MAX, &source.text, &err) < 0)
        return kepler_err(&err);
    if (!source.text.p)
        return kepler_error("'%s' does not exist", source.path);
    if (config_load(cli->arena, &source, ret, &diags) < 0) {
        (void)config_check_code(cli->arena, &source, &diags);
        return report_mistakes(&diags);
    }
    VEC_EACH (&(*ret)->warnings, warning)
        kepler_warn("%s", *warning);
    return 0;
}

static void warn_of_missing(struct cli *cli, const struct config *config)
{
    struct diags missing = DIAGS_INIT(cli->arena);

    config_find_missing(cli->arena, config, &missing);
    VEC_EACH (&missing.list, one) {
        AUTO_BUF struct buf place = BUF_INIT(MISTAKES_MAX);

        place_print(one->at, &place);
        kepler_warn("%s: %s", buf_text(&place), one->text);
    }
}

int kepler_file_check(struct cli *cli, const struct config *config)
{
    const struct config_source source = { .path = config->path, .text = config->text };
    struct diags diags = DIAGS_INIT(cli->arena);

    warn_of_missing(cli, config);
    return config_check_code(cli->arena, &source, &diags) < 0 ? report_mistakes(&diags) : 0;
}
