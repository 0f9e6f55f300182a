/* file.grep - the lines of a file that match a pattern. */
#include "core/base/err.h"
#include "core/base/matcher.h"
#include "core/edit/lines.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define ARGS     struct grep_args
#define TEXT_MAX ((size_t)64 << 20)

struct grep_args {
    const char *path, *pattern;
    struct param_strs opts;
};

/* clang-format off */
static const struct param grep_params[] = {
    PARAM("path", PATH, ARGS, path, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("pattern", STR, ARGS, pattern, "a regular expression", .flags = PARAM_REQUIRED),
    PARAM("opts", STRS, ARGS, opts, "-i: without case; -v: lines that do not match; -E: extended expressions, which all are"),
    { 0 },
};
/* clang-format on */

static int read_grep_options(struct param_strs opts, unsigned *ret_flags, bool *ret_inverse,
                             struct err *err)
{
    for (size_t i = 0; i < opts.n; i++)
        for (const char *p = opts.p[i] + (opts.p[i][0] == '-'); *p; p++)
            if (*p == 'i')
                *ret_flags |= MATCHER_IGNORE_CASE;
            else if (*p == 'v')
                *ret_inverse = true;
            else if (*p != 'E' && *p != 'P')
                return err_set(err, ERR_INVALID, "'%s' is not one of -i, -v and -E", opts.p[i]);
    return 0;
}

/* In the form of Salt: what grep prints, and how it would exit. */
static int grep_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct grep_args *want = args;
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    const struct matcher *matcher;
    bool inverse = false, found;
    unsigned flags = 0;
    struct line line;
    struct str text;

    if (read_grep_options(want->opts, &flags, &inverse, err) < 0 ||
        matcher_new(run->arena, str_from(want->pattern), flags, &matcher, NULL, err) < 0 ||
        fs_read(run->arena, want->path, TEXT_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "%s does not exist", want->path);
    while (lines_next(&text, &line)) {
        if (matcher_find(matcher, line.text, 0, NULL, &found, err) < 0)
            return -1;
        if (found != inverse)
            buf_printf(&out, "%s%.*s", out.n > 0 ? "\n" : "", STR_ARG(line.text));
    }
    *ret = value_map(value_map_new(run->arena, 3));
    value_map_set(run->arena, ret->map, value_text("retcode"), value_int(out.n > 0 ? 0 : 1));
    value_map_set(run->arena, ret->map, value_text("stdout"),
                  value_str(buf_copy(&out, run->arena)));
    value_map_set(run->arena, ret->map, value_text("stderr"), value_text(""));
    return 0;
}

const struct module module_file_grep = {
    .name = "file.grep",
    .summary = "the lines of a file that match a pattern",
    .params = grep_params,
    .args_size = sizeof(struct grep_args),
    .call = grep_call,
};
