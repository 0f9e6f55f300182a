#include "language/jinja/template.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "language/jinja/compile.h"
#include "language/jinja/env.h"
#include "language/jinja/parse.h"

/* --- text ----------------------------------------------------------------------------- */

/* \r\n and \r become \n. Returns the text itself when there is nothing to do. */
static struct str unify_lines(struct arena *arena, struct str text)
{
    char *copy;
    size_t n = 0;

    if (str_find_char(text, '\r', 0) == STR_NONE)
        return text;
    copy = arena_alloc(arena, text.n + 1);
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\r' && i + 1 < text.n && text.p[i + 1] == '\n')
            continue;
        copy[n++] = text.p[i] == '\r' ? '\n' : text.p[i];
    }
    copy[n] = '\0';
    return (struct str){ copy, n };
}

static struct str prepare_text(struct template *template, struct str text, bool copy)
{
    struct str lines = unify_lines(&template->arena, text);

    if (copy && lines.p == text.p)
        lines = arena_str(&template->arena, text);
    if (template->jinja->options.drop_trailing_newline && lines.n > 0 &&
        lines.p[lines.n - 1] == '\n')
        lines.n--;
    return lines;
}

static bool check_template_size(const struct template *template, struct str text,
                                struct diags *diags)
{
    size_t limit = template->jinja->options.limits.template_bytes;

    if (text.n <= limit)
        return true;
    diag_add(diags, template_diag_place(template, 0, diags),
             "the template has %zu bytes, more than the limit of %zu", text.n, limit);
    return false;
}

static void find_template_lines(struct template *template)
{
    const struct str text = template->text;
    const char *end;

    for (size_t at = 0; at < text.n && (end = memchr(text.p + at, '\n', text.n - at));
         at = (size_t)(end - text.p) + 1)
        VEC_PUSH_IN(&template->arena, &template->lines, (uint32_t)(end - text.p) + 1);
}

struct template *template_new(struct jinja *jinja, const char *name, struct str text, bool copy,
                              struct diags *diags)
{
    struct template *template = mem_zalloc(sizeof(*template));
    AUTO_FREE struct parse *parse = mem_alloc(sizeof(*parse));

    template->jinja = jinja;
    template->name = arena_strdup(&template->arena, name);
    template->original = text;
    if (!check_template_size(template, text, diags)) {
        template_free(template);
        return NULL;
    }
    template->text = prepare_text(template, text, copy);
    find_template_lines(template);
    if (copy)
        template->original = str_find_char(text, '\r', 0) == STR_NONE
                                 ? (struct str){ template->text.p, text.n }
                                 : arena_str(&template->arena, text);
    /* unknown filters are worth reporting only for a complete tree */
    if (parse_template(parse, template, diags) < 0 || compile_template(template, diags) < 0) {
        template_free(template);
        return NULL;
    }
    return template;
}

void template_free(struct template *template)
{
    if (!template)
        return;
    arena_done(&template->arena);
    free(template);
}

bool template_is(const struct template *template, struct str text)
{
    return str_eq(template->original, text);
}

/* --- places ------------------------------------------------------------------------------- */

/* Every state of a file has a place, so reading the text again for each would be quadratic. */
struct place template_place(const struct template *template, uint32_t at)
{
    struct str text = template->text;
    const size_t end = at < text.n ? at : text.n;
    size_t low = 0, high = template->lines.n; /* lines that begin at or before `end` */

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (template->lines.p[middle] <= end)
            low = middle + 1;
        else
            high = middle;
    }
    const size_t line_start = low > 0 ? template->lines.p[low - 1] : 0;

    return (struct place){
        .file = template->name,
        .line = (uint32_t)low + 1,
        .column = (uint32_t)utf8_count(str_slice(text, line_start, end - line_start)) + 1,
    };
}

struct place template_diag_place(const struct template *template, uint32_t at,
                                 const struct diags *diags)
{
    struct place place = template_place(template, at);

    place.file = arena_strdup(diags->arena, place.file);
    return place;
}
