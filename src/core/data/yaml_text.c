#include "core/data/yaml_text.h"

#include <string.h>

#include "core/base/utf8.h"

#define NEXT_LINE      0x85U
#define LINE_SEPARATOR 0x2028U
#define PARA_SEPARATOR 0x2029U

static bool is_yaml_char(uint32_t c)
{
    return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c <= 0x7e) || c == NEXT_LINE ||
           (c >= 0xa0 && c <= 0xd7ff) || (c >= 0xe000 && c <= 0xfffd) || c >= 0x10000;
}

static int refuse_byte(const char *file, struct str text, size_t at, uint32_t c,
                       struct diags *diags)
{
    const unsigned char byte = (unsigned char)text.p[at];

    if (c == UTF8_BAD) {
        diag_add(diags, yaml_text_place(file, text, at), "byte 0x%02x is not UTF-8", byte);
        if (at == 0 && text.n > 1 && (byte == 0xff || byte == 0xfe))
            diag_hint(diags, "this looks like UTF-16: save the file as UTF-8");
    } else if (c == 0) {
        diag_add(diags, yaml_text_place(file, text, at), "a NUL byte is not allowed in YAML");
    } else {
        diag_add(diags, yaml_text_place(file, text, at),
                 "control character U+%04X is not allowed in YAML", c);
        diag_hint(diags, "in double quotes it is written \"\\u%04x\"", c);
    }
    diag_source(diags, text);
    return -1;
}

#define EVERY_BYTE(byte) (UINT64_MAX / 255 * (byte))

/* Are these eight bytes from 0x20 to 0x7e, or line ends? Sums carry into the next byte only where a
 * byte is above that range; those are caught first. */
static bool are_plain_bytes(const char *p)
{
    uint64_t word, above, printed, ends;

    memcpy(&word, p, sizeof(word));
    above = word | (word + EVERY_BYTE(1));
    printed = word + EVERY_BYTE(0x60);
    ends = ~((word ^ EVERY_BYTE('\n')) + EVERY_BYTE(0x7f));
    return ((above | ~(printed | ends)) & EVERY_BYTE(0x80)) == 0;
}

int yaml_text_check(const char *file, struct str text, bool *ret_odd_breaks, struct diags *diags)
{
    bool odd = false;

    for (size_t at = 0; at < text.n;) {
        const unsigned char byte = (unsigned char)text.p[at];
        struct str rest;
        uint32_t c;
        size_t n;

        if (text.n - at >= sizeof(uint64_t) && are_plain_bytes(text.p + at)) {
            at += sizeof(uint64_t);
            continue;
        }
        if ((byte >= 0x20 && byte < 0x7f) || byte == '\n') {
            at++;
            continue;
        }
        rest = str_from_offset(text, at);
        n = utf8_length_at(rest);
        c = utf8_next(&rest);
        if (!is_yaml_char(c) || (c == UTF8_BAD && n == 1))
            return refuse_byte(file, text, at, c, diags);
        odd = odd || c == NEXT_LINE || c == LINE_SEPARATOR || c == PARA_SEPARATOR ||
              (c == '\r' && (rest.n == 0 || rest.p[0] != '\n'));
        at += n;
    }
    *ret_odd_breaks = odd;
    return 0;
}

void yaml_cursor_move(struct yaml_cursor *cursor, struct str text, size_t index)
{
    if (index < cursor->index)
        *cursor = (struct yaml_cursor)YAML_CURSOR_INIT;
    for (; cursor->index < index && cursor->offset < text.n; cursor->index++) {
        bool end = text.p[cursor->offset] == '\n';

        cursor->offset += utf8_length_at(str_from_offset(text, cursor->offset));
        cursor->line += end ? 1 : 0;
        cursor->column = end ? 1 : cursor->column + 1;
    }
}

struct place yaml_text_place(const char *file, struct str text, size_t offset)
{
    struct place place = { .file = file, .line = 1 };
    size_t start = 0;

    for (size_t at = 0; (at = str_find_char(text, '\n', at)) != STR_NONE && at < offset;) {
        start = ++at;
        place.line++;
    }
    place.column = 1 + (uint32_t)utf8_count(str_slice(text, start, offset - start));
    return place;
}

struct str yaml_text_line(struct str text, size_t offset, size_t *ret_start)
{
    struct str line = str_line_at(text, offset);

    *ret_start = (size_t)(line.p - text.p);
    return line;
}

size_t yaml_text_indent(struct str line)
{
    size_t n = 0;
    uint64_t word;

    for (; line.n - n >= sizeof(word); n += sizeof(word)) {
        memcpy(&word, line.p + n, sizeof(word));
        if (word != EVERY_BYTE(' '))
            break;
    }
    while (n < line.n && line.p[n] == ' ')
        n++;
    return n;
}
