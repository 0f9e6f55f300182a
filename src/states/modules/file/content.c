#include "states/modules/file/content.h"

#include <string.h>
#include <strings.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/data/words.h"
#include "states/modules/settings/datapath.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define CONTENT_MAX ((size_t)64 << 20)

/* --- templates ----------------------------------------------------------------------- */

static const struct {
    const char *word;
    bool means;
} template_words[] = {
    { "jinja", true }, { "true", true },   { "yes", true }, { "on", true },   { "1", true },
    { "", false },     { "false", false }, { "no", false }, { "off", false }, { "0", false },
};

static bool read_template(const struct value *template, bool *ret)
{
    *ret = false;
    if (!template || template->kind == VALUE_NULL)
        return true;
    if (template->kind == VALUE_BOOL) {
        *ret = template->b;
        return true;
    }
    if (template->kind != VALUE_STR)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(template_words); i++)
        if (strcasecmp(template->s.p, template_words[i].word) == 0) {
            *ret = template_words[i].means;
            return true;
        }
    return false;
}

bool content_is_template(const struct value *template)
{
    bool wanted;

    return read_template(template, &wanted) && wanted;
}

const struct value *content_choose_template(const struct state_run *run,
                                            const struct value *template)
{
    static const struct value rendered = { .kind = VALUE_BOOL, .b = true };

    return template || !run->salt ? template : &rendered;
}

static void add_content_items(struct arena *arena, struct value_map *to, const struct value *from)
{
    for (size_t i = 0; from && i < from->map->count; i++)
        value_map_set(arena, to, from->map->pairs[i].key, from->map->pairs[i].value);
}

int content_render(struct state_run *run, const struct content_args *args, const char *name,
                   struct str text, struct str *ret, struct err *err)
{
    struct value_map *extra = value_map_new(run->arena, 4);
    const struct value map = value_map(extra);

    add_content_items(run->arena, extra, args->extra);
    add_content_items(run->arena, extra, args->defaults);
    add_content_items(run->arena, extra, args->context);
    return state_render(run, name, text, &map, ret, err);
}

/* --- checking --------------------------------------------------------------------------- */

/* Null counts as not given, as everywhere: a template may leave the value empty. */
static bool has_contents(const struct content_args *args)
{
    return args->contents && args->contents->kind != VALUE_NULL;
}

static bool has_source(const struct content_args *args)
{
    return args->source && args->source->kind != VALUE_NULL;
}

static int check_content_exclusive(const struct content_args *args, const struct value *where,
                                   struct diags *diags)
{
    const struct {
        const char *name;
        bool given;
    } wishes[] = {
        { "content", args->has_content },
        { "contents", has_contents(args) },
        { "contents_pillar", args->peel_settings.n > 0 },
        { "contents_grains", args->grains.n > 0 },
        { "source", has_source(args) },
    };
    const char *first = NULL;

    for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
        if (wishes[i].given && first)
            return value_diag(diags, where, "'%s' and '%s' are mutually exclusive", first,
                              wishes[i].name);
        if (wishes[i].given)
            first = wishes[i].name;
    }
    return 0;
}

static bool is_content_line(const struct value *v)
{
    return v->kind != VALUE_LIST && v->kind != VALUE_MAP && v->kind != VALUE_OBJECT;
}

static bool is_contents(const struct value *v)
{
    if (v->kind != VALUE_LIST)
        return is_content_line(v);
    for (size_t i = 0; i < v->list->count; i++)
        if (!is_content_line(&v->list->items[i]))
            return false;
    return true;
}

/* A source of a list: a text, or a map of one source to its hash. */
static bool read_content_source(const struct value *v, const char **ret_source,
                                const char **ret_hash)
{
    *ret_hash = NULL;
    if (v->kind == VALUE_STR && v->s.n > 0 && !memchr(v->s.p, '\0', v->s.n)) {
        *ret_source = v->s.p;
        return true;
    }
    if (v->kind != VALUE_MAP || v->map->count != 1 || v->map->pairs[0].key.kind != VALUE_STR ||
        v->map->pairs[0].value.kind != VALUE_STR)
        return false;
    *ret_source = v->map->pairs[0].key.s.p;
    *ret_hash = v->map->pairs[0].value.s.p;
    return true;
}

static int check_source(const struct value *source, struct diags *diags)
{
    const char *text, *hash;

    if (source->kind != VALUE_LIST)
        return read_content_source(source, &text, &hash)
                   ? 0
                   : value_diag(diags, source, "'source' must be a path or a list of paths, got %s",
                                value_describe(source));
    if (source->list->count == 0)
        return value_diag(diags, source, "'source' must not be an empty list");
    for (size_t i = 0; i < source->list->count; i++)
        if (!read_content_source(&source->list->items[i], &text, &hash))
            return value_diag(diags, &source->list->items[i],
                              "'source' must be a list of paths, got %s",
                              value_describe(&source->list->items[i]));
    return 0;
}

int content_validate(const struct content_args *args, const struct value *where,
                     struct diags *diags)
{
    int result = check_content_exclusive(args, where, diags);
    bool wanted;

    if (has_source(args) && check_source(args->source, diags) < 0)
        result = -1;
    if (args->delimiter && strlen(args->delimiter) != 1)
        result =
            value_diag(diags, value_point(where, "contents_delimiter"),
                       "'contents_delimiter' must be one character, got '%s'", args->delimiter);
    if (has_contents(args) && !is_contents(args->contents))
        result = value_diag(diags, args->contents, "'contents' must be text or a list of lines");
    if (!read_template(args->template, &wanted)) {
        result = value_diag(diags, args->template, "'template' supports 'jinja' only");
        diag_hint(diags, "write template: jinja, or true");
    }
    return result;
}

/* --- getting ---------------------------------------------------------------------------- */

void content_add_scalar(struct buf *out, const struct value *v)
{
    struct words_cursor cursor = { 0 };
    const struct str own = words_own(v, &cursor);

    if (own.p)
        buf_add_str(out, own);
    else if (v->kind == VALUE_NULL && v->source && v->source->salt)
        buf_add_text(out, "None"); /* a line of Salt's */
    else
        (void)words_print(out, v);
}

static bool is_line_end(const struct buf *out)
{
    return out->n > 0 && out->p[out->n - 1] == '\n';
}

/* A text as it is; of a list, each item ends its line. */
static void add_content_lines(struct buf *out, const struct value *contents)
{
    if (contents->kind != VALUE_LIST)
        content_add_scalar(out, contents);
    for (size_t i = 0; contents->kind == VALUE_LIST && i < contents->list->count; i++) {
        content_add_scalar(out, &contents->list->items[i]);
        if (!is_line_end(out))
            buf_add_char(out, '\n');
    }
}

static int end_lines(struct state_run *run, const struct content_args *args, struct buf *out,
                     struct str *ret, struct err *err)
{
    while (args->no_newline && is_line_end(out))
        buf_cut(out, out->n - 1);
    if (!args->no_newline && out->n > 0 && !is_line_end(out))
        buf_add_char(out, '\n');
    if (out->full)
        return err_set(err, ERR_LIMIT, "contents exceed the limit of %zu bytes", CONTENT_MAX);
    *ret = buf_copy(out, run->arena);
    return 0;
}

static int join_lines(struct state_run *run, const struct content_args *args,
                      const struct value *contents, struct str *ret, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(CONTENT_MAX);

    add_content_lines(&out, contents);
    return end_lines(run, args, &out, ret, err);
}

/* Contents from settings or facts, by a path with ':' or '.'. */
static int find_contents(const struct value *tree, const char *place, const char *path,
                         const char *delimiter, const struct value **ret, struct err *err)
{
    const struct value *found =
        delimiter ? value_path(tree, str_from(path), *delimiter) : datapath_find(tree, path);

    if (!found)
        return err_set(err, ERR_NOT_FOUND, "no '%s' in the %s", path, place);
    if (!is_contents(found))
        return err_set(err, ERR_INVALID, "'%s' in the %s is %s, not text or a list of lines", path,
                       place, value_describe(found));
    *ret = found;
    return 0;
}

/* Those of several paths are joined by newlines, as Salt does it. */
static int join_contents(struct state_run *run, const struct content_args *args, struct str *ret,
                         struct err *err)
{
    const bool settings = args->peel_settings.n > 0;
    const struct param_strs *paths = settings ? &args->peel_settings : &args->grains;
    const struct value *tree = settings    ? state_settings(run)
                               : run->salt ? state_grains(run)
                                           : state_facts(run);
    AUTO_BUF struct buf out = BUF_INIT(CONTENT_MAX);

    for (size_t i = 0; i < paths->n; i++) {
        const struct value *found = NULL;

        if (find_contents(tree, settings ? "settings" : "facts", paths->p[i], args->delimiter,
                          &found, err) < 0)
            return -1;
        if (i > 0)
            buf_add_char(&out, '\n');
        add_content_lines(&out, found);
        if (found->kind == VALUE_LIST && i + 1 < paths->n && is_line_end(&out))
            buf_cut(&out, out.n - 1);
    }
    return end_lines(run, args, &out, ret, err);
}

static int read_content_part(struct state_run *run, const struct content_args *args,
                             const char *source, const struct source_trust *trust,
                             struct content *ret, struct err *err)
{
    struct source_content content;

    if (!args->streams || content_is_template(args->template))
        return state_source_trusted(run, source, trust, &ret->text, err);
    if (state_source_content(run, source, trust, &content, err) < 0)
        return -1;
    ret->text = content.text;
    if (content.file)
        ret->large = content;
    return 0;
}

/* The first source that exists. */
static int read_sources(struct state_run *run, const struct content_args *args, struct content *ret,
                        struct err *err)
{
    const bool is_list = args->source->kind == VALUE_LIST;
    const size_t count = is_list ? args->source->list->count : 1;
    struct source_trust trust = args->trust;
    int result = err_set(err, ERR_NOT_FOUND, "no source");

    for (size_t i = 0; i < count; i++) {
        const struct value *item = is_list ? &args->source->list->items[i] : args->source;

        if (!read_content_source(item, &ret->source, &ret->hash))
            return err_set(err, ERR_INVALID, "source is %s", value_describe(item));
        trust.hash = ret->hash ? ret->hash : args->trust.hash;
        result = read_content_part(run, args, ret->source, &trust, ret, err);
        if (result == 0 || err->code != ERR_NOT_FOUND)
            return result;
    }
    if (count > 1)
        return err_wrap(err, "none of the %zu sources exists; the last", count);
    return result;
}

static int get_raw(struct state_run *run, const struct content_args *args, struct content *ret,
                   struct err *err)
{
    if (has_source(args))
        return read_sources(run, args, ret, err);
    if (args->peel_settings.n > 0 || args->grains.n > 0)
        return join_contents(run, args, &ret->text, err);
    if (has_contents(args))
        return join_lines(run, args, args->contents, &ret->text, err);
    if (args->has_content)
        ret->text = args->content;
    else
        ret->given = false;
    return 0;
}

int content_get(struct state_run *run, const struct content_args *args, struct content *ret,
                struct err *err)
{
    *ret = (struct content){ .given = true };
    if (get_raw(run, args, ret, err) < 0)
        return -1;
    if (!ret->text.p)
        ret->text = STR("");
    if (!ret->given || !content_is_template(args->template))
        return 0;
    if (args->extra && ret->source)
        value_map_set(run->arena, args->extra->map, value_text("source"), value_text(ret->source));
    return content_render(run, args, ret->source ? ret->source : args->path, ret->text, &ret->text,
                          err);
}

int content_source_mode(struct state_run *run, const char *source, mode_t *ret_mode,
                        struct err *err)
{
    struct fs_info info = { .kind = FS_NONE };
    const char *path;

    if (state_source_path(run, source, &path, err) < 0 || (path && fs_stat(path, &info, err) < 0))
        return -1;
    if (info.kind == FS_NONE)
        return err_set(err, ERR_UNSUPPORTED, "mode 'keep': source '%s' has no mode", source);
    *ret_mode = info.mode;
    return 0;
}
