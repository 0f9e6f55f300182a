/* file.get_diff - the unified diff of two files of this machine, of the tree or of the network. */
#include "core/base/err.h"
#include "states/modules/file/content.h"
#include "states/modules/file/prospect.h"
#include "states/state/module.h"

#define ARGS struct get_diff_args

struct get_diff_args {
    const char *files[2], *hashes[2], *saltenv;
    const struct value *template;
    bool show_names, show_changes;
};

/* clang-format off */
static const struct param get_diff_params[] = {
    PARAM("file1", STR, ARGS, files[0], "the old file: a path or a source", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("file2", STR, ARGS, files[1], "the new file", .flags = PARAM_REQUIRED),
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base"),
    PARAM("show_filenames", BOOL, ARGS, show_names, "the names at the top of the diff", .default_text = "true"),
    PARAM("show_changes", BOOL, ARGS, show_changes, "false: only say that there are changes", .default_text = "true"),
    PARAM("template", ANY, ARGS, template, "both are templates: compare the rendered texts"),
    PARAM("source_hash_file1", STR, ARGS, hashes[0], "hash of the first file"),
    PARAM("source_hash_file2", STR, ARGS, hashes[1], "hash of the second file"),
    { 0 },
};
/* clang-format on */

static int read_diff_file(struct state_run *run, const struct get_diff_args *want, size_t i,
                          struct str *ret, struct err *err)
{
    const struct value source = value_text(want->files[i]);
    const struct content_args args = {
        .path = want->files[i],
        .source = &source,
        .trust = { .hash = want->hashes[i] },
        .template = want->template,
    };
    struct content content;

    if (content_get(run, &args, &content, err) < 0)
        return -1;
    *ret = content.text;
    return 0;
}

static int get_diff_call(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    const struct get_diff_args *want = args;
    struct str texts[2], diff;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (read_diff_file(run, want, i, &texts[i], err) < 0)
            return -1;
    diff = prospect_diff(run, texts[0], texts[1], want->show_names ? want->files[0] : "",
                         want->show_names ? want->files[1] : "");
    *ret = diff.n > 0 && !want->show_changes ? value_text("<show_changes=False>") : value_str(diff);
    return 0;
}

const struct module module_file_get_diff = {
    .name = "file.get_diff",
    .summary = "the unified diff of two files of this machine, of the tree or of the network",
    .params = get_diff_params,
    .args_size = sizeof(ARGS),
    .call = get_diff_call,
};
