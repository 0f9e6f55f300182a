/* edit - lines of keys and values. */
#include "core/edit/edit.h"

#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/edit/lines.h"

/* A line that holds a key. */
struct holding {
    struct str key; /* as written there */
    struct str indent, value;
    bool is_comment; /* the key follows comment characters */
};

static bool has_cased_prefix(struct str text, struct str prefix, bool ignore_case)
{
    if (text.n < prefix.n)
        return false;
    return ignore_case ? strncasecmp(text.p, prefix.p, prefix.n) == 0 : str_starts(text, prefix);
}

static bool is_same_value(const struct edit_keyvalue *args, struct str have, struct str want)
{
    return have.n == want.n && has_cased_prefix(have, want, args->value_ignore_case);
}

/* The text after key and separator; false when `text` does not begin with both. A separator of
 * blanks matches any blanks. */
static bool cut_value(const struct edit_keyvalue *args, struct str key, struct str text,
                      struct str *ret_value)
{
    const struct str separator = str_trim(args->separator);
    struct str rest, bare;

    if (!has_cased_prefix(text, key, args->key_ignore_case))
        return false;
    rest = str_from_offset(text, key.n);
    bare = str_from_offset(rest, lines_indent(rest).n);
    if (separator.n == 0 && rest.n > 0 && bare.n == rest.n)
        return false; /* another key with the same beginning */
    if (!str_starts(bare, separator))
        return false;
    *ret_value = str_trim(str_from_offset(bare, separator.n));
    return true;
}

/* Without comment characters and the blanks around them. */
static struct str strip_comment(struct str text, struct str characters)
{
    while (text.n > 0 &&
           (memchr(characters.p, text.p[0], characters.n) || text.p[0] == ' ' || text.p[0] == '\t'))
        text = str_from_offset(text, 1);
    return text;
}

static bool find_key_in_line(const struct edit_keyvalue *args, struct str key, struct str line,
                             struct holding *ret)
{
    const struct str indent = lines_indent(line);
    const struct str text = str_from_offset(line, indent.n);

    ret->indent = indent;
    ret->is_comment = false;
    ret->key = str_slice(text, 0, key.n);
    if (cut_value(args, key, text, &ret->value))
        return true;
    if (args->uncomment.n == 0)
        return false;
    ret->is_comment = true;
    ret->key = str_slice(strip_comment(text, args->uncomment), 0, key.n);
    return cut_value(args, key, strip_comment(text, args->uncomment), &ret->value);
}

/* Is there a line of the key that is not a comment? */
static bool has_active(const struct edit_keyvalue *args, struct str key, struct str text)
{
    struct holding holding;
    struct line line;

    while (lines_next(&text, &line))
        if (find_key_in_line(args, key, line.text, &holding) && !holding.is_comment)
            return true;
    return false;
}

static void add_keyvalue_pair(const struct edit_keyvalue *args, const struct edit_pair *pair,
                              struct buf *out)
{
    buf_add_str(out, pair->key);
    buf_add_str(out, args->separator);
    buf_add_str(out, pair->value);
}

/* Set the lines of a key; returns how many there were. */
static size_t set_lines(const struct edit_keyvalue *args, const struct edit_pair *pair,
                        struct str text, struct buf *out, bool *changed)
{
    const bool only_active = has_active(args, pair->key, text);
    struct holding holding;
    struct line line;
    size_t n = 0;

    while (lines_next(&text, &line)) {
        const bool mine = (args->count == 0 || n < args->count) &&
                          find_key_in_line(args, pair->key, line.text, &holding) &&
                          !(only_active && holding.is_comment);

        n += mine;
        if (mine && (holding.is_comment || !is_same_value(args, holding.value, pair->value))) {
            buf_add_str(out, holding.indent);
            add_keyvalue_pair(args, &(struct edit_pair){ holding.key, pair->value }, out);
            *changed = true;
        } else {
            buf_add_str(out, line.text);
        }
        buf_add_str(out, line.end);
    }
    return n;
}

static void edit_pair(const struct edit_keyvalue *args, const struct edit_pair *pair,
                      struct str text, struct buf *out, struct edit_keyvalue_found *found)
{
    const struct str end = lines_end_of(text);
    bool changed = false;

    if (set_lines(args, pair, text, out, &changed) > 0) {
        found->changed += changed;
        return;
    }
    if (!args->append && !args->prepend) {
        found->missing++;
        return;
    }
    found->changed++;
    if (args->append) {
        lines_finish(out, end);
        add_keyvalue_pair(args, pair, out);
        buf_add_str(out, end);
        return;
    }
    buf_clear(out);
    add_keyvalue_pair(args, pair, out);
    buf_add_str(out, end);
    buf_add_str(out, text);
}

static bool has_pair_newline(struct str text)
{
    return text.n > 0 && (memchr(text.p, '\n', text.n) || memchr(text.p, '\r', text.n));
}

static int check_keyvalue_pair(const struct edit_keyvalue *args, const struct edit_pair *pair,
                               struct err *err)
{
    if (pair->key.n == 0)
        return err_set(err, ERR_INVALID, "a key must not be empty");
    if (args->separator.n == 0)
        return err_set(err, ERR_INVALID, "the separator must not be empty");
    if (has_pair_newline(pair->key) || has_pair_newline(pair->value) ||
        has_pair_newline(args->separator))
        return err_set(err, ERR_INVALID, "key '%.*s': key, separator and value must be on one line",
                       STR_ARG(pair->key));
    return 0;
}

int edit_keyvalue(struct str text, const struct edit_keyvalue *args, struct buf *out,
                  struct edit_keyvalue_found *ret_found, struct err *err)
{
    AUTO_BUF struct buf now = BUF_INIT(EDIT_SIZE_MAX);
    AUTO_BUF struct buf next = BUF_INIT(EDIT_SIZE_MAX);
    struct edit_keyvalue_found found = { 0, 0 };

    buf_add_str(&now, text);
    for (size_t i = 0; i < args->n; i++) {
        const struct edit_pair pair = { str_trim(args->pairs[i].key),
                                        str_trim(args->pairs[i].value) };
        struct buf swap;

        if (check_keyvalue_pair(args, &pair, err) < 0)
            return -1;
        buf_clear(&next);
        edit_pair(args, &pair, buf_view(&now), &next, &found);
        swap = now;
        now = next;
        next = swap;
        if (edit_finish(&now, err) < 0)
            return -1;
    }
    buf_add_str(out, buf_view(&now));
    *ret_found = found;
    return edit_finish(out, err);
}
