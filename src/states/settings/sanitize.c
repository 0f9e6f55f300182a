#include "states/settings/sanitize.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/data/shebang.h"
#include "core/data/yaml.h"
#include "core/data/yaml_spans.h"
#include "language/jinja/lex.h"
#include "states/settings/placeholder.h"
#include "states/settings/secret_ref.h"

#define BYTE_ORDER_MARK STR("\xef\xbb\xbf")
/* Replaces a byte of an expression; has no meaning in YAML. */
#define FILLER 'x'

const char *const sanitize_tags[] = { SANITIZE_ENCRYPTED, SANITIZE_SECRET_FROM, NULL };

/* --- template tags -------------------------------------------------------------------- */

/* Is there nothing but blanks around these bytes of the line? */
static bool is_alone_on_line(struct str text, size_t start, size_t end)
{
    while (start > 0 && (text.p[start - 1] == ' ' || text.p[start - 1] == '\t'))
        start--;
    while (end < text.n && (text.p[end] == ' ' || text.p[end] == '\t' || text.p[end] == '\r'))
        end++;
    return (start == 0 || text.p[start - 1] == '\n') && (end == text.n || text.p[end] == '\n');
}

/* An expression becomes a word, unless it is alone in its line. */
static void fill_expression(struct str text, char *blank, size_t start, size_t end)
{
    const char filler = is_alone_on_line(text, start, end) ? ' ' : FILLER;

    for (size_t i = start; i < end; i++)
        blank[i] = text.p[i] == '\n' ? '\n' : filler;
}

/* Blank out template syntax, byte by byte. */
static int blank_tags(struct arena *arena, struct str text, struct str *ret, struct err *err)
{
    struct lex *lex = ARENA_NEW(arena, struct lex);
    char *blank = arena_alloc(arena, text.n + 1);
    size_t begin = 0;
    struct lex_token token;

    for (size_t i = 0; i < text.n; i++)
        blank[i] = text.p[i] == '\n' ? '\n' : ' ';
    blank[text.n] = '\0';
    lex_init(lex, text, false, false);
    while ((token = lex_next(lex)).kind != TOKEN_EOF) {
        if (token.kind == TOKEN_ERROR)
            return err_set(err, ERR_INVALID, "invalid template tag");
        if (token.kind == TOKEN_DATA)
            memcpy(blank + (token.text.p - text.p), token.text.p, token.text.n);
        else if (token.kind == TOKEN_VARIABLE_BEGIN)
            begin = token.at;
        else if (token.kind == TOKEN_VARIABLE_END)
            fill_expression(text, blank, begin, lex->pos);
    }
    if (lex->state != LEX_DATA)
        return err_set(err, ERR_INVALID, "unterminated template tag");
    *ret = (struct str){ blank, text.n };
    return 0;
}

/* --- secrets -------------------------------------------------------------------------- */

struct sanitizer {
    struct arena *arena;
    const char *path;
    struct str text, blank; /* as written, and without its template tags */
    struct map names;
    struct buf out;
    size_t copied; /* bytes of the text that are in `out`, or replaced there */
    struct sanitized *ret;
};

/* Branches of a template may have one path each. */
static const char *choose_placeholder_name(struct sanitizer *self, const struct yaml_span *span)
{
    AUTO_BUF struct buf name = BUF_INIT(BUF_NO_LIMIT);
    struct str plain;

    placeholder_add_name(&name, str_from(self->path));
    buf_add_char(&name, ':');
    placeholder_add_name(&name, str_from(span->path));
    plain = buf_copy(&name, self->arena);
    for (unsigned i = 2; map_has(&self->names, buf_view(&name)); i++) {
        buf_clear(&name);
        buf_printf(&name, "%s~%u", plain.p, i);
    }
    plain = buf_copy(&name, self->arena);
    (void)map_set(&self->names, plain, self);
    return plain.p;
}

static int check_span(const struct sanitizer *self, const struct yaml_span *span, struct err *err)
{
    const bool is_reference = strcmp(span->tag, SANITIZE_SECRET_FROM) == 0;
    const size_t size = span->end - span->start;
    struct secret_ref ref;

    if (!span->is_value)
        return err_set(err, ERR_INVALID, "line %u: %s is for single values", span->line, span->tag);
    if (memcmp(self->text.p + span->start, self->blank.p + span->start, size) != 0)
        return err_set(err, ERR_INVALID, "line %u: a template tag in a value that is %s",
                       span->line, is_reference ? "got from a secret back-end" : "encrypted");
    if (is_reference && secret_ref_parse(span->value, &ref, err) < 0)
        return err_wrap(err, "line %u: " SANITIZE_SECRET_FROM, span->line);
    return 0;
}

/* A value of several lines is replaced by empty lines, so that line numbers stay correct. */
static void keep_span_lines(struct sanitizer *self, const struct yaml_span *span)
{
    for (size_t i = span->start; i < span->end; i++)
        if (self->text.p[i] == '\n')
            buf_add_char(&self->out, '\n');
}

static int replace_span(struct sanitizer *self, const struct yaml_span *span, struct err *err)
{
    const char *name;

    if (check_span(self, span, err) < 0)
        return -1;
    name = choose_placeholder_name(self, span);
    buf_add_str(&self->out, str_slice(self->text, self->copied, span->start - self->copied));
    if (span->anchor)
        buf_printf(&self->out, "&%s ", span->anchor);
    buf_printf(&self->out, "'" PLACEHOLDER_BEGIN "%s" PLACEHOLDER_END "'", name);
    keep_span_lines(self, span);
    self->copied = span->end;
    VEC_PUSH_IN(
        self->arena, &self->ret->secrets,
        (struct sanitize_secret){ .name = name,
                                  .text = span->value,
                                  .is_reference = strcmp(span->tag, SANITIZE_SECRET_FROM) == 0 });
    return 0;
}

static uint32_t find_line_number(struct str text, size_t at)
{
    uint32_t line = 1;

    for (size_t i = 0; i < at; i++)
        line += text.p[i] == '\n';
    return line;
}

static int replace_secret_spans(struct sanitizer *self, struct err *err)
{
    struct yaml_spans spans;
    size_t left;

    if (yaml_find_tagged(self->arena, self->blank, sanitize_tags, &spans, err) < 0)
        return err_wrap(err, "without its template tags");
    VEC_EACH (&spans.list, span)
        if (replace_span(self, span, err) < 0)
            return -1;
    buf_add_str(&self->out, str_from_offset(self->text, self->copied));
    left = str_find(buf_view(&self->out), STR(SANITIZE_ENCRYPTED), 0);
    if (left != STR_NONE)
        return err_set(err, ERR_INVALID,
                       "line %u: " SANITIZE_ENCRYPTED " in a comment or a template tag",
                       find_line_number(buf_view(&self->out), left));
    self->ret->text = buf_copy(&self->out, self->arena);
    return 0;
}

static bool is_template(struct arena *arena, const char *path, struct str text)
{
    struct diags ignored = DIAGS_INIT(arena);
    bool wanted = true;

    return shebang_read(path, text, &wanted, &ignored) < 0 || wanted;
}

int sanitize_settings(struct arena *arena, const char *path, struct str text, struct sanitized *ret,
                      struct err *err)
{
    struct sanitizer self = { arena, path, .names = MAP_INIT_IN(arena), .ret = ret };
    int result;

    *ret = (struct sanitized){ .text = text };
    if (!text.p || (str_find(text, STR(SANITIZE_ENCRYPTED), 0) == STR_NONE &&
                    str_find(text, STR(SANITIZE_SECRET_FROM), 0) == STR_NONE))
        return 0;
    if (str_starts(text, BYTE_ORDER_MARK))
        text = str_from_offset(text, BYTE_ORDER_MARK.n);
    self.text = self.blank = text;
    if (text.n > YAML_SIZE_MAX)
        return err_set(err, ERR_LIMIT, "more than %zu bytes", YAML_SIZE_MAX);
    if (is_template(arena, path, text) && blank_tags(arena, text, &self.blank, err) < 0)
        return -1;
    self.out = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    result = replace_secret_spans(&self, err);
    buf_done(&self.out);
    return result;
}
