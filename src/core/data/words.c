#include "core/data/words.h"

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/utf8.h"
#include "core/data/scalar.h"
#include "core/data/time_text.h"
#include "core/data/value.h"

/* Maximum length of a text in a message. */
#define SHOWN_MAX 60
/* Characters that may follow a plain scalar. */
#define SCALAR_ENDS ",]}#"

/* Booleans as YAML writes them, and as Python prints them. */
static const char *const truth_words[2][2] = { { "false", "true" }, { "False", "True" } };

bool words_print(struct buf *out, const struct value *v)
{
    switch ((enum value_kind)v->kind) {
    case VALUE_BOOL:
        buf_add_text(out, truth_words[v->source && v->source->salt][v->b]);
        return true;
    case VALUE_INT: buf_printf(out, "%lld", (long long)v->i); return true;
    case VALUE_DOUBLE: number_print_double(v->d, out); return true;
    case VALUE_STR:
    case VALUE_BYTES: buf_add_str(out, v->s); return true;
    case VALUE_TIME: time_print(out, v->t); return true;
    case VALUE_NULL:
    case VALUE_LIST:
    case VALUE_MAP:
    case VALUE_OBJECT: break;
    }
    return false;
}

void words_quote(struct buf *out, struct str text)
{
    struct str rest = str_slice(text, 0, SHOWN_MAX);

    buf_add_char(out, '"');
    while (rest.n > 0) {
        uint32_t c = utf8_next(&rest);

        if (c == '\n')
            buf_add_text(out, "\\n");
        else if (c < ' ' || c == 0x7f)
            buf_printf(out, "\\x%02x", c);
        else
            utf8_add(out, c);
    }
    buf_add_text(out, text.n > SHOWN_MAX ? "...\"" : "\"");
}

/* Move to the line of the value; false when its document has no such line. */
static bool seek_value_line(const struct value *v, struct words_cursor *cursor)
{
    struct str text = v->source->text;

    if (cursor->source != v->source || cursor->line > v->line)
        *cursor = (struct words_cursor){ v->source, 1, 0 };
    for (; cursor->line < v->line; cursor->line++) {
        size_t end = str_find_char(text, '\n', cursor->at);

        if (end == STR_NONE)
            return false;
        cursor->at = end + 1;
    }
    return true;
}

struct str words_written(const struct value *v, struct words_cursor *cursor)
{
    struct str text;
    size_t n = 0;

    if (!v->source || !v->source->text.p || v->line == 0 || v->column == 0 ||
        !seek_value_line(v, cursor))
        return (struct str){ NULL, 0 };
    text = str_from_offset(v->source->text, cursor->at);
    text = str_slice(text, 0, str_find_char(text, '\n', 0));
    text = str_from_offset(text, utf8_offset(text, v->column - 1U));
    while (n < text.n && str_find_char(STR(SCALAR_ENDS), text.p[n], 0) == STR_NONE)
        n++;
    return str_trim_right(str_slice(text, 0, n));
}

struct str words_own(const struct value *v, struct words_cursor *cursor)
{
    const struct str none = { NULL, 0 };
    struct str words;
    struct value again;
    struct err err;

    if (v->kind != VALUE_INT && v->kind != VALUE_DOUBLE && v->kind != VALUE_TIME)
        return none;
    if (v->source && v->source->salt)
        return none; /* Salt has the number alone */
    words = words_written(v, cursor);
    if (words.n == 0 || scalar_parse(words, YAML_DIALECT_1_1, &again, &err) < 0)
        return none;
    return again.kind == v->kind && value_equal(&again, v) ? words : none;
}
