#include "states/modules/file/chunks.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/modules/file/backup.h"
#include "states/state/host.h"
#include "states/state/module.h"

static bool is_chunk_scalar(const struct value *v)
{
    return v->kind != VALUE_LIST && v->kind != VALUE_MAP && v->kind != VALUE_OBJECT;
}

/* Null means no text, as everywhere; an empty text is an empty line. */
static bool has_chunk_text(const struct chunks_args *args)
{
    return args->text && args->text->kind != VALUE_NULL;
}

int chunks_validate(const struct chunks_args *args, const struct value *where, struct diags *diags)
{
    int result = content_validate(&args->content, where, diags);

    if (backup_validate(args->backup, diags) < 0)
        result = -1;
    if (!has_chunk_text(args) && !args->content.source && args->sources.n == 0)
        return value_diag(diags, where, "nothing to add: set 'text', 'source' or 'sources'");
    if (!has_chunk_text(args) || is_chunk_scalar(args->text))
        return result;
    if (args->text->kind != VALUE_LIST)
        return value_diag(diags, args->text, "'text' must be text or a list of texts, got %s",
                          value_describe(args->text));
    for (size_t i = 0; i < args->text->list->count; i++)
        if (!is_chunk_scalar(&args->text->list->items[i]))
            result = value_diag(diags, &args->text->list->items[i],
                                "'text' must be a list of texts, but item %zu is %s", i + 1,
                                value_describe(&args->text->list->items[i]));
    return result;
}

struct collection {
    struct state_run *run;
    const struct chunks_args *args;
    VEC(struct str) list;
};

/* A chunk without a final newline still has a last line; an empty chunk is an empty line. */
static void add_chunk_text(struct collection *c, const struct value *v)
{
    AUTO_BUF struct buf text = BUF_INIT(EDIT_SIZE_MAX);

    content_add_scalar(&text, v);
    if (text.n == 0)
        buf_add_char(&text, '\n');
    VEC_PUSH_IN(c->run->arena, &c->list, buf_copy(&text, c->run->arena));
}

static int add_chunk_source(struct collection *c, const char *source, const char *hash,
                            struct err *err)
{
    struct str text;

    if (state_source(c->run, source, hash, &text, err) < 0)
        return -1;
    if (content_is_template(content_choose_template(c->run, c->args->content.template)) &&
        content_render(c->run, &c->args->content, source, text, &text, err) < 0)
        return -1;
    VEC_PUSH_IN(c->run->arena, &c->list, text);
    return 0;
}

static int add_given(struct collection *c, struct err *err)
{
    struct content_args args = c->args->content;
    struct content content;

    if (!args.source)
        return 0;
    args.template = content_choose_template(c->run, args.template);
    if (content_get(c->run, &args, &content, err) < 0)
        return -1;
    VEC_PUSH_IN(c->run->arena, &c->list, content.text);
    return 0;
}

static int get_all(struct state_run *run, const struct chunks_args *args, struct edit_chunks *ret,
                   struct err *err)
{
    struct collection c = { .run = run, .args = args };

    if (args->text && args->text->kind == VALUE_LIST)
        for (size_t i = 0; i < args->text->list->count; i++)
            add_chunk_text(&c, &args->text->list->items[i]);
    else if (has_chunk_text(args))
        add_chunk_text(&c, args->text);
    if (add_given(&c, err) < 0)
        return -1;
    for (size_t i = 0; i < args->sources.n; i++)
        if (add_chunk_source(&c, args->sources.p[i],
                             i < args->source_hashes.n ? args->source_hashes.p[i] : NULL, err) < 0)
            return -1;
    *ret = (struct edit_chunks){
        .p = c.list.p,
        .n = c.list.n,
        .ignore_blanks = args->ignore_whitespace,
        .header = args->header,
        .is_stopped = editor_is_stopped,
        .user = run->host->cancel,
    };
    return 0;
}

int chunks_plan(struct state_run *run, const struct chunks_args *args, chunks_edit_fn *edit,
                const char *done, const struct editor_file *file, struct editor_plan *plan,
                struct err *err)
{
    struct edit_chunks chunks;
    size_t lines;

    if (get_all(run, args, &chunks, err) < 0 ||
        edit(file->text, &chunks, &plan->text, &lines, err) < 0)
        return -1;
    const char *s = lines == 1 ? "" : "s";

    plan->create = true;
    plan->pending =
        file->exists ? arena_printf(run->arena, "%zu line%s missing from %s", lines, s, args->name)
                     : arena_printf(run->arena, "file %s does not exist", args->name);
    plan->done = arena_printf(run->arena, "%s %zu line%s to %s", done, lines, s, args->name);
    plan->detail = "lines";
    plan->word = arena_printf(run->arena, "%zu", lines);
    return 0;
}
