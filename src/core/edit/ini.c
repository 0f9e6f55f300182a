#include "core/edit/ini.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/edit/lines.h"

/* --- reading --------------------------------------------------------------------------- */

static bool is_ini_comment(struct str trimmed)
{
    return trimmed.n > 0 && (trimmed.p[0] == '#' || trimmed.p[0] == ';');
}

static bool same_section(struct str a, struct str b)
{
    return !a.p == !b.p && (!a.p || str_eq(a, b));
}

/* "[name]", with or without a comment. */
static bool read_section_header(struct str trimmed, struct str *ret_name)
{
    size_t end = trimmed.n;
    struct str name;

    if (trimmed.n < 3 || trimmed.p[0] != '[')
        return false;
    if (trimmed.p[end - 1] != ']') {
        end = str_find_char(trimmed, ']', 0);
        if (end == STR_NONE || !is_ini_comment(str_trim(str_from_offset(trimmed, end + 1))))
            return false;
        end++;
    }
    name = str_trim(str_slice(trimmed, 1, end - 2));
    if (name.n == 0)
        return false;
    *ret_name = name;
    return true;
}

static bool is_ini_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The offset of the separator, without blanks around it, and its length; STR_NONE: none. */
static size_t find_separator(const struct ini_format *format, struct str trimmed, size_t *ret_size)
{
    const struct str bare = str_trim(format->separator);
    size_t at = 0;

    *ret_size = bare.n > 0 ? bare.n : 1;
    if (bare.n > 0)
        return str_find(trimmed, bare, 0);
    while (at < trimmed.n && !is_ini_blank(trimmed.p[at]))
        at++;
    return at < trimmed.n ? at : STR_NONE;
}

static void read_option(const struct ini_format *format, struct str trimmed, struct ini_item *item)
{
    size_t size;
    const size_t at = find_separator(format, trimmed, &size);

    item->kind = INI_OPTION;
    item->key = str_trim(str_slice(trimmed, 0, at == STR_NONE ? trimmed.n : at));
    item->value = at == STR_NONE ? (struct str){ NULL, 0 }
                                 : str_trim_left(str_from_offset(trimmed, at + size));
}

/* Lines that are indented deeper than the key belong to its value. */
static void read_continuation(struct ini_walk *walk, size_t indent, struct ini_item *item)
{
    struct str rest = walk->rest, ignored;
    struct line line;

    while (lines_next(&rest, &line)) {
        const struct str trimmed = str_trim(line.text);

        if (lines_indent(line.text).n <= indent || trimmed.n == 0 || is_ini_comment(trimmed) ||
            read_section_header(trimmed, &ignored))
            return;
        if (!item->value.p)
            item->value.p = item->key.p + item->key.n;
        item->value.n = (size_t)(trimmed.p + trimmed.n - item->value.p);
        item->text.n += line.text.n + line.end.n;
        walk->rest = rest;
    }
}

bool ini_next(struct ini_walk *walk, struct ini_item *ret_item)
{
    struct line line;
    struct str trimmed;

    if (!lines_next(&walk->rest, &line))
        return false;
    trimmed = str_trim(line.text);
    *ret_item =
        (struct ini_item){ .kind = INI_OTHER, .text = { line.text.p, line.text.n + line.end.n } };
    if (read_section_header(trimmed, &walk->section)) {
        ret_item->kind = INI_HEADER;
    } else if (trimmed.n > 0 && !is_ini_comment(trimmed)) {
        read_option(walk->format, trimmed, ret_item);
        read_continuation(walk, lines_indent(line.text).n, ret_item);
    }
    ret_item->section = walk->section;
    return true;
}

bool ini_find(struct str text, const struct ini_format *format, struct str section, struct str key,
              struct ini_item *ret_item)
{
    struct ini_walk walk = { .rest = text, .format = format };
    struct ini_item item;
    bool found = false;

    while (ini_next(&walk, &item))
        if (item.kind == INI_OPTION && same_section(item.section, section) &&
            str_eq(item.key, key)) {
            *ret_item = item;
            found = true;
        }
    return found;
}

bool ini_has_section(struct str text, const struct ini_format *format, struct str section)
{
    struct ini_walk walk = { .rest = text, .format = format };
    struct ini_item item;

    while (ini_next(&walk, &item))
        if (item.kind == INI_HEADER && str_eq(item.section, section))
            return true;
    return false;
}

/* --- what can be written ----------------------------------------------------------------- */

static bool has_line_end(struct str text)
{
    return str_find_char(text, '\n', 0) != STR_NONE || str_find_char(text, '\r', 0) != STR_NONE;
}

int ini_check_section(struct str section, struct err *err)
{
    const struct str trimmed = str_trim(section);

    if (trimmed.n == 0 || trimmed.n != section.n || has_line_end(section))
        return err_set(err, ERR_INVALID, "'%.*s' is not a valid section name", STR_ARG(section));
    return 0;
}

int ini_check_key(const struct ini_format *format, struct str key, struct err *err)
{
    const struct str trimmed = str_trim(key);
    size_t size;

    if (trimmed.n == 0 || trimmed.n != key.n || has_line_end(key) || is_ini_comment(key) ||
        key.p[0] == '[')
        return err_set(err, ERR_INVALID, "'%.*s' is not a valid option name", STR_ARG(key));
    if (find_separator(format, key, &size) != STR_NONE)
        return err_set(err, ERR_INVALID, "option name '%.*s' contains the separator '%.*s'",
                       STR_ARG(key), STR_ARG(format->separator));
    return 0;
}

int ini_check_value(struct str value, struct err *err)
{
    struct str rest = str_trim(value), ignored;
    bool first = true;
    struct line line;

    while (lines_next(&rest, &line)) {
        const struct str trimmed = str_trim(line.text);

        if (!first &&
            (trimmed.n == 0 || is_ini_comment(trimmed) || read_section_header(trimmed, &ignored)))
            return err_set(err, ERR_INVALID,
                           "a value must not have empty lines, or lines that look like a comment "
                           "or a header");
        first = false;
    }
    return 0;
}

bool ini_same_value(struct str have, struct str want)
{
    struct str left = str_trim(have), right = str_trim(want);
    struct line a, b;

    if (!have.p || !want.p)
        return !have.p && !want.p;
    for (;;) {
        const bool more = lines_next(&left, &a), other = lines_next(&right, &b);

        if (!more || !other)
            return more == other;
        if (!str_eq(str_trim(a.text), str_trim(b.text)))
            return false;
    }
}

/* --- writing ----------------------------------------------------------------------------- */

static void add_ini_value(struct buf *out, struct str value, struct str indent, struct str end)
{
    struct str rest = str_trim(value);
    bool first = true;
    struct line line;

    while (lines_next(&rest, &line)) {
        if (!first) {
            buf_add_str(out, end);
            buf_add_str(out, indent);
            buf_add_text(out, "    ");
        }
        buf_add_str(out, str_trim(line.text));
        first = false;
    }
}

static void add_separator(struct buf *out, const struct ini_format *format, bool has_value)
{
    const struct str bare = str_trim(format->separator);

    if (bare.n == 0) {
        buf_add_text(out, has_value ? " " : "");
        return;
    }
    buf_add_text(out, format->tight ? "" : " ");
    buf_add_str(out, bare);
    buf_add_text(out, format->tight || !has_value ? "" : " ");
}

/* A separate line, without its end. */
static void add_ini_option(struct buf *out, const struct ini_format *format,
                           const struct ini_item *want, struct str indent, struct str end)
{
    buf_add_str(out, indent);
    buf_add_str(out, want->key);
    if (!want->value.p)
        return;
    add_separator(out, format, str_trim(want->value).n > 0);
    add_ini_value(out, want->value, indent, end);
}

/* Replaces an option, in its own spacing if it has any. */
static void replace_option(struct buf *out, const struct ini_format *format,
                           const struct ini_item *have, const struct ini_item *want, struct str end)
{
    const struct str indent = lines_indent(have->text);
    const struct str after =
        have->value.p
            ? str_from_offset(have->text, (size_t)(have->value.p + have->value.n - have->text.p))
            : (struct str){ NULL, 0 };
    const struct str trimmed = str_trim_right(have->text);

    if (want->value.p && have->value.n > 0 && have->value.p == str_trim_left(have->value).p &&
        !format->tight) {
        buf_add(out, have->text.p, (size_t)(have->value.p - have->text.p));
        add_ini_value(out, want->value, indent, end);
        buf_add_str(out, after);
        return;
    }
    add_ini_option(out, format, want, indent, end);
    buf_add_str(out, str_from_offset(have->text, trimmed.n));
}

/* The place for a new option: after the last option of the section, else after its header. Outside
 * of sections that is the beginning, or the end where there are no sections. STR_NONE: no such
 * section. `ret_indent` is the indentation of the last option. */
static size_t find_option_place(struct str text, const struct ini_format *format,
                                struct str section, struct str *ret_indent)
{
    struct ini_walk walk = { .rest = text, .format = format };
    size_t place = section.p ? STR_NONE : 0;
    bool has_header = false, has_option = false;
    struct ini_item item;

    *ret_indent = STR("");
    while (ini_next(&walk, &item)) {
        has_header = has_header || item.kind == INI_HEADER;
        if (item.kind == INI_OTHER || !same_section(item.section, section))
            continue;
        has_option = has_option || item.kind == INI_OPTION;
        place = (size_t)(item.text.p + item.text.n - text.p);
        if (item.kind == INI_OPTION)
            *ret_indent = lines_indent(item.text);
    }
    return !section.p && !has_option && !has_header ? text.n : place;
}

static void insert_option(struct str text, const struct ini_format *format,
                          const struct ini_item *want, struct buf *out)
{
    const struct str end = lines_end_of(text);
    struct str indent;
    const size_t place = find_option_place(text, format, want->section, &indent);
    const size_t start = out->n;

    if (place == STR_NONE) {
        ini_add_section(text, want->section, out);
    } else {
        buf_add_str(out, str_slice(text, 0, place));
    }
    if (out->n > start)
        lines_finish(out, end);
    add_ini_option(out, format, want, indent, end);
    buf_add_str(out, end);
    if (place != STR_NONE)
        buf_add_str(out, str_from_offset(text, place));
}

void ini_set(struct str text, const struct ini_format *format, const struct ini_item *want,
             struct buf *out)
{
    struct ini_item have, wish = *want;
    size_t at;

    if (str_trim(format->separator).n == 0 && str_trim(wish.value).n == 0)
        wish.value = (struct str){ NULL, 0 }; /* which looks the same */
    if (!ini_find(text, format, wish.section, wish.key, &have)) {
        insert_option(text, format, &wish, out);
        return;
    }
    if (ini_same_value(have.value, wish.value)) {
        buf_add_str(out, text);
        return;
    }
    at = (size_t)(have.text.p - text.p);
    buf_add_str(out, str_slice(text, 0, at));
    replace_option(out, format, &have, &wish, lines_end_of(text));
    buf_add_str(out, str_from_offset(text, at + have.text.n));
}

void ini_remove(struct str text, const struct ini_format *format, struct str section,
                struct str key, struct buf *out)
{
    struct ini_walk walk = { .rest = text, .format = format };
    struct ini_item item;

    while (ini_next(&walk, &item))
        if (item.kind != INI_OPTION || !same_section(item.section, section) ||
            !str_eq(item.key, key))
            buf_add_str(out, item.text);
}

void ini_add_section(struct str text, struct str section, struct buf *out)
{
    const struct str end = lines_end_of(text);
    const struct str last = str_trim(str_line_at(text, text.n > 0 ? text.n - 1 : 0));

    buf_add_str(out, text);
    if (text.n > 0)
        lines_finish(out, end);
    if (last.n > 0)
        buf_add_str(out, end);
    buf_add_char(out, '[');
    buf_add_str(out, section);
    buf_add_char(out, ']');
    buf_add_str(out, end);
}

/* The part of a removed section that stays: the comments right above the next header, if an empty
 * line sets them apart. `tail` starts at its last empty line. */
static struct str find_kept_tail(struct str tail)
{
    struct line line;

    if (!lines_next(&tail, &line) || str_trim(line.text).n > 0)
        return STR("");
    return tail;
}

void ini_remove_section(struct str text, const struct ini_format *format, struct str section,
                        struct buf *out)
{
    struct ini_walk walk = { .rest = text, .format = format };
    struct str tail = STR(""); /* comments after the last option of the removed section */
    struct ini_item item;
    bool inside = false;

    while (ini_next(&walk, &item)) {
        const bool now = item.section.p && str_eq(item.section, section);

        if (inside && item.kind == INI_HEADER)
            buf_add_str(out, find_kept_tail(tail));
        if (!now)
            buf_add_str(out, item.text);
        else if (item.kind != INI_OTHER || str_trim(item.text).n == 0)
            tail = (struct str){ item.text.p + (item.kind == INI_OTHER ? 0 : item.text.n), 0 };
        inside = now;
        if (now)
            tail.n = (size_t)(item.text.p + item.text.n - tail.p);
    }
}
