#include "core/data/html.h"

#include "core/base/buf.h"
#include "core/base/utf8.h"

static const char *const entities[128] = {
    ['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;", ['\''] = "&#39;",
};

static bool is_layout(struct str character)
{
    return character.n == 1 && (character.p[0] == '\n' || character.p[0] == '\t');
}

void html_add(struct buf *out, struct str text)
{
    while (text.p && text.n > 0) {
        const struct str character = str_slice(text, 0, utf8_length_at(text));
        const unsigned char first = (unsigned char)text.p[0];

        if (utf8_is_control(character) && !is_layout(character))
            utf8_add(out, UTF8_BAD);
        else if (first < ARRAY_LEN(entities) && entities[first])
            buf_add_text(out, entities[first]);
        else
            buf_add_str(out, character);
        text = str_from_offset(text, character.n);
    }
}

void html_add_text(struct buf *out, const char *text)
{
    html_add(out, str_from(text));
}

void html_add_cut(struct buf *out, struct str text, size_t max)
{
    size_t kept = 0;

    if (text.n <= max) {
        html_add(out, text);
        return;
    }
    while (kept + utf8_length_at(str_from_offset(text, kept)) <= max)
        kept += utf8_length_at(str_from_offset(text, kept));
    html_add(out, str_slice(text, 0, kept));
    buf_printf(out, " ... (%zu bytes more)", text.n - kept);
}
