/* file.check_file_meta - what would change in a file, given its new content. */
#include "states/modules/file/prospect.h"
#include "states/state/module.h"

#define ARGS struct check_file_meta_args

struct check_file_meta_args {
    struct prospect_args file;
    const struct value *sum;
};

/* clang-format off */
static const struct param check_file_meta_params[] = {
    PARAM("name", PATH, ARGS, file.name, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("sfn", STR, ARGS, file.ready, "a file that has the new content"),
    PARAM("source", ANY, ARGS, file.content.source, "source of the content, without 'sfn'"),
    PARAM("source_sum", ANY, ARGS, sum, "hash of the source: a map of hash_type and hsum"),
    PARAM("user", STR, ARGS, file.user, "owner: a name or number"),
    PARAM("group", STR, ARGS, file.group, "group: a name or number"),
    PARAM("mode", ANY, ARGS, file.mode, "permissions"),
    PARAM("attrs", ANY, ARGS, file.chattr, "attributes of chattr(1) are not managed: none"),
    PARAM("saltenv", STR, ARGS, file.saltenv, "ignored: there is one tree", .default_text = "base"),
    PARAM("contents", TEXT, ARGS, file.content.content, "the content itself", PARAM_GIVEN(ARGS, file.content.has_content)),
    PROSPECT_SELINUX,
    PROSPECT_CERTIFICATES,
    PARAM("follow_symlinks", BOOL, ARGS, file.follow, "compare the target of a link"),
    { 0 },
};
/* clang-format on */

/* Contents win over a source, as in Salt. The hash counts where the source needs one. */
static int check_file_meta_call(struct state_run *run, const void *args, struct value *ret,
                                struct err *err)
{
    const struct check_file_meta_args *given = args;
    struct prospect_args want = given->file;

    if (want.content.has_content)
        want.content.source = NULL;
    if (value_is(given->sum, VALUE_MAP))
        want.content.trust.hash =
            arena_printf(run->arena, "%.*s=%.*s", STR_ARG(value_get_view(given->sum, "hash_type")),
                         STR_ARG(value_get_view(given->sum, "hsum")));
    return prospect_find(run, &want, ret, err);
}

const struct module module_file_check_file_meta = {
    .name = "file.check_file_meta",
    .summary = "the changes to a file for a given new content, as a map",
    .params = check_file_meta_params,
    .args_size = sizeof(ARGS),
    .call = check_file_meta_call,
};
