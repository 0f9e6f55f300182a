#include "states/modules/file/commenting.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/matcher.h"
#include "core/data/value.h"
#include "states/state/module.h"

int commenting_validate(const struct commenting_args *args, const struct value *where,
                        struct diags *diags)
{
    int result = backup_validate(args->backup, diags);
    const struct matcher *matcher;
    struct err err;

    if (matcher_new(diags->arena, args->regex, 0, &matcher, NULL, &err) < 0)
        result = value_diag(diags, where, "invalid %s", err.text);
    if (str_trim(args->mark).n != args->mark.n || args->mark.n == 0 ||
        memchr(args->mark.p, '\n', args->mark.n))
        result = value_diag(diags, value_point(where, "char"), "'char' must not be empty or blank");
    return result;
}

int commenting_plan(struct state_run *run, const struct commenting *how,
                    const struct commenting_args *args, const struct editor_file *file,
                    struct editor_plan *plan, struct err *err)
{
    struct edit_comment edit = { .mark = args->mark };
    size_t found;

    if (run->salt && !file->exists)
        return err_set(err, ERR_NOT_FOUND, "file %s does not exist", args->name);
    if (matcher_new(run->arena, args->regex, 0, &edit.pattern, NULL, err) < 0 ||
        how->edit(file->text, &edit, &plan->text, &found, err) < 0)
        return err_wrap(err, "%s", args->name);
    if (found == 0 && args->ignore_missing == PARAM_IS_FALSE)
        return err_set(err, ERR_NOT_FOUND, "no line of %s matches \"%.*s\"", args->name,
                       STR_ARG(args->regex));
    if (!file->exists)
        plan->remark = arena_printf(run->arena, "file %s does not exist", args->name);
    else if (found == 0 && args->ignore_missing == PARAM_IS_UNSET)
        plan->remark = arena_printf(run->arena, "no line of %s matches \"%.*s\"", args->name,
                                    STR_ARG(args->regex));
    plan->pending = arena_printf(run->arena, "%s lines matching \"%.*s\" in %s", how->module,
                                 STR_ARG(args->regex), args->name);
    plan->done = arena_printf(run->arena, "%s lines matching \"%.*s\" in %s", how->done,
                              STR_ARG(args->regex), args->name);
    plan->detail = "action";
    plan->word = how->done;
    return 0;
}
