/* wordwrap: lines of limited length, filled as by Python's textwrap. */
#include "language/jinja/filters/filter.h"

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "core/base/vec.h"
#include "language/jinja/argument.h"
#include "language/jinja/function.h"
#include "language/jinja/ops.h"
#include "language/jinja/filters/regex.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

/* A chunk is a run of blanks, a word, a part of a hyphenated word, or a dash between words. */
#define BLANKS "[\\t\\n\\x0b\\x0c\\r ]"
#define SOLID  "[^\\t\\n\\x0b\\x0c\\r ]"
#define LETTER "[^\\d\\W]"
#define PUNCT  "[\\w!\"'&.,?]"

static const char with_hyphens[] = BLANKS
    "+|(?<=" PUNCT ")-{2,}(?=\\w)|" SOLID "+?(?:-(?:(?<=" LETTER LETTER "-)|(?<=" LETTER "-" LETTER
    "-))(?=" LETTER "-?" LETTER ")|(?=" BLANKS "|\\z)|(?<=" PUNCT ")(?=-{2,}\\w))";
static const char without_hyphens[] = BLANKS "+|" SOLID "+";

struct wrap {
    struct render *render;
    const struct matcher *chunk;
    size_t width;
    bool break_long, hyphens;
    struct str between; /* lines */
    struct buf *out;
    VEC(struct str) chunks, line;
    bool any; /* a line was written */
};

static int cut_chunks(struct wrap *wrap, struct str text)
{
    struct matcher_match match;
    bool found = true;

    vec_clear(&wrap->chunks);
    for (size_t at = 0; at < text.n; at = match.groups[0].end) {
        if (regex_find(wrap->render, wrap->chunk, text, at, &match, &found) < 0)
            return -1;
        if (!found || match.groups[0].end == match.groups[0].start)
            break;
        VEC_PUSH_IN(wrap->render->arena, &wrap->chunks, matcher_text(&match, text, 0));
    }
    return 0;
}

static bool is_blank_chunk(struct str chunk)
{
    return str_trim(chunk).n == 0;
}

/* The break of a long word: after a hyphen that fits, else after `room` characters. */
static size_t find_break(const struct wrap *wrap, struct str chunk, size_t room)
{
    size_t end = utf8_offset(chunk, room);

    if (!wrap->hyphens)
        return end;
    for (size_t i = end; i > 1 && i-- > 1;)
        if (chunk.p[i] == '-') {
            for (size_t k = 0; k < i; k++)
                if (chunk.p[k] != '-')
                    return i + 1;
            break;
        }
    return end;
}

static void write_wrapped_line(struct wrap *wrap)
{
    if (wrap->line.n > 0 && is_blank_chunk(wrap->line.p[wrap->line.n - 1]))
        wrap->line.n--;
    if (wrap->line.n == 0)
        return;
    if (wrap->any)
        buf_add_str(wrap->out, wrap->between);
    wrap->any = true;
    VEC_EACH (&wrap->line, chunk)
        buf_add_str(wrap->out, *chunk);
}

/* One line: chunks while they fit, then a part of one that fits on no line. Returns the next chunk.
 */
static size_t fill_line(struct wrap *wrap, size_t next)
{
    size_t used = 0;

    vec_clear(&wrap->line);
    if (wrap->any && is_blank_chunk(wrap->chunks.p[next]))
        next++;
    while (next < wrap->chunks.n) {
        struct str *chunk = &wrap->chunks.p[next];
        size_t length = utf8_count(*chunk);

        if (used + length > wrap->width) {
            if (length > wrap->width && wrap->break_long) {
                /* no room leaves an empty part, and with it the blank before: so does Python */
                size_t at = find_break(wrap, *chunk, wrap->width - used);

                VEC_PUSH_IN(wrap->render->arena, &wrap->line, str_slice(*chunk, 0, at));
                *chunk = str_from_offset(*chunk, at);
            } else if (length > wrap->width && wrap->line.n == 0) {
                VEC_PUSH_IN(wrap->render->arena, &wrap->line, *chunk);
                next++;
            }
            break;
        }
        VEC_PUSH_IN(wrap->render->arena, &wrap->line, *chunk);
        used += length;
        next++;
    }
    return next;
}

static int wrap_line(struct wrap *wrap, struct str text)
{
    wrap->any = false;
    if (cut_chunks(wrap, text) < 0)
        return -1;
    for (size_t next = 0; next < wrap->chunks.n;) {
        if (render_step(wrap->render, 1) < 0)
            return -1;
        next = fill_line(wrap, next);
        write_wrapped_line(wrap);
    }
    return 0;
}

static int filter_wordwrap(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct wrap wrap = { .render = render, .out = &out, .between = STR("\n") };
    const struct value_list *lines;
    struct value text, split;
    struct str s;
    int64_t width;

    if (argument_text(render, &bound->args[0], &s) < 0 ||
        argument_int(render, &bound->args[1], &width) < 0 ||
        op_truth(render, &bound->args[2], &wrap.break_long) < 0 ||
        op_truth(render, &bound->args[4], &wrap.hyphens) < 0)
        return -1;
    if (!argument_is_none(&bound->args[3]) &&
        argument_text(render, &bound->args[3], &wrap.between) < 0)
        return -1;
    if (width <= 0)
        return render_fail(render, RENDER_TYPE, "invalid width %lld (must be > 0)",
                           (long long)width);
    wrap.width = (size_t)width;
    text = value_str(s);
    if (regex_new(render, str_from(wrap.hyphens ? with_hyphens : without_hyphens), 0, &wrap.chunk) <
            0 ||
        argument_method(render, &text, "splitlines", NULL, 0, &split) < 0 ||
        op_list(render, &split, &lines) < 0)
        return -1;
    for (size_t i = 0; i < lines->count; i++) {
        if (i > 0)
            buf_add_str(&out, wrap.between);
        if (wrap_line(&wrap, lines->items[i].s) < 0)
            return -1;
    }
    return text_finish(render, &out, 0, ret);
}

/* clang-format off */
const struct function filter_wrap_functions[] = {
    { "wordwrap", "s, width=79, break_long_words=true, wrapstring=none, break_on_hyphens=true", filter_wordwrap, "lines of limited length" },
    { 0 },
};
/* clang-format on */
