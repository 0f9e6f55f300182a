/*
 * A row is a line with something on it. Rows put items into a queue: the ends of
 * the levels that a row is left of, the beginnings of those it opens, its key and
 * its value. A key or a dash with nothing behind it awaits a value: the next row, if
 * that is further to the right, or else an empty one.
 *
 * Columns of levels are bytes, since only blanks and dashes are before them; columns
 * of items are characters.
 */
#include "core/data/yaml_block.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/utf8.h"
#include "core/data/yaml_text.h"

/* A longer key, with the text before its colon, is an error to libyaml (1,024 characters). */
#define KEY_MAX 1000
/* Letters after a backslash and their characters; libyaml knows more. */
#define ESCAPES "n\nt\tr\r\"\"\\\\"
/* Characters that end plain text in brackets, or have another meaning there. */
#define FLOW_INDICATORS ",[]{}?#\t"
/* Characters that cannot begin plain text. A dash can, unless a blank follows. */
#define INDICATORS "?:,[]{}#&*!|>'\"%@` \t"

void yaml_block_init(struct yaml_block *block, struct arena *arena, struct str text)
{
    block->arena = arena;
    block->text = text;
    block->next = 0;
    block->row = (struct str){ text.p, 0 };
    block->line = UINT32_MAX; /* the first row is line 0 */
    block->ended = block->marked = block->awaits = false;
    block->depth = block->first = 0;
    block->items[0] = (struct yaml_block_item){ .type = YAML_STREAM_START_EVENT };
    block->items[1] = (struct yaml_block_item){ .type = YAML_DOCUMENT_START_EVENT };
    block->count = 2;
}

/* --- items -------------------------------------------------------------------------- */

/* The column of byte `at` of the row. */
static uint32_t get_column_at(const struct yaml_block *block, size_t at)
{
    return (uint32_t)utf8_count(str_slice(block->row, 0, at));
}

static void put_item(struct yaml_block *block, struct yaml_block_item item)
{
    block->items[block->count++] = item;
}

static struct yaml_block_item make_item(const struct yaml_block *block, yaml_event_type_t type,
                                        size_t at)
{
    return (struct yaml_block_item){ .type = type,
                                     .style = YAML_PLAIN_SCALAR_STYLE,
                                     .text = { "", 0 },
                                     .line = block->line,
                                     .column = get_column_at(block, at) };
}

static struct yaml_block_level *top_level(struct yaml_block *block)
{
    return &block->levels[block->depth - 1];
}

static bool open_block_level(struct yaml_block *block, size_t column, bool is_list, bool hangs)
{
    if (block->depth == YAML_BLOCK_DEPTH_MAX)
        return false;
    block->levels[block->depth++] = (struct yaml_block_level){ column, is_list, hangs };
    put_item(block, make_item(block, is_list ? YAML_SEQUENCE_START_EVENT : YAML_MAPPING_START_EVENT,
                              column));
    return true;
}

static void close_block_level(struct yaml_block *block)
{
    const bool is_list = top_level(block)->is_list;

    block->depth--;
    put_item(block, (struct yaml_block_item){ .type = is_list ? YAML_SEQUENCE_END_EVENT
                                                              : YAML_MAPPING_END_EVENT,
                                              .line = block->line });
}

/* The value of the key or dash that ends before `at` is on a later row, or empty. */
static void await_value(struct yaml_block *block, size_t at)
{
    block->awaits = true;
    block->empty = make_item(block, YAML_SCALAR_EVENT, at);
}

/* --- rows --------------------------------------------------------------------------- */

/* The row at offset `from`, and the start of the next one. */
static struct str read_row_at(const struct yaml_block *block, size_t from, size_t *ret_next)
{
    const char *start = block->text.p + from;
    const size_t left = block->text.n - from;
    const char *end = memchr(start, '\n', left);
    const size_t n = end ? (size_t)(end - start) : left;

    *ret_next = from + n + (end ? 1 : 0);
    return (struct str){ start, n };
}

/* Go to the next row that is neither blank nor a comment; false at the end. */
static bool find_content_row(struct yaml_block *block)
{
    while (block->next < block->text.n) {
        block->row = read_row_at(block, block->next, &block->next);
        block->line++;
        block->at = yaml_text_indent(block->row);
        if (block->at < block->row.n && block->row.p[block->at] != '#')
            return true;
    }
    return false;
}

/* Is there a blank, or nothing, at `at`? */
static bool is_gap(struct str row, size_t at)
{
    return at >= row.n || row.p[at] == ' ';
}

static bool is_char(const struct yaml_block *block, char c)
{
    return block->at < block->row.n && block->row.p[block->at] == c;
}

static bool is_entry(const struct yaml_block *block)
{
    return is_char(block, '-') && is_gap(block->row, block->at + 1);
}

static bool is_colon(const struct yaml_block *block)
{
    return is_char(block, ':') && is_gap(block->row, block->at + 1);
}

static void skip_row_blanks(struct yaml_block *block)
{
    while (is_char(block, ' '))
        block->at++;
}

/* Skip blanks; is the rest of the row empty or a comment? */
static bool is_rest_empty(struct yaml_block *block)
{
    skip_row_blanks(block);
    return block->at == block->row.n ||
           (is_char(block, '#') && block->at > 0 && block->row.p[block->at - 1] == ' ');
}

/* --- text --------------------------------------------------------------------------- */

/* Up to a comment, a colon with a blank, or the end of the row. */
static bool scan_plain(struct yaml_block *block, struct yaml_block_item *item)
{
    const struct str row = block->row;
    size_t start = block->at, end = start, at = start;

    if (strchr(INDICATORS, row.p[start]))
        return false;
    for (; at < row.n; at++) {
        const char c = row.p[at];

        if (c == ' ')
            continue;
        if (c == '\t')
            return false;
        if ((c == ':' && is_gap(row, at + 1)) || (c == '#' && row.p[at - 1] == ' '))
            break;
        end = at + 1;
    }
    item->text = str_slice(row, start, end - start);
    block->at = at;
    return true;
}

/* The character for a backslash and `c`; NUL: not known here. */
static char get_escaped_char(char c)
{
    for (const char *pair = ESCAPES; *pair; pair += 2)
        if (*pair == c)
            return pair[1];
    return '\0';
}

/* The text between quotes, which has escapes. */
static bool unescape_quoted(struct yaml_block *block, struct str raw, char quote,
                            struct yaml_block_item *item)
{
    char *out = arena_alloc(block->arena, raw.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < raw.n; i++) {
        const bool is_escape = raw.p[i] == (quote == '"' ? '\\' : '\'');

        out[n] = raw.p[i];
        if (is_escape) /* there is a character after it */
            out[n] = quote == '"' ? get_escaped_char(raw.p[++i]) : raw.p[++i];
        if (out[n++] == '\0')
            return false;
    }
    out[n] = '\0';
    item->text = (struct str){ out, n };
    item->kept = true;
    return true;
}

static bool scan_quoted(struct yaml_block *block, char quote, struct yaml_block_item *item)
{
    const struct str row = block->row;
    const size_t start = block->at + 1;
    bool has_escapes = false;
    size_t at = start;

    for (; at < row.n; at++) {
        const bool is_pair = quote == '"'
                                 ? row.p[at] == '\\'
                                 : row.p[at] == quote && at + 1 < row.n && row.p[at + 1] == quote;

        if (!is_pair && row.p[at] == quote)
            break;
        has_escapes = has_escapes || is_pair;
        at += is_pair ? 1 : 0;
    }
    if (at >= row.n) /* it ends on another line */
        return false;
    item->style = quote == '"' ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_SINGLE_QUOTED_SCALAR_STYLE;
    item->text = str_slice(row, start, at - start);
    block->at = at + 1;
    return !has_escapes || unescape_quoted(block, item->text, quote, item);
}

/* Text that ends on its row. A colon, a comment, or nothing follows. */
static bool scan_text(struct yaml_block *block, struct yaml_block_item *item)
{
    const char c = block->row.p[block->at];

    *item = make_item(block, YAML_SCALAR_EVENT, block->at);
    if (c == '\'' || c == '"') {
        if (!scan_quoted(block, c, item))
            return false;
        skip_row_blanks(block);
        return true;
    }
    return scan_plain(block, item);
}

/* --- brackets -------------------------------------------------------------------------- */

/* As scan_plain, up to a comma, a bracket, or a colon with a blank. */
static bool scan_flow_plain(struct yaml_block *block, struct yaml_block_item *item)
{
    const struct str row = block->row;
    size_t start = block->at, end = start, at = start;

    if (strchr(INDICATORS "-", row.p[start]))
        return false;
    for (; at < row.n && !strchr(",]}", row.p[at]); at++) {
        const char c = row.p[at], next = at + 1 < row.n ? row.p[at + 1] : ' ';

        if (c == ':' && next == ' ')
            break;
        if (strchr(FLOW_INDICATORS, c) || (c == ':' && strchr(FLOW_INDICATORS, next)))
            return false;
        end = c == ' ' ? end : at + 1;
    }
    item->text = str_slice(row, start, end - start);
    block->at = at;
    return true;
}

static bool is_flow(const struct yaml_block *block)
{
    return is_char(block, '[') || is_char(block, '{');
}

/* Refused when there are too many of them. */
static bool put_flow(struct yaml_block *block, struct yaml_block_item item)
{
    if (block->count == YAML_BLOCK_ITEMS_MAX)
        return false;
    put_item(block, item);
    return true;
}

static bool read_flow_text(struct yaml_block *block)
{
    const char c = block->at < block->row.n ? block->row.p[block->at] : ' ';
    struct yaml_block_item item = make_item(block, YAML_SCALAR_EVENT, block->at);

    if (c == '\'' || c == '"' ? !scan_quoted(block, c, &item) : !scan_flow_plain(block, &item))
        return false;
    return put_flow(block, item);
}

static bool read_flow(struct yaml_block *block);

/* An item of a list, or a pair of a map, and the blanks after it. */
static bool read_flow_entry(struct yaml_block *block, bool is_map)
{
    if (is_map) {
        if (!read_flow_text(block))
            return false;
        skip_row_blanks(block);
        if (!is_colon(block) || block->at > KEY_MAX)
            return false;
        block->at++;
        skip_row_blanks(block);
    }
    if (!(is_flow(block) ? read_flow(block) : read_flow_text(block)))
        return false;
    skip_row_blanks(block);
    return true;
}

/* At a '[' or '{', up to its end on this row. */
static bool read_flow(struct yaml_block *block)
{
    const bool is_map = is_char(block, '{');
    const char end = is_map ? '}' : ']';
    bool more;

    if (!put_flow(block,
                  make_item(block, is_map ? YAML_MAPPING_START_EVENT : YAML_SEQUENCE_START_EVENT,
                            block->at++)))
        return false;
    skip_row_blanks(block);
    for (more = !is_char(block, end); more;) {
        if (!read_flow_entry(block, is_map))
            return false;
        more = is_char(block, ',');
        if (more)
            block->at++;
        skip_row_blanks(block);
    }
    return is_char(block, end) && block->at++ < block->row.n &&
           put_flow(block, (struct yaml_block_item){ .type = is_map ? YAML_MAPPING_END_EVENT
                                                                    : YAML_SEQUENCE_END_EVENT,
                                                     .line = block->line });
}

/* --- literal blocks ------------------------------------------------------------------ */

struct literal {
    size_t first;  /* offset of its first row */
    size_t indent; /* indentation of all its rows */
    char chomping; /* '-', '+', or another */
};

/* Its indentation is that of its first row with text; earlier rows may not have more blanks. */
static bool find_indent(const struct yaml_block *block, struct literal *literal)
{
    size_t blanks = 0;

    for (size_t at = literal->first; at < block->text.n;) {
        const struct str row = read_row_at(block, at, &at);

        literal->indent = yaml_text_indent(row);
        if (literal->indent < row.n)
            return row.p[literal->indent] != '\t' && literal->indent > 0 &&
                   literal->indent >= blanks;
        if (literal->indent > blanks)
            blanks = literal->indent;
    }
    return false;
}

struct literal_end {
    size_t size; /* size of the text */
    size_t next; /* offset of the row after it */
    uint32_t rows;
    bool has_tab; /* where blanks should be */
};

static void put_breaks(char *out, size_t *size, size_t count)
{
    if (out)
        memset(out + *size, '\n', count);
    *size += count;
}

/* Copy the block to `out`, or only measure it when that is NULL. Line ends are written before the
 * next row, since chomping decides about the last ones. */
static struct literal_end copy_literal(const struct yaml_block *block,
                                       const struct literal *literal, char *out)
{
    struct literal_end end = { .next = literal->first };
    size_t breaks = 0;

    for (size_t next; end.next < block->text.n; end.next = next, end.rows++) {
        const struct str row = read_row_at(block, end.next, &next);
        const size_t blanks = yaml_text_indent(str_slice(row, 0, literal->indent));
        const size_t has_break = next - end.next - row.n;

        if (blanks == row.n) {
            breaks += has_break;
            continue;
        }
        end.has_tab = blanks < literal->indent && row.p[blanks] == '\t';
        if (blanks < literal->indent)
            break;
        put_breaks(out, &end.size, breaks);
        if (out)
            memcpy(out + end.size, row.p + blanks, row.n - blanks);
        end.size += row.n - blanks;
        breaks = has_break;
    }
    if (literal->chomping != '-')
        put_breaks(out, &end.size, literal->chomping == '+' || breaks == 0 ? breaks : 1);
    return end;
}

/* At a '|'. */
static bool scan_literal(struct yaml_block *block, struct yaml_block_item *item)
{
    struct literal literal = { .first = block->next };
    struct literal_end end;
    char *out;

    *item = make_item(block, YAML_SCALAR_EVENT, block->at++);
    if (is_char(block, '-') || is_char(block, '+'))
        literal.chomping = block->row.p[block->at++];
    if (!is_rest_empty(block) || !find_indent(block, &literal) ||
        literal.indent <= top_level(block)->column)
        return false;
    end = copy_literal(block, &literal, NULL);
    out = arena_alloc(block->arena, end.size + 1);
    (void)copy_literal(block, &literal, out);
    out[end.size] = '\0';
    item->style = YAML_LITERAL_SCALAR_STYLE;
    item->text = (struct str){ out, end.size };
    item->kept = true;
    block->next = end.next;
    block->line += end.rows;
    return !end.has_tab;
}

/* --- maps and lists ------------------------------------------------------------------ */

/* After a key, at its colon. */
static bool read_block_value(struct yaml_block *block)
{
    struct yaml_block_item item;
    const size_t after = ++block->at;

    if (after > KEY_MAX)
        return false;
    if (is_rest_empty(block)) {
        await_value(block, after);
        return true;
    }
    if (is_flow(block))
        return read_flow(block) && is_rest_empty(block);
    if (is_char(block, '|')) {
        if (!scan_literal(block, &item))
            return false;
    } else if (is_entry(block) || !scan_text(block, &item) || !is_rest_empty(block)) {
        return false;
    }
    put_item(block, item);
    return true;
}

static bool read_block_pair(struct yaml_block *block)
{
    struct yaml_block_item key;

    if (!scan_text(block, &key) || !is_colon(block))
        return false;
    put_item(block, key);
    return read_block_value(block);
}

static bool read_block_node(struct yaml_block *block);

/* At the dash of an item of the innermost list. */
static bool read_block_entry(struct yaml_block *block)
{
    const size_t after = ++block->at;

    if (!is_rest_empty(block))
        return read_block_node(block);
    await_value(block, after);
    return true;
}

/* A list, a map or a text that begins here. */
static bool read_block_node(struct yaml_block *block)
{
    const size_t start = block->at;
    const bool is_first = start == yaml_text_indent(block->row);
    struct yaml_block_item item;

    if (is_entry(block))
        return open_block_level(block, start, true, false) && read_block_entry(block);
    if (is_flow(block))
        return !is_first && read_flow(block) && is_rest_empty(block);
    if (is_char(block, '|')) {
        if (is_first || !scan_literal(block, &item))
            return false;
        put_item(block, item);
        return true;
    }
    if (!scan_text(block, &item))
        return false;
    if (is_colon(block)) {
        if (!open_block_level(block, start, false, false))
            return false;
        put_item(block, item);
        return read_block_value(block);
    }
    put_item(block, item);
    return block->depth > 0 && is_rest_empty(block);
}

/* --- levels -------------------------------------------------------------------------- */

/* The beginning or the end of a document. */
static bool is_document_marker(const struct yaml_block *block)
{
    return block->at == 0 &&
           (str_starts(block->row, STR("---")) || str_starts(block->row, STR("...")));
}

/* A document may begin with a row "---". */
static bool read_marker(struct yaml_block *block)
{
    const bool is_first = block->depth == 0 && !block->marked && str_is(block->row, "---");

    block->marked = true;
    return is_first;
}

/* Is the row the value of the key or dash before it? */
static bool is_awaited_value(struct yaml_block *block, bool entry)
{
    const struct yaml_block_level *top = top_level(block);

    return block->awaits &&
           (block->at > top->column || (!top->is_list && block->at == top->column && entry));
}

static bool read_awaited(struct yaml_block *block)
{
    block->awaits = false;
    if (block->at > top_level(block)->column)
        return read_block_node(block);
    return open_block_level(block, block->at, true, true) && read_block_entry(block);
}

/* End the levels to the right of the row. It continues in the innermost one left, if the columns
 * are equal. */
static bool close_levels(struct yaml_block *block, bool entry)
{
    const struct yaml_block_level *top = top_level(block);

    while (top->column > block->at || (top->hangs && top->column == block->at && !entry)) {
        if (block->depth == 1)
            return false;
        close_block_level(block);
        top = top_level(block);
    }
    return top->column == block->at && top->is_list == entry;
}

static bool read_block_row(struct yaml_block *block)
{
    const bool entry = is_entry(block);

    if (is_document_marker(block))
        return read_marker(block);
    if (str_starts(block->row, STR("\xef\xbb\xbf"))) /* skipped by libyaml */
        return false;
    if (block->depth == 0)
        return block->at == 0 && read_block_node(block);
    if (is_awaited_value(block, entry))
        return read_awaited(block);
    if (block->awaits)
        put_item(block, block->empty);
    block->awaits = false;
    if (!close_levels(block, entry))
        return false;
    return entry ? read_block_entry(block) : read_block_pair(block);
}

static bool end_document(struct yaml_block *block)
{
    if (block->depth == 0)
        return false;
    if (block->awaits)
        put_item(block, block->empty);
    while (block->depth > 0)
        close_block_level(block);
    put_item(block, (struct yaml_block_item){ .type = YAML_DOCUMENT_END_EVENT });
    put_item(block, (struct yaml_block_item){ .type = YAML_STREAM_END_EVENT });
    block->ended = true;
    return true;
}

static void give_event(const struct yaml_block_item *item, yaml_event_t *ret)
{
    ret->type = item->type;
    ret->start_mark = (yaml_mark_t){ .line = item->line, .column = item->column };
    if (item->type == YAML_SCALAR_EVENT) {
        ret->data.scalar.anchor = ret->data.scalar.tag = NULL;
        ret->data.scalar.value = (yaml_char_t *)(uintptr_t)item->text.p;
        ret->data.scalar.length = item->text.n;
        ret->data.scalar.style = item->style;
    } else if (item->type == YAML_SEQUENCE_START_EVENT) {
        ret->data.sequence_start.anchor = ret->data.sequence_start.tag = NULL;
    } else if (item->type == YAML_MAPPING_START_EVENT) {
        ret->data.mapping_start.anchor = ret->data.mapping_start.tag = NULL;
    }
}

bool yaml_block_next(struct yaml_block *block, yaml_event_t *ret, bool *ret_kept)
{
    while (block->first == block->count) {
        block->first = block->count = 0;
        if (block->ended ||
            !(find_content_row(block) ? read_block_row(block) : end_document(block)))
            return false;
    }
    give_event(&block->items[block->first], ret);
    *ret_kept = block->items[block->first++].kept;
    return true;
}
