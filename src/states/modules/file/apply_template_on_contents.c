/* file.apply_template_on_contents - render a text. */
#include "states/modules/file/content.h"
#include "states/state/module.h"

#define ARGS struct apply_template_args

struct apply_template_args {
    struct content_args content;
    const char *saltenv;
};

/* clang-format off */
static const struct param apply_template_params[] = {
    PARAM("contents", TEXT, ARGS, content.content, "the template", .flags = PARAM_REQUIRED | PARAM_PRIMARY, PARAM_GIVEN(ARGS, content.has_content)),
    PARAM("template", ANY, ARGS, content.template, "'jinja'", .flags = PARAM_REQUIRED),
    PARAM("context", MAP, ARGS, content.context, "variables for the template"),
    PARAM("defaults", MAP, ARGS, content.defaults, "variables that 'context' does not set"),
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base"),
    { 0 },
};
/* clang-format on */

static int apply_template_validate(const void *args, const struct value *where, struct diags *diags)
{
    return content_validate(&((const struct apply_template_args *)args)->content, where, diags);
}

static int apply_template_call(struct state_run *run, const void *args, struct value *ret,
                               struct err *err)
{
    struct content_args wanted = ((const struct apply_template_args *)args)->content;
    struct content content;

    wanted.path = "contents";
    if (content_get(run, &wanted, &content, err) < 0)
        return -1;
    *ret = value_str(content.text);
    return 0;
}

const struct module module_file_apply_template_on_contents = {
    .name = "file.apply_template_on_contents",
    .summary = "render a text",
    .params = apply_template_params,
    .args_size = sizeof(ARGS),
    .validate = apply_template_validate,
    .call = apply_template_call,
};
