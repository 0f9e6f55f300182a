#include "commands/cli/kepler/kepler.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/vec.h"
#include "core/data/json.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

static void print_prefixed(const char *word, const char *fmt, va_list args) PRINTF_LIKE(2, 0);

static void print_prefixed(const char *word, const char *fmt, va_list args)
{
    (void)fflush(stdout); /* both may be one terminal */
    (void)fprintf(stderr, "%s: ", word);
    (void)vfprintf(stderr, fmt, args);
    (void)fputc('\n', stderr);
}

const struct param kepler_globals[] = {
    PARAM("file", STR, struct kepler_globals, file, "", .aliases = "f"),
    PARAM("verbose", BOOL, struct kepler_globals, verbose, "", .aliases = "v"),
    PARAM("quiet", BOOL, struct kepler_globals, quiet, "", .aliases = "q"),
    { 0 },
};

int kepler_error(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    print_prefixed("Error", fmt, args);
    va_end(args);
    return KEPLER_FAILED;
}

int kepler_err(const struct err *err)
{
    return kepler_error("%s", err->text);
}

void kepler_warn(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    print_prefixed("Warning", fmt, args);
    va_end(args);
}

int kepler_print_json(const struct value *v)
{
    AUTO_BUF struct buf out = BUF_INIT(KEPLER_OUTPUT_MAX);
    struct err err;

    if (json_print(&out, v, KEPLER_JSON, &err) < 0)
        return kepler_err(&err);
    puts(buf_text(&out));
    return KEPLER_OK;
}

static int find_default(struct arena *arena, const char *folder, const char **ret, struct err *err)
{
    static const char *const names[] = { "kepler.yaml", "kepler.yml" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct fs_info info;

        *ret = path_join(arena, folder, names[i]);
        if (fs_stat(*ret, &info, err) == 0 && info.kind != FS_NONE)
            return 0;
    }
    return err_set(err, ERR_NOT_FOUND, "no kepler.yaml or kepler.yml in '%s': use -f FILE", folder);
}

int kepler_config_path(struct arena *arena, const struct kepler_globals *globals,
                       const char **ret_path, struct err *err)
{
    AUTO_FREE char *folder = getcwd(NULL, 0), *real = NULL;
    const char *path;

    if (!folder)
        return err_sys(err, errno, "get the current folder");
    if (globals->file && !globals->file[0])
        return err_set(err, ERR_INVALID, "option '-f' requires a file name");
    if (globals->file)
        path = path_normalise(arena, path_join(arena, folder, globals->file));
    else if (find_default(arena, folder, &path, err) < 0)
        return -1;
    real = realpath(path, NULL);
    *ret_path = arena_strdup(arena, real ? real : path);
    if (globals->verbose)
        (void)fprintf(stderr, "Config: %s\n", *ret_path);
    return 0;
}

struct param_strs kepler_environment(struct arena *arena)
{
    VEC(const char *) list = VEC_INIT;

    for (char **one = environ; *one; one++)
        if (strchr(*one, '='))
            VEC_PUSH_IN(arena, &list, *one);
    return (struct param_strs){ list.n, list.p };
}

struct param_strs kepler_pairs(struct arena *arena, const char *option, struct param_strs given)
{
    VEC(const char *) list = VEC_INIT;

    for (size_t i = 0; i < given.n; i++) {
        const char *equals = strchr(given.p[i], '=');

        if (equals && equals != given.p[i])
            VEC_PUSH_IN(arena, &list, given.p[i]);
        else
            kepler_warn("ignoring %s '%s': not KEY=VALUE", option, given.p[i]);
    }
    return (struct param_strs){ list.n, list.p };
}
