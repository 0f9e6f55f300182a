/* file.check_managed_changes - what would change if a file were managed like this. */
#include "modules/file/prospect.h"
#include "state/module.h"

#define ARGS struct prospect_args

/* clang-format off */
static const struct param check_managed_changes_params[] = {
    PARAM("name", PATH, ARGS, name, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("source", ANY, ARGS, content.source, "source of the content"),
    PARAM("source_hash", STR, ARGS, content.trust.hash, "hash of the source"),
    PARAM("source_hash_name", STR, ARGS, content.trust.name, "name in a file of checksums"),
    PROSPECT_OWNER(ARGS),
    PARAM("template", ANY, ARGS, content.template, "render the content: 'jinja'"),
    PARAM("context", MAP, ARGS, content.context, "variables for the template"),
    PARAM("defaults", MAP, ARGS, content.defaults, "variables that 'context' does not set"),
    PROSPECT_ENVIRONMENT(ARGS),
    PARAM("contents", TEXT, ARGS, content.content, "the content itself", PARAM_GIVEN(ARGS, content.has_content)),
    PARAM("skip_verify", BOOL, ARGS, content.trust.skip_verify, "accept a download without a hash"),
    PARAM("keep_mode", BOOL, ARGS, keep_mode, "the permissions of the source"),
    PROSPECT_SELINUX,
    PROSPECT_CERTIFICATES,
    PARAM("follow_symlinks", BOOL, ARGS, follow, "compare what a link points to"),
    { 0 },
};
/* clang-format on */

static int check_managed_changes_call(struct state_run *run, const void *args, struct value *ret,
                                      struct err *err)
{
    return prospect_find(run, args, ret, err);
}

const struct module module_file_check_managed_changes = {
    .name = "file.check_managed_changes",
    .summary = "what would change if a file were managed like this, as a map",
    .params = check_managed_changes_params,
    .args_size = sizeof(ARGS),
    .call = check_managed_changes_call,
};
