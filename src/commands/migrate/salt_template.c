#include "commands/migrate/salt_template.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/data/json.h"
#include "core/data/value.h"

/* A mask is an unlikely word: "zjinja", a number, "z". */
#define MASK_BEGIN "zjinja"
#define MASK_END   'z'
#define TEXT_MAX   ((size_t)4 << 20)

/* --- expressions ------------------------------------------------------------------ */

/* One expression or statement, while it is rewritten. */
struct rewriting {
    struct salt_template *tmpl;
    struct str rest;
    uint32_t line;
    struct buf *out;
};

static bool is_template_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static size_t measure_template_word(struct str text)
{
    size_t n = 0;

    while (n < text.n && is_template_word(text.p[n]))
        n++;
    return n;
}

/* Bytes of a quoted text, quotes included; 0: none begins here. */
static size_t quoted_length(struct str text)
{
    if (text.n == 0 || (text.p[0] != '\'' && text.p[0] != '"'))
        return 0;
    for (size_t i = 1; i < text.n; i++) {
        if (text.p[i] == '\\')
            i++;
        else if (text.p[i] == text.p[0])
            return i + 1;
    }
    return text.n;
}

/* The key of an accessor at the beginning: .key, ['key'], .get('key'...). Its length, or 0. */
static size_t read_accessor(struct str text, struct str *ret_key)
{
    const bool is_get = str_starts(text, STR(".get("));
    size_t at = is_get ? strlen(".get(") : 1, n;
    const char *end;

    if (text.n < 2 || (text.p[0] != '.' && text.p[0] != '['))
        return 0;
    if (text.p[0] == '.' && !is_get) {
        n = measure_template_word(str_from_offset(text, 1));
        *ret_key = str_slice(text, 1, n);
        return n > 0 ? n + 1 : 0;
    }
    n = quoted_length(str_from_offset(text, at));
    if (n < 2)
        return 0;
    *ret_key = str_slice(text, at + 1, n - 2);
    end = memchr(text.p + at + n, is_get ? ')' : ']', text.n - at - n);
    return end ? (size_t)(end - text.p) + 1 : 0;
}

static void note_absent_name(const struct rewriting *rewriting, const char *what)
{
    rewriting->tmpl->is_broken = true;
    (void)diag_add(rewriting->tmpl->remarks,
                   (struct place){ rewriting->tmpl->file, rewriting->line, 0 },
                   "'%s' does not exist in reactions", what);
}

/* Keys of Salt's own that have a name here; the rest stays. */
static const char *find_template_name(const struct salt_template *tmpl, struct str key)
{
    const struct {
        const char *key, *name;
        bool is_there;
    } known[] = {
        { "data", "data", true },
        { "id", tmpl->id, true },
        { "_stamp", "event.ts", true },
        { "tag", "tag", true },
        { "fun", "data['function']", true },
        { "minions", "data['targets']", true },
        /* the only such event is that of a machine which waits for a decision */
        { "act", "'pend'", tmpl->enrolls },
        { "result", "true", tmpl->enrolls },
    };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i].is_there && str_is(key, known[i].key))
            return known[i].name;
    return NULL;
}

static void rewrite_data(struct rewriting *rewriting)
{
    struct str key = { NULL, 0 };
    const size_t n = read_accessor(rewriting->rest, &key);
    const char *name = n > 0 ? find_template_name(rewriting->tmpl, key) : NULL;

    buf_add_text(rewriting->out, name ? name : "data");
    if (name)
        rewriting->rest = str_from_offset(rewriting->rest, n);
}

static void rewrite_word(struct rewriting *rewriting, struct str word)
{
    static const char *const absent[] = { "salt", "pillar", "grains", "opts", "__salt__" };
    const bool is_member = rewriting->out->n > 0 && rewriting->out->p[rewriting->out->n - 1] == '.';

    if (!is_member && str_is(word, "data")) {
        rewrite_data(rewriting);
        return;
    }
    for (size_t i = 0; !is_member && i < ARRAY_LEN(absent); i++)
        if (str_is(word, absent[i]))
            note_absent_name(rewriting, absent[i]);
    buf_add(rewriting->out, word.p, word.n);
}

static void rewrite_expression(struct salt_template *tmpl, struct str text, uint32_t line,
                               struct buf *out)
{
    struct rewriting rewriting = { tmpl, text, line, out };

    while (rewriting.rest.n > 0) {
        const size_t quoted = quoted_length(rewriting.rest);
        const size_t word = quoted > 0 ? 0 : measure_template_word(rewriting.rest);
        const size_t n = quoted > 0 ? quoted : word > 0 ? word : 1;
        const struct str part = str_slice(rewriting.rest, 0, n);

        rewriting.rest = str_from_offset(rewriting.rest, n);
        if (word > 0)
            rewrite_word(&rewriting, part);
        else
            buf_add(out, part.p, part.n);
    }
}

/* --- masks ------------------------------------------------------------------------ */

static void add_mask(struct salt_template *tmpl, const char *expression, struct buf *out)
{
    buf_printf(out, MASK_BEGIN "%zu%c", tmpl->expressions.n, MASK_END);
    VEC_PUSH_IN(tmpl->arena, &tmpl->expressions,
                (struct salt_expression){ expression, tmpl->is_broken });
}

bool salt_template_is_masked(struct str text)
{
    return str_find(text, STR(MASK_BEGIN), 0) != STR_NONE;
}

/* The expression at the beginning of `text`, which is a mask; its length is 0 when it is none. */
static size_t read_mask(const struct salt_template *tmpl, struct str text,
                        const struct salt_expression **ret)
{
    size_t n = strlen(MASK_BEGIN), number = 0;

    if (!str_starts(text, STR(MASK_BEGIN)))
        return 0;
    for (; n < text.n && text.p[n] >= '0' && text.p[n] <= '9'; n++)
        number = number * 10 + (size_t)(text.p[n] - '0');
    if (n >= text.n || text.p[n] != MASK_END || number >= tmpl->expressions.n)
        return 0;
    *ret = &tmpl->expressions.p[number];
    return n + 1;
}

void salt_template_print(const struct salt_template *tmpl, struct str text, struct buf *out)
{
    while (text.n > 0) {
        const struct salt_expression *expression;
        const size_t n = read_mask(tmpl, text, &expression);

        if (n > 0)
            buf_printf(out, "{{ %s }}", expression->text);
        else
            buf_add_char(out, text.p[0]);
        text = str_from_offset(text, n > 0 ? n : 1);
    }
}

/* 'rm ' ~ (data['x']) */
static void join_parts(struct salt_template *tmpl, struct str text, struct buf *out)
{
    struct str plain = { text.p, 0 };

    for (;;) {
        const struct salt_expression *expression = NULL;
        const size_t n = read_mask(tmpl, text, &expression);

        if ((n > 0 || text.n == 0) && plain.n > 0) {
            buf_add_text(out, out->n > 0 ? " ~ " : "");
            json_print_text(out, plain, JSON_STYLE_COMPACT);
        }
        if (text.n == 0)
            return;
        if (n > 0) {
            buf_printf(out, "%s(%s)", out->n > 0 ? " ~ " : "", expression->text);
            tmpl->is_broken |= expression->is_broken;
        }
        text = str_from_offset(text, n > 0 ? n : 1);
        plain = n > 0 ? (struct str){ text.p, 0 } : (struct str){ plain.p, plain.n + 1 };
    }
}

struct value salt_template_expression(struct salt_template *tmpl, const char *expression)
{
    AUTO_BUF struct buf mask = BUF_INIT(TEXT_MAX);

    add_mask(tmpl, expression, &mask);
    return value_str(buf_copy(&mask, tmpl->arena));
}

static struct value seal_text(struct salt_template *tmpl, const struct value *v)
{
    AUTO_BUF struct buf joined = BUF_INIT(TEXT_MAX);
    const struct salt_expression *whole = NULL;
    const char *text;

    if (!salt_template_is_masked(v->s))
        return *v;
    if (read_mask(tmpl, v->s, &whole) == v->s.n && whole) {
        tmpl->is_broken |= whole->is_broken;
        text = arena_printf(tmpl->arena, "%s | tojson", whole->text);
    } else {
        join_parts(tmpl, v->s, &joined);
        text = arena_printf(tmpl->arena, "(%s) | tojson", buf_text(&joined));
    }
    return value_at(salt_template_expression(tmpl, text), v);
}

struct value salt_template_seal(struct salt_template *tmpl, const struct value *v)
{
    if (v->kind == VALUE_STR)
        return seal_text(tmpl, v);
    if (v->kind == VALUE_LIST) {
        struct value_list *list = value_list_new(tmpl->arena, v->list->count);

        for (size_t i = 0; i < v->list->count; i++)
            value_list_push(tmpl->arena, list, salt_template_seal(tmpl, &v->list->items[i]));
        return value_at(value_list(list), v);
    }
    if (v->kind == VALUE_MAP) {
        struct value_map *map = value_map_new(tmpl->arena, v->map->count);

        for (size_t i = 0; i < v->map->count; i++)
            value_map_set(tmpl->arena, map, v->map->pairs[i].key,
                          salt_template_seal(tmpl, &v->map->pairs[i].value));
        return value_at(value_map(map), v);
    }
    return *v;
}

/* --- pieces ----------------------------------------------------------------------- */

static int refuse_line(const struct salt_template *tmpl, uint32_t line, const char *why)
{
    return diag_add(tmpl->remarks, (struct place){ tmpl->file, line, 0 }, "%s", why);
}

/* One line of YAML, with its expressions masked. */
static int mask_line(struct salt_template *tmpl, struct str line, uint32_t number, struct buf *out)
{
    while (line.n > 0) {
        const size_t open = str_find(line, STR("{"), 0);
        const struct str at = open == STR_NONE ? STR("") : str_from_offset(line, open);
        AUTO_BUF struct buf expression = BUF_INIT(TEXT_MAX);
        size_t close;

        if (open == STR_NONE) {
            buf_add(out, line.p, line.n);
            break;
        }
        buf_add(out, line.p, open);
        if (str_starts(at, STR("{%")))
            return refuse_line(tmpl, number, "a statement of a template inside of a line");
        if (!str_starts(at, STR("{{"))) {
            buf_add_char(out, '{');
            line = str_from_offset(at, 1);
            continue;
        }
        close = str_find(at, STR("}}"), 0);
        if (close == STR_NONE)
            return refuse_line(tmpl, number, "an expression of several lines");
        tmpl->is_broken = false;
        rewrite_expression(tmpl, str_trim(str_slice(at, 2, close - 2)), number, &expression);
        add_mask(tmpl, buf_copy(&expression, tmpl->arena).p, out);
        line = str_from_offset(at, close + 2);
    }
    buf_add_char(out, '\n');
    return 0;
}

/* Comments of templates go; their lines stay. */
static struct str drop_comments(struct arena *arena, struct str text)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    size_t open;

    while ((open = str_find(text, STR("{#"), 0)) != STR_NONE) {
        const struct str from = str_from_offset(text, open);
        const size_t close = str_find(from, STR("#}"), 0);
        const size_t end = close == STR_NONE ? from.n : close + 2;

        buf_add(&out, text.p, open);
        for (size_t i = 0; i < end; i++)
            if (from.p[i] == '\n')
                buf_add_char(&out, '\n');
        text = str_from_offset(from, end);
    }
    buf_add(&out, text.p, text.n);
    return buf_copy(&out, arena);
}

static bool is_statement(struct str line)
{
    line = str_trim(line);
    return str_starts(line, STR("{%")) && str_ends(line, STR("%}")) &&
           str_find(str_from_offset(line, 2), STR("{%"), 0) == STR_NONE;
}

/* Statements may stand before a block and after the last one. */
static bool is_between_blocks(struct str rest)
{
    while (rest.p) {
        const struct str line = str_cut(&rest, '\n'), trimmed = str_trim(line);

        if (trimmed.n == 0 || trimmed.p[0] == '#' || is_statement(line))
            continue;
        return line.p[0] != ' ' && line.p[0] != '\t' && line.p[0] != '-';
    }
    return true;
}

static void end_piece(struct salt_template *tmpl, struct buf *yaml, uint32_t line)
{
    if (yaml->n > 0)
        VEC_PUSH_IN(tmpl->arena, &tmpl->pieces,
                    (struct salt_piece){ false, buf_copy(yaml, tmpl->arena), line });
    buf_clear(yaml);
}

static int take_statement(struct salt_template *tmpl, struct str line, struct str rest,
                          uint32_t number)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);

    if (!is_between_blocks(rest))
        return refuse_line(
            tmpl, number, "a statement of a template inside of a block: convert this file by hand");
    tmpl->is_broken = false;
    rewrite_expression(tmpl, line, number, &out);
    if (tmpl->is_broken)
        return -1; /* nothing of the file would run */
    buf_add_char(&out, '\n');
    VEC_PUSH_IN(tmpl->arena, &tmpl->pieces,
                (struct salt_piece){ true, buf_copy(&out, tmpl->arena), number });
    return 0;
}

bool salt_template_read(struct salt_template *tmpl, struct str text)
{
    AUTO_BUF struct buf yaml = BUF_INIT(TEXT_MAX);
    struct str rest = drop_comments(tmpl->arena, text);
    uint32_t number = 0, begin = 1;

    if (text.n > TEXT_MAX)
        return refuse_line(tmpl, 0, "the file is too large") == 0;
    if (str_starts(rest, STR("#!")) && !str_starts(rest, STR("#!jinja|yaml")))
        return refuse_line(tmpl, 1, "only templates of Jinja and YAML can be converted") == 0;
    while (rest.p && rest.n > 0) {
        const struct str line = str_cut(&rest, '\n');

        number++;
        if (!is_statement(line)) {
            if (yaml.n == 0)
                begin = number;
            if (mask_line(tmpl, line, number, &yaml) < 0)
                return false;
            continue;
        }
        end_piece(tmpl, &yaml, begin);
        if (take_statement(tmpl, line, rest, number) < 0)
            return false;
    }
    end_piece(tmpl, &yaml, begin);
    return true;
}
