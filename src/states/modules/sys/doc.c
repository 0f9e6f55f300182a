/* sys.doc - returns the manual of a module or family, or the index. */
#include "core/base/err.h"
#include "states/modules/sys/catalog.h"
#include "states/state/manual.h"
#include "states/state/module.h"

#define ARGS struct doc_args

struct doc_args {
    const char *name;
};

/* clang-format off */
static const struct param doc_params[] = {
    PARAM("name", STR, ARGS, name, "a module (file.managed) or a family (file)", .flags = PARAM_PRIMARY, .aliases = "module"),
    { 0 },
};
/* clang-format on */

static int refuse_doc_name(const char *name, struct err *err)
{
    const char *near = module_suggest(str_from(name));

    if (near)
        return err_set(err, ERR_NOT_FOUND, "no documentation for \"%s\" (did you mean '%s'?)", name,
                       near);
    return err_set(err, ERR_NOT_FOUND, "no documentation for \"%s\"", name);
}

static int doc_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct doc_args *want = args;
    const struct manual_function *functions = catalog_functions(run);
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    bool found = true;

    if (!want->name) {
        manual_print_index(&out);
        buf_add_char(&out, '\n');
        (void)manual_print_functions(functions, NULL, &out);
    } else {
        found = manual_print(str_from(want->name), &out);
        found = manual_print_functions(functions, want->name, &out) || found;
    }
    if (!found)
        return refuse_doc_name(want->name, err);
    *ret = value_str(buf_copy(&out, run->arena));
    return 0;
}

const struct module module_sys_doc = {
    .name = "sys.doc",
    .summary = "the manual of a module or family, or the index",
    .params = doc_params,
    .args_size = sizeof(struct doc_args),
    .call = doc_call,
};
