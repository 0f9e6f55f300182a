#include "core/edit/colons.h"

#include "core/base/buf.h"
#include "core/edit/lines.h"

struct str colons_field(struct str line, size_t index)
{
    struct str rest = line;

    while (rest.p) {
        const struct str field = str_cut(&rest, ':');

        if (index-- == 0)
            return field;
    }
    return (struct str){ NULL, 0 };
}

static bool is_line_for_key(struct str line, struct str key)
{
    return line.n > key.n && line.p[key.n] == ':' && str_starts(line, key);
}

bool colons_is_name(struct str key)
{
    return key.n > 0 && str_find_char(STR("#+-"), key.p[0], 0) == STR_NONE;
}

struct str colons_find(struct str text, struct str key)
{
    struct line line;

    while (lines_next(&text, &line))
        if (is_line_for_key(line.text, key))
            return line.text;
    return (struct str){ NULL, 0 };
}

void colons_find_all(struct str text, struct str key, struct buf *out)
{
    struct line line;

    while (lines_next(&text, &line))
        if (is_line_for_key(line.text, key))
            lines_add(out, line.text, STR("\n"));
}

void colons_set(struct str text, struct str key, struct str lines, struct buf *out)
{
    bool placed = false;
    struct line line;

    while (lines_next(&text, &line)) {
        if (!is_line_for_key(line.text, key)) {
            lines_add(out, line.text, line.end);
        } else if (!placed) {
            placed = true;
            buf_add_str(out, lines);
        }
    }
    if (placed || lines.n == 0)
        return;
    lines_finish(out, STR("\n"));
    buf_add_str(out, lines);
}

bool colons_has(struct str list, struct str name)
{
    while (list.p)
        if (str_eq(str_cut(&list, ','), name))
            return true;
    return false;
}

static void add_member_list(struct buf *out, struct str list, struct str name, bool member)
{
    size_t n = 0;

    while (list.p && list.n > 0) {
        const struct str item = str_cut(&list, ',');

        if (str_eq(item, name))
            continue;
        buf_add_text(out, n++ > 0 ? "," : "");
        buf_add_str(out, item);
    }
    if (!member)
        return;
    buf_add_text(out, n > 0 ? "," : "");
    buf_add_str(out, name);
}

static void add_colon_line(struct buf *out, struct str line, size_t field, struct str name,
                           bool member)
{
    struct str rest = line;

    for (size_t i = 0; rest.p; i++) {
        const struct str part = str_cut(&rest, ':');

        buf_add_text(out, i > 0 ? ":" : "");
        if (i == field && colons_has(part, name) != member)
            add_member_list(out, part, name, member);
        else
            buf_add_str(out, part);
    }
}

void colons_set_member(struct str text, struct str key, size_t field, struct str name, bool member,
                       struct buf *out)
{
    struct line line;

    while (lines_next(&text, &line)) {
        if (is_line_for_key(line.text, key))
            add_colon_line(out, line.text, field, name, member);
        else
            buf_add_str(out, line.text);
        buf_add_str(out, line.end);
    }
}
