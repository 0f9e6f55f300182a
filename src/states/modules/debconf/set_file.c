/* debconf.set_file - answers the questions of packages from a file. */
#include "core/base/err.h"
#include "states/modules/debconf/selections.h"
#include "states/modules/file/content.h"
#include "states/state/module.h"

#define ARGS struct set_file_args

struct set_file_args {
    const char *name;
    struct content_args content;
};

/* clang-format off */
static const struct param set_file_params[] = {
    PARAM("name", STR, ARGS, name, "a name for the file; the packages are those of its lines", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("source", ANY, ARGS, content.source, "the file: lines of PACKAGE QUESTION TYPE VALUE, as debconf-set-selections reads them", .flags = PARAM_REQUIRED, .kind_text = "string"),
    PARAM("source_hash", STR, ARGS, content.trust.hash, "hash of the source: sha256=... (or sha512, sha1, md5), or a file of checksums"),
    PARAM("template", ANY, ARGS, content.template, "render the file: true or 'jinja'"),
    PARAM("context", MAP, ARGS, content.context, "variables for the template"),
    PARAM("defaults", MAP, ARGS, content.defaults, "variables that 'context' does not set"),
    { 0 },
};
/* clang-format on */

static struct content_args get_selections_content(const struct set_file_args *want)
{
    struct content_args content = want->content;

    content.path = want->name;
    return content;
}

static int set_file_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct content_args content = get_selections_content(args);

    return content_validate(&content, where, diags);
}

static int read_selections_file(struct state_run *run, const struct set_file_args *want,
                                struct selections *all, struct err *err)
{
    const struct content_args args = get_selections_content(want);
    struct content content;

    *all = (struct selections){ 0 };
    if (content_get(run, &args, &content, err) < 0)
        return -1;
    if (selections_parse(run->arena, content.text, all, err) < 0)
        return err_wrap(err, "%s", content.source ? content.source : want->name);
    return 0;
}

static int set_file_check(struct state_run *run, const void *args, struct err *err)
{
    struct selections all;

    return read_selections_file(run, args, &all, err) < 0 ? -1 : selections_check(run, &all, err);
}

static int set_file_apply(struct state_run *run, const void *args, struct err *err)
{
    struct selections all;

    return read_selections_file(run, args, &all, err) < 0 ? -1 : selections_apply(run, &all, err);
}

static int set_file_revert(struct state_run *run, const void *args, struct err *err)
{
    (void)args;
    return selections_revert(run, err);
}

const struct module module_debconf_set_file = {
    .name = "debconf.set_file",
    .summary = "answer the questions of packages from a file",
    .example = "name: mysql\nsource: salt://mysql/selections\n",
    .params = set_file_params,
    .args_size = sizeof(struct set_file_args),
    .lock = SELECTIONS_LOCK,
    .validate = set_file_validate,
    .check = set_file_check,
    .apply = set_file_apply,
    .revert = set_file_revert,
};
