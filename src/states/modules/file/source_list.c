/* file.source_list - the first source of a list that exists, and its hash. */
#include "core/base/err.h"
#include "states/modules/file/content.h"
#include "states/state/module.h"

#define ARGS struct source_list_args

struct source_list_args {
    const struct value *source, *hash;
    const char *saltenv;
};

/* clang-format off */
static const struct param source_list_params[] = {
    PARAM("source", ANY, ARGS, source, "a source, or a list of sources, or of maps of a source to its hash", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("source_hash", ANY, ARGS, hash, "the hash of a source that has none"),
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base"),
    { 0 },
};
/* clang-format on */

static int source_list_call(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const struct source_list_args *want = args;
    struct value hash = want->hash ? *want->hash : value_text("");
    struct value source = *want->source;
    struct content content;

    if (source.kind == VALUE_LIST) {
        const struct content_args all = { .source = want->source,
                                          .trust = { .skip_verify = true } };

        if (content_get(run, &all, &content, err) < 0)
            return -1;
        source = value_text(content.source);
        hash = content.hash ? value_text(content.hash) : hash;
    }
    *ret = value_list(value_list_new(run->arena, 2));
    value_list_push(run->arena, ret->list, source);
    value_list_push(run->arena, ret->list, hash);
    return 0;
}

const struct module module_file_source_list = {
    .name = "file.source_list",
    .summary = "the first source of a list that exists, and its hash",
    .params = source_list_params,
    .args_size = sizeof(ARGS),
    .call = source_list_call,
};
