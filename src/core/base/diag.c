#include "core/base/diag.h"

#include <stdarg.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/redact.h"
#include "core/base/utf8.h"

/* Longer source lines are cut around the caret. */
#define SOURCE_COLUMNS 100
/* A line of mistakes takes no further one above this length. */
#define LINE_FULL_BYTES 300

/* The file name may be freed before the list is printed. */
static struct place keep_place(struct diags *diags, struct place at)
{
    if (at.file)
        at.file = arena_strdup(diags->arena, at.file);
    return at;
}

static bool is_repeated_diag(const struct diags *diags, struct place at, const char *text)
{
    VEC_EACH (&diags->list, known)
        if (at.line > 0 && known->at.line == at.line && known->at.column == at.column &&
            strcmp(known->text, text) == 0 && at.file && known->at.file &&
            strcmp(known->at.file, at.file) == 0)
            return true;
    return false;
}

int diag_add(struct diags *diags, struct place at, const char *fmt, ...)
{
    struct diag diag = { 0 };
    va_list args;

    diags->mute = diags->list.n >= DIAGS_MAX;
    if (diags->mute) {
        diags->dropped++;
        return -1;
    }
    va_start(args, fmt);
    diag.text = arena_vprintf(diags->arena, fmt, args);
    va_end(args);
    if (is_repeated_diag(diags, at, diag.text)) {
        diags->mute = true;
        diags->repeated++;
        return -1;
    }
    diag.at = keep_place(diags, at);
    VEC_PUSH_IN(diags->arena, &diags->list, diag);
    return -1;
}

/* The entry that hints and notes belong to; NULL when it was dropped. */
static struct diag *get_newest_diag(struct diags *diags)
{
    if (diags->list.n == 0 || diags->mute)
        return NULL;
    return &diags->list.p[diags->list.n - 1];
}

void diag_hint(struct diags *diags, const char *fmt, ...)
{
    struct diag *diag = get_newest_diag(diags);
    va_list args;

    if (!diag)
        return;
    va_start(args, fmt);
    diag->hint = arena_vprintf(diags->arena, fmt, args);
    va_end(args);
}

struct str diag_line(struct arena *arena, struct str text, uint32_t line)
{
    size_t at = 0;

    for (uint32_t i = 1; i < line; i++) {
        at = str_find_char(text, '\n', at);
        if (at == STR_NONE)
            return (struct str){ NULL, 0 };
        at++;
    }
    return redact_line(arena, text, at);
}

void diag_source(struct diags *diags, struct str text)
{
    struct diag *diag = get_newest_diag(diags);

    if (diag && diag->at.line > 0)
        diag->source = diag_line(diags->arena, text, diag->at.line);
}

void diag_note(struct diags *diags, struct place at, const char *fmt, ...)
{
    struct diag *diag = get_newest_diag(diags);
    struct diag_note note = { 0 };
    va_list args;

    if (!diag)
        return;
    note.at = keep_place(diags, at);
    va_start(args, fmt);
    note.text = arena_vprintf(diags->arena, fmt, args);
    va_end(args);
    VEC_PUSH_IN(diags->arena, &diag->notes, note);
}

int diag_err(struct diags *diags, struct place at, const struct err *err)
{
    return diag_add(diags, at, "%s", err->text);
}

size_t diags_count(const struct diags *diags)
{
    return diags->list.n + diags->dropped + diags->repeated;
}

/* Only within one file; entries of different files keep their order. */
static bool is_later_diag(const struct diag *a, const struct diag *b)
{
    if (!a->at.file || !b->at.file || strcmp(a->at.file, b->at.file) != 0)
        return false;
    return a->at.line > b->at.line || (a->at.line == b->at.line && a->at.column > b->at.column);
}

void diags_sort(struct diags *diags, size_t from)
{
    struct diag *list = diags->list.p;

    for (size_t i = from + 1; i < diags->list.n; i++) {
        struct diag one = list[i];
        size_t k = i;

        for (; k > from && is_later_diag(&list[k - 1], &one); k--)
            list[k] = list[k - 1];
        list[k] = one;
    }
}

void place_print(struct place at, struct buf *out)
{
    if (at.file)
        buf_add_text(out, at.file);
    if (at.line > 0)
        buf_printf(out, "%s%u", at.file ? ":" : "line ", at.line);
    if (at.line > 0 && at.column > 0)
        buf_printf(out, ":%u", at.column);
}

static void print_place_and_colon(struct place at, struct buf *out)
{
    size_t before = out->n;

    place_print(at, out);
    if (out->n > before)
        buf_add_text(out, ": ");
}

/* The source line and a caret below the column. Tabs, control characters and invalid UTF-8 become
 * one blank each, so that the caret lines up. */
static void print_source(const struct diag *diag, struct buf *out)
{
    size_t column = diag->at.column > 0 ? diag->at.column : 1;
    size_t first = column > SOURCE_COLUMNS - 20 ? column - (SOURCE_COLUMNS - 20) : 0;
    struct str rest = diag->source;
    size_t shown = 0;

    buf_printf(out, "%5u | ", diag->at.line);
    for (size_t i = 0; rest.n > 0 && shown < SOURCE_COLUMNS; i++) {
        size_t n = utf8_length_at(rest);

        if (i >= first) {
            if (utf8_is_control(str_slice(rest, 0, n)))
                buf_add_char(out, ' ');
            else
                buf_add(out, rest.p, n);
            shown++;
        }
        rest = str_from_offset(rest, n);
    }
    buf_add_text(out, "\n      | ");
    buf_fill(out, ' ', column - 1 - first);
    buf_add_text(out, "^\n");
}

static void print_single_diag(const struct diag *diag, struct buf *out)
{
    print_place_and_colon(diag->at, out);
    buf_printf(out, "%s\n", diag->text);
    if (diag->source.p)
        print_source(diag, out);
    if (diag->hint)
        buf_printf(out, "      = %s\n", diag->hint);
    VEC_EACH (&diag->notes, note) {
        print_place_and_colon(note->at, out);
        buf_printf(out, "note: %s\n", note->text);
    }
}

void diags_print(const struct diags *diags, struct buf *out)
{
    VEC_EACH (&diags->list, diag)
        print_single_diag(diag, out);
    if (diags->dropped > 0)
        buf_printf(out, "and %zu more\n", diags->dropped);
}

/* "file:line:column: text (hint)" */
static void print_in_line(const struct diag *diag, struct buf *out)
{
    print_place_and_colon(diag->at, out);
    buf_add_text(out, diag->text);
    if (diag->hint)
        buf_printf(out, " (%s)", diag->hint);
}

int diags_to_err(const struct diags *diags, struct err *err)
{
    AUTO_BUF struct buf line = BUF_INIT(ERR_TEXT_SIZE);
    size_t shown = 0;

    if (diags->list.n == 0)
        return err_set(err, ERR_INVALID, "invalid input");
    while (shown < diags->list.n && (shown == 0 || line.n < LINE_FULL_BYTES)) {
        if (shown > 0)
            buf_add_text(&line, "; ");
        print_in_line(&diags->list.p[shown++], &line);
    }
    if (diags_count(diags) > shown)
        buf_printf(&line, " (and %zu more)", diags_count(diags) - shown);
    return err_set(err, ERR_INVALID, "%s", buf_text(&line));
}
