/* file.accumulated - texts that are collected for a file that another state of the run makes. */
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/modules/file/content.h"
#include "states/state/accumulators.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "core/sys/path.h"

#define ARGS     struct accumulated_args
#define TEXT_MAX ((size_t)64 << 20)

struct accumulated_args {
    const char *name, *filename;
    const struct value *text;
};

/* clang-format off */
static const struct param accumulated_params[] = {
    PARAM("name", STR, ARGS, name, "the name of the collection", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("filename", PATH, ARGS, filename, "the file that it is for", .flags = PARAM_REQUIRED),
    PARAM("text", ANY, ARGS, text, "a text, or a list of texts", .flags = PARAM_REQUIRED),
    { 0 },
};
/* clang-format on */

static bool is_accumulated_scalar(const struct value *v)
{
    return v->kind != VALUE_LIST && v->kind != VALUE_MAP && v->kind != VALUE_OBJECT;
}

static int accumulated_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct value *text = ((const struct accumulated_args *)args)->text;

    (void)where;
    if (text->kind != VALUE_LIST && !is_accumulated_scalar(text))
        return value_diag(diags, text, "'text' must be text or a list of texts, got %s",
                          value_describe(text));
    for (size_t i = 0; text->kind == VALUE_LIST && i < text->list->count; i++)
        if (!is_accumulated_scalar(&text->list->items[i]))
            return value_diag(diags, &text->list->items[i],
                              "'text' must be a list of texts, but item %zu is %s", i + 1,
                              value_describe(&text->list->items[i]));
    return 0;
}

static void add_accumulated_text(struct state_run *run, const struct accumulated_args *want,
                                 const struct value *v)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    content_add_scalar(&text, v);
    accumulators_add(run->host->accumulators, path_normalise(run->arena, want->filename),
                     want->name, (struct str){ buf_text(&text), text.n });
}

/* Collecting touches nothing of the machine, so a dry run does it as well. */
static int accumulated_check(struct state_run *run, const void *args, struct err *err)
{
    const struct accumulated_args *want = args;

    (void)err;
    if (want->text->kind != VALUE_LIST)
        add_accumulated_text(run, want, want->text);
    for (size_t i = 0; want->text->kind == VALUE_LIST && i < want->text->list->count; i++)
        add_accumulated_text(run, want, &want->text->list->items[i]);
    state_say(run, "collected text of %s for %s", want->name, want->filename);
    return 0;
}

static int accumulated_apply(struct state_run *run, const void *args, struct err *err)
{
    state_unchanged(run); /* forced by a watch: what is there is not added again */
    return accumulated_check(run, args, err);
}

const struct module module_file_accumulated = {
    .name = "file.accumulated",
    .summary = "texts that are collected for a file that another state of the run makes",
    .details = "The template of that file.managed has them as `accumulator['NAME']`, a list; "
               "file.blockreplace adds them to its block. Let this state be required in (or "
               "watched by) the one that uses it.",
    .example = "name: hosts\nfilename: /etc/app.conf\ntext: one line\n",
    .params = accumulated_params,
    .args_size = sizeof(struct accumulated_args),
    .validate = accumulated_validate,
    .check = accumulated_check,
    .apply = accumulated_apply,
};
