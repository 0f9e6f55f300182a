#include "core/data/yaml_error.h"

#include <string.h>
#include <yaml.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/redact.h"
#include "core/base/utf8.h"
#include "core/data/yaml_text.h"

/* Texts in messages are cut here, in characters. */
#define SHOWN_MAX 40
/* libyaml's limit for a key without "? ". */
#define KEY_MAX 1024

/* The problem, as byte offsets into the text. */
struct fault {
    const char *file;
    struct str text;
    size_t at;   /* the problem */
    size_t from; /* its context, or STR_NONE */
    size_t open; /* the innermost unclosed list or map, or STR_NONE */
    const char *problem, *context;
    size_t last_start, last_end; /* the last scalar before it */
    bool last_quoted;
    struct diags *diags;
};

#define COMPLAIN(f, offset, ...)                                                                   \
    do {                                                                                           \
        diag_add((f)->diags, yaml_text_place((f)->file, (f)->text, offset), __VA_ARGS__);          \
        diag_source((f)->diags, (f)->text);                                                        \
    } while (0)

static struct place find_fault_place(const struct fault *f, size_t offset)
{
    return yaml_text_place(f->file, f->text, offset);
}

/* NUL at the end of the text, which holds none. */
static char get_fault_char(const struct fault *f, size_t offset)
{
    return offset < f->text.n ? f->text.p[offset] : '\0';
}

static bool same_line(const struct fault *f, size_t a, size_t b)
{
    size_t start_a, start_b;

    (void)yaml_text_line(f->text, a, &start_a);
    (void)yaml_text_line(f->text, b, &start_b);
    return start_a == start_b;
}

/* Is it the first thing on its line? */
static bool is_first(const struct fault *f, size_t offset)
{
    size_t start;
    struct str line = yaml_text_line(f->text, offset, &start);

    return start + yaml_text_indent(line) == offset;
}

static struct str cut_shown_text(struct str text)
{
    return str_slice(text, 0, utf8_offset(text, SHOWN_MAX));
}

/* From `offset` to the end of its line or the comment there. */
static struct str rest_of_line(const struct fault *f, size_t offset)
{
    size_t start, comment;
    struct str line = yaml_text_line(f->text, offset, &start);
    struct str rest = str_from_offset(line, offset - start);

    comment = str_find(rest, STR(" #"), 0);
    return str_trim(comment == STR_NONE ? rest : str_slice(rest, 0, comment));
}

/* "write it in quotes: ..." with `text` in matching quotes. */
static void hint_quotes(const struct fault *f, struct str text)
{
    AUTO_BUF struct buf quoted = BUF_INIT(BUF_NO_LIMIT);
    const bool is_double =
        str_find_char(text, '"', 0) == STR_NONE && str_find_char(text, '\\', 0) == STR_NONE;

    if (utf8_count(text) > SHOWN_MAX || redact_hides(f->text, (size_t)(text.p - f->text.p))) {
        diag_hint(f->diags, "write it in quotes");
        return;
    }
    buf_add_char(&quoted, is_double ? '"' : '\'');
    for (size_t i = 0; i < text.n; i++) {
        buf_add_char(&quoted, text.p[i]);
        if (!is_double && text.p[i] == '\'')
            buf_add_char(&quoted, '\'');
    }
    buf_add_char(&quoted, is_double ? '"' : '\'');
    diag_hint(f->diags, "write it in quotes: %s", buf_text(&quoted));
}

/* --- expressions ----------------------------------------------------------------- */

static void complain_braces(const struct fault *f, size_t offset)
{
    struct str value = rest_of_line(f, offset);
    size_t key_end = str_find(value, STR("}}:"), 0);

    if (key_end != STR_NONE)
        value = str_slice(value, 0, key_end + 2);
    COMPLAIN(f, offset, "an expression needs quotes: '{' begins a map");
    if (str_find(value, STR("}}"), 0) == STR_NONE)
        diag_hint(f->diags, "write it in quotes: \"{{ ... }}\"");
    else
        hint_quotes(f, value);
}

bool yaml_error_explain_braces(const char *file, struct str text, size_t offset,
                               struct diags *diags)
{
    const struct fault f = { .file = file, .text = text, .diags = diags };

    if (offset > 0 && str_starts(str_from_offset(text, offset - 1), STR("{{")))
        offset--;
    if (!str_starts(str_from_offset(text, offset), STR("{{")))
        return false;
    complain_braces(&f, offset);
    return true;
}

/* The offset of a value that begins with two braces on the line of `offset`, or STR_NONE. */
static size_t find_braces(const struct fault *f, size_t offset)
{
    size_t start, at;
    struct str line = yaml_text_line(f->text, offset, &start);
    struct str before;

    at = str_find(line, STR("{{"), 0);
    if (at == STR_NONE)
        return STR_NONE;
    before = str_slice(line, 0, at);
    if (str_trim(before).n == 0 || str_ends(before, STR(": ")) || str_ends(before, STR("- ")))
        return start + at;
    return STR_NONE;
}

static bool explain_braces(const struct fault *f)
{
    size_t at = find_braces(f, f->at);

    if (at == STR_NONE && f->from != STR_NONE && !strstr(f->context, "block"))
        at = find_braces(f, f->from);
    if (at == STR_NONE)
        return false;
    complain_braces(f, at);
    return true;
}

/* --- characters ------------------------------------------------------------------ */

static bool explain_tab(const struct fault *f)
{
    if (get_fault_char(f, f->at) != '\t')
        return false;
    COMPLAIN(f, f->at, "a tab cannot indent YAML");
    diag_hint(f->diags, "use spaces");
    return true;
}

static bool explain_character(const struct fault *f)
{
    const char c = get_fault_char(f, f->at);

    if (c == '%' && f->at > 0 && get_fault_char(f, f->at - 1) == '{') {
        COMPLAIN(f, f->at - 1, "'{%%' begins a template tag, but this text is not a template");
        return true;
    }
    if (c == '\0')
        return false;
    COMPLAIN(f, f->at, "a value cannot begin with '%c'", c);
    hint_quotes(f, rest_of_line(f, f->at));
    return true;
}

static bool explain_directive(const struct fault *f)
{
    COMPLAIN(f, f->from, "a line that begins with '%%' is a directive, and this one is unknown");
    diag_hint(f->diags, "text that begins with '%%' needs quotes");
    return true;
}

static bool explain_name(const struct fault *f)
{
    const char c = get_fault_char(f, f->from);

    if (c != '*' && c != '&')
        return false;
    COMPLAIN(f, f->from, "'%c' begins an %s, but no name follows", c,
             c == '*' ? "alias" : "anchor");
    hint_quotes(f, rest_of_line(f, f->from));
    return true;
}

static bool explain_tag_handle(const struct fault *f)
{
    COMPLAIN(f, f->at, "unknown tag prefix");
    diag_hint(f->diags, "a local tag has one '!', at its beginning");
    return true;
}

static bool explain_block_header(const struct fault *f)
{
    COMPLAIN(f, f->at, "text after '%c' begins on the next line", get_fault_char(f, f->from));
    return true;
}

/* --- quotes ---------------------------------------------------------------------- */

static bool explain_open_quote(const struct fault *f)
{
    const char quote = get_fault_char(f, f->from);

    if (quote != '"' && quote != '\'')
        return false;
    COMPLAIN(f, f->from, "this quote is never closed");
    if (quote == '"')
        diag_hint(f->diags, "close it with '\"'; a quote inside is written '\\\"'");
    else
        diag_hint(f->diags, "close it with \"'\"; an apostrophe inside is written \"''\"");
    diag_note(f->diags, find_fault_place(f, f->at), "the text ends here");
    return true;
}

static bool explain_escape(const struct fault *f)
{
    struct str escape = str_slice(f->text, f->at, 2);

    escape.n =
        f->at + 1 < f->text.n ? 1 + utf8_length_at(str_from_offset(f->text, f->at + 1)) : escape.n;
    COMPLAIN(f, f->at, "unknown escape '%.*s' in double quotes", STR_ARG(escape));
    diag_hint(f->diags, "use single quotes, or write '\\%.*s'", STR_ARG(escape));
    return true;
}

static bool explain_code(const struct fault *f)
{
    COMPLAIN(f, f->at, "%s",
             strstr(f->problem, "hexdecimal") ? "an escape lacks hexadecimal digits"
                                              : "an escape of a character that does not exist");
    diag_note(f->diags, find_fault_place(f, f->from), "the quoted text begins here");
    return true;
}

/* Text after a quoted text on its line. */
static bool explain_after_quote(const struct fault *f)
{
    const bool is_double = get_fault_char(f, f->last_start) == '"';

    if (!f->last_quoted || f->last_end > f->at || !same_line(f, f->last_end, f->at) ||
        f->at >= f->text.n)
        return false;
    if (same_line(f, f->last_start, f->last_end)) {
        COMPLAIN(f, f->at, "text after the closing quote");
        if (is_double)
            diag_hint(f->diags, "a quote inside double quotes is written '\\\"'");
        else
            diag_hint(f->diags, "an apostrophe inside single quotes is written \"''\"");
        return true;
    }
    COMPLAIN(f, f->last_start, "this quote is closed only on line %u, and text follows there",
             find_fault_place(f, f->last_end).line);
    diag_hint(f->diags, "is a closing quote missing on line %u?",
              find_fault_place(f, f->last_start).line);
    diag_note(f->diags, find_fault_place(f, f->at), "the text that follows");
    return true;
}

/* The ':' of a key at `offset` is not recognised. */
static void complain_long_key(const struct fault *f, size_t offset)
{
    COMPLAIN(f, offset, "a key is longer than %d characters or more than one line", KEY_MAX);
    diag_hint(f->diags, "write '? ' before it, and ': ' with its value on the next line");
}

/* --- brackets -------------------------------------------------------------------- */

/* The start of the bracket item whose ':' is at `offset`. */
static size_t key_in_bracket(const struct fault *f, size_t offset)
{
    size_t at = offset;

    while (at > 0 && !strchr(",{[\n", get_fault_char(f, at - 1)))
        at--;
    return at + yaml_text_indent(str_from_offset(f->text, at));
}

static bool explain_open_bracket(const struct fault *f)
{
    const char open = get_fault_char(f, f->from);
    const char close = open == '[' ? ']' : '}';

    if (open != '[' && open != '{')
        return false;
    if (!same_line(f, f->from, f->at) || f->at >= f->text.n) {
        COMPLAIN(f, f->from, "'%c' is never closed", open);
        diag_hint(f->diags, "close it with '%c'", close);
        if (f->at < f->text.n)
            diag_note(f->diags, find_fault_place(f, f->at), "this cannot be a part of it");
        return true;
    }
    if (get_fault_char(f, f->at) == ':' && f->at > key_in_bracket(f, f->at) + KEY_MAX) {
        complain_long_key(f, key_in_bracket(f, f->at));
        return true;
    }
    COMPLAIN(f, f->at, "expected ',' or '%c'", close);
    diag_note(f->diags, find_fault_place(f, f->from), "the %s begins here",
              open == '[' ? "list" : "map");
    return true;
}

static bool explain_missing_node(const struct fault *f)
{
    const char open = get_fault_char(f, f->open);
    const bool in_flow = open == '[' || open == '{';

    if (f->at >= f->text.n && in_flow) {
        COMPLAIN(f, f->open, "'%c' is never closed", open);
        diag_hint(f->diags, "close it with '%c'", open == '[' ? ']' : '}');
        return true;
    }
    if (f->at >= f->text.n) {
        COMPLAIN(f, f->at, "the text ends where a value is expected");
        return true;
    }
    COMPLAIN(f, f->at, "unexpected '%.*s' where a value is expected",
             STR_ARG(str_slice(f->text, f->at, utf8_length_at(str_from_offset(f->text, f->at)))));
    if (in_flow)
        diag_note(f->diags, find_fault_place(f, f->open), "the %s begins here",
                  open == '[' ? "list" : "map");
    else
        hint_quotes(f, rest_of_line(f, f->at));
    return true;
}

/* --- colons ---------------------------------------------------------------------- */

/* The last line before `offset` that is neither empty nor a comment; false when there is none. */
static bool line_before(const struct fault *f, size_t offset, struct str *ret_line,
                        size_t *ret_start)
{
    size_t start = offset;

    (void)yaml_text_line(f->text, offset, &start);
    while (start > 0) {
        struct str line = yaml_text_line(f->text, start - 1, &start);
        struct str content = str_trim(line);

        if (content.n > 0 && content.p[0] != '#') {
            *ret_line = line;
            *ret_start = start;
            return true;
        }
    }
    return false;
}

static bool has_colon(struct str line)
{
    return str_find(line, STR(": "), 0) != STR_NONE || str_ends(str_trim_right(line), STR(":"));
}

static void complain_no_colon(const struct fault *f, size_t offset)
{
    struct str key = cut_shown_text(rest_of_line(f, offset));

    COMPLAIN(f, offset, "missing ':' after '%.*s'", STR_ARG(key));
    diag_hint(f->diags, "a key is written 'key: value'");
}

/* The start of a line's key: after its indentation, and "- " of lists. */
static size_t key_of_line(struct str line)
{
    size_t at = yaml_text_indent(line);

    while (str_starts(str_from_offset(line, at), STR("- "))) {
        at += strlen("- ");
        at += yaml_text_indent(str_from_offset(line, at));
    }
    return at;
}

/* A second colon after a key and a value. */
static bool explain_second_colon(const struct fault *f)
{
    size_t start, colon, above_start;
    struct str line = yaml_text_line(f->text, f->at, &start);
    struct str above;

    colon = str_find(str_slice(line, 0, f->at - start), STR(": "), 0);
    if (colon != STR_NONE) {
        COMPLAIN(f, f->at, "': ' inside a value needs quotes");
        hint_quotes(f, rest_of_line(f, start + colon + 2));
        return true;
    }
    if (f->at - start > key_of_line(line) + KEY_MAX) {
        complain_long_key(f, start + key_of_line(line));
        return true;
    }
    if (!line_before(f, f->at, &above, &above_start))
        return false;
    if (!has_colon(above)) {
        complain_no_colon(f, above_start + yaml_text_indent(above));
        return true;
    }
    if (yaml_text_indent(line) <= yaml_text_indent(above))
        return false;
    COMPLAIN(f, start + yaml_text_indent(line), "bad indentation: a key below a value");
    diag_hint(f->diags, "begin it at column %zu, or remove the value above",
              yaml_text_indent(above) + 1);
    diag_note(f->diags, find_fault_place(f, above_start + yaml_text_indent(above)),
              "this key has its value already");
    return true;
}

/* A line that should be a key, without ": ". */
static bool explain_no_colon(const struct fault *f)
{
    struct str rest = rest_of_line(f, f->from);
    size_t colon = str_find_char(rest, ':', 0);

    if (has_colon(rest)) {
        complain_long_key(f, f->from);
        return true;
    }
    if (colon == STR_NONE || str_starts(str_from_offset(rest, colon), STR("://"))) {
        complain_no_colon(f, f->from);
        return true;
    }
    COMPLAIN(f, f->from + colon, "missing space after ':'");
    diag_hint(f->diags, "write '%.*s: %.*s'", STR_ARG(cut_shown_text(str_slice(rest, 0, colon))),
              STR_ARG(cut_shown_text(str_from_offset(rest, colon + 1))));
    return true;
}

/* --- blocks ---------------------------------------------------------------------- */

static bool explain_entry(const struct fault *f)
{
    if (get_fault_char(f, f->at) != '-')
        return false;
    COMPLAIN(f, f->at, "a list cannot begin on the line of its key");
    diag_hint(f->diags, "put each '- item' on its own line, or quote the text");
    return true;
}

static bool explain_mixed(const struct fault *f, bool in_list)
{
    if (in_list) {
        COMPLAIN(f, f->at, "a key among the items of a list");
        diag_hint(f->diags, "begin it with '- ', or indent it below an item");
    } else if (get_fault_char(f, f->at) == '-') {
        COMPLAIN(f, f->at, "a list item among the keys of a map");
        diag_hint(f->diags, "indent the list below its key, or give it its own key");
    } else if (get_fault_char(f, f->at) == ':') {
        COMPLAIN(f, f->at, "a key is missing before ':'");
    } else {
        return false;
    }
    diag_note(f->diags, find_fault_place(f, f->from), "the %s begins here",
              in_list ? "list" : "map");
    return true;
}

/* The line at `at` fits neither the block at `from` nor the line above it. */
static void explain_indent(const struct fault *f, struct place at, struct place from)
{
    struct str above;
    size_t start, column;

    COMPLAIN(f, f->at, "bad indentation: this line begins at column %u", at.column);
    if (!line_before(f, f->at, &above, &start))
        return;
    column = yaml_text_indent(above) + 1;
    if (column > from.column)
        diag_hint(f->diags, "begin it at column %zu, like line %u, or at column %u, like line %u",
                  column, find_fault_place(f, start).line, from.column, from.line);
    else
        diag_hint(f->diags, "begin it at column %u, like line %u", from.column, from.line);
}

/* Neither the next key or item of a block, nor its end. */
static bool explain_block(const struct fault *f)
{
    const bool in_list = strstr(f->context, "collection") != NULL;
    const struct place at = find_fault_place(f, f->at);
    const struct place from = find_fault_place(f, f->from);

    if (explain_after_quote(f))
        return true;
    if (!is_first(f, f->at)) {
        COMPLAIN(f, f->at, "unexpected '%.*s' after a value",
                 STR_ARG(cut_shown_text(rest_of_line(f, f->at))));
        return true;
    }
    if (at.column == from.column)
        return explain_mixed(f, in_list);
    explain_indent(f, at, from);
    diag_note(f->diags, from, "the %s begins here", in_list ? "list" : "map");
    return true;
}

/* The first line that is neither empty nor a comment. */
static struct str first_line(const struct fault *f, size_t *ret_start)
{
    struct str rest = f->text;

    while (rest.p) {
        struct str line = str_cut(&rest, '\n');
        struct str content = str_trim(line);

        *ret_start = (size_t)(line.p - f->text.p);
        if (content.n > 0 && content.p[0] != '#')
            return line;
    }
    return f->text;
}

static bool explain_document(const struct fault *f)
{
    size_t start = 0;
    struct str first = first_line(f, &start);

    if (is_first(f, f->at) && f->at - start > first.n &&
        find_fault_place(f, f->at).column <= yaml_text_indent(first)) {
        COMPLAIN(f, f->at, "bad indentation: this line begins before the first one");
        diag_note(f->diags, find_fault_place(f, start + yaml_text_indent(first)),
                  "the document begins here");
        return true;
    }
    COMPLAIN(f, f->at, "unexpected text after the end of a value");
    return true;
}

/* --- all of them ------------------------------------------------------------------ */

/* By libyaml's message; the first matching row with an answer wins. An empty text matches all. */
/* clang-format off */
static const struct {
    const char *problem, *context;
    bool with_context; /* needs the start of the broken thing */
    bool (*explain)(const struct fault *f);
} rules[] = {
    { "",                                           "",               false, explain_braces },
    { "found character that cannot start any token", "",              false, explain_tab },
    { "found a tab character",                      "",               false, explain_tab },
    { "found character that cannot start any token", "",              false, explain_character },
    { "mapping values are not allowed",             "",               false, explain_second_colon },
    { "could not find expected ':'",                "simple key",     true,  explain_no_colon },
    { "found unexpected end of stream",             "quoted scalar",  true,  explain_open_quote },
    { "found unexpected document indicator",        "quoted scalar",  true,  explain_open_quote },
    { "found unknown escape character",             "",               true,  explain_escape },
    { "did not find expected hexdecimal number",    "",               true,  explain_code },
    { "found invalid Unicode character escape",     "",               true,  explain_code },
    { "did not find expected ',' or",               "flow",           true,  explain_open_bracket },
    { "did not find expected node content",         "",               false, explain_missing_node },
    { "block sequence entries are not allowed",     "",               false, explain_entry },
    { "did not find expected key",                  "block mapping",  true,  explain_block },
    { "did not find expected '-' indicator",        "block collection", true, explain_block },
    { "did not find expected alphabetic",           "",               true,  explain_name },
    { "found undefined tag handle",                 "",               false, explain_tag_handle },
    { "did not find expected comment or line break", "block scalar",  true,  explain_block_header },
    { "found unknown directive name",               "directive",      true,  explain_directive },
    { "did not find expected <document start>",     "",               false, explain_document },
};
/* clang-format on */

static void explain_yaml_error(const struct fault *f)
{
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        if (!str_starts(str_from(f->problem), str_from(rules[i].problem)) ||
            !strstr(f->context, rules[i].context) || (rules[i].with_context && f->from == STR_NONE))
            continue;
        if (rules[i].explain(f))
            return;
    }
    COMPLAIN(f, f->at, "%s%s%s", f->problem, f->context[0] ? " " : "", f->context);
    if (f->from != STR_NONE && f->from != f->at)
        diag_note(f->diags, find_fault_place(f, f->from), "it began here");
}

/* The mistake of a line may have been reported already. */
static bool is_told(const struct fault *f)
{
    const struct diags *diags = f->diags;
    const char *file = diags->list.n > 0 ? diags->list.p[diags->list.n - 1].at.file : NULL;

    return diags->list.n > 0 && file == f->file &&
           diags->list.p[diags->list.n - 1].at.line == find_fault_place(f, f->at).line;
}

void yaml_error_explain(const struct yaml_parser_s *parser, const char *file, struct str text,
                        const struct yaml_last *last, struct diags *diags)
{
    struct fault f = {
        .file = file,
        .text = text,
        .at = utf8_offset(text, parser->problem_mark.index),
        .from = STR_NONE,
        .open = STR_NONE,
        .problem = parser->problem ? parser->problem : "out of memory",
        .context = parser->context ? parser->context : "",
        .last_start = utf8_offset(text, last->start),
        .last_end = utf8_offset(text, last->end),
        .last_quoted = last->quoted,
        .diags = diags,
    };

    if (parser->error == YAML_READER_ERROR)
        f.at = parser->problem_offset < text.n ? parser->problem_offset : text.n;
    else if (parser->context)
        f.from = utf8_offset(text, parser->context_mark.index);
    if (parser->marks.top > parser->marks.start)
        f.open = utf8_offset(text, parser->marks.top[-1].index);
    if (!is_told(&f))
        explain_yaml_error(&f);
}
