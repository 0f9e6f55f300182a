#include "language/lua/spot.h"

#include "core/base/utf8.h"
#include "core/data/value.h"

/* A flow scalar is searched for on this many lines of the document. */
#define SPOT_LINES_MAX 64
/* This much of the text must be found again. */
#define SPOT_WORD_MAX 40

/* Line `number` of the document; a NULL view when there is none. */
static struct str find_document_line(struct str text, uint32_t number)
{
    struct str rest = text, line = { NULL, 0 };

    for (uint32_t i = 0; i < number; i++) {
        if (!rest.p)
            return (struct str){ NULL, 0 };
        line = str_cut(&rest, '\n');
    }
    return line;
}

/* The text of the value, without its tag and anchor. */
static struct str find_written_text(const struct value *v)
{
    struct str rest;

    if (!v->source || !v->source->text.p || v->line == 0)
        return (struct str){ NULL, 0 };
    rest = find_document_line(v->source->text, v->line);
    if (!rest.p)
        return rest;
    rest = str_from_offset(rest, utf8_offset(rest, v->column > 0 ? v->column - 1U : 0));
    while (rest.n > 0 && (rest.p[0] == '!' || rest.p[0] == '&')) {
        size_t blank = str_find_char(rest, ' ', 0);

        rest = str_trim_left(str_from_offset(rest, blank == STR_NONE ? rest.n : blank));
    }
    return rest;
}

bool spot_is_block(const struct value *v)
{
    struct str rest = find_written_text(v);

    return rest.p && rest.n > 0 && rest.p[0] == '|';
}

static size_t lines_before(struct str text, size_t offset)
{
    size_t count = 0;

    for (size_t at = 0; (at = str_find_char(text, '\n', at)) != STR_NONE && at < offset; at++)
        count++;
    return count;
}

/* From `offset` to the end of its line, cut to a useful length. */
static struct str get_rest_of_line(struct str text, size_t offset)
{
    struct str rest = str_from_offset(text, offset);
    struct str line = str_cut(&rest, '\n');

    return str_slice(str_trim_right(line), 0, SPOT_WORD_MAX);
}

static bool search_line(struct str line, struct str word, size_t from, struct place *at)
{
    size_t found = word.n > 0 ? str_find(line, word, from) : STR_NONE;

    if (found == STR_NONE)
        return false;
    at->column = (uint32_t)utf8_count(str_slice(line, 0, found)) + 1;
    return true;
}

/* The same words may occur twice on a line: search after the text that precedes them in the value.
 */
static size_t search_from(const struct value *v, struct str line, size_t offset, bool is_block)
{
    size_t start = offset;
    size_t from = 0;

    while (start > 0 && v->s.p[start - 1] != '\n')
        start--;
    if (!is_block)
        from = utf8_offset(line, v->column > 0 ? v->column - 1U : 0);
    return from + (offset - start) <= line.n ? from + (offset - start) : from;
}

struct place spot_find(const struct value *v, size_t offset)
{
    struct place at = value_place(v);
    struct str document = v->source ? v->source->text : (struct str){ NULL, 0 };
    bool is_block = spot_is_block(v);
    struct str word, line;

    if (!document.p || at.line == 0 || v->kind != VALUE_STR || offset > v->s.n)
        return at;
    word = get_rest_of_line(v->s, offset);
    if (is_block) {
        at.line += (uint32_t)lines_before(v->s, offset) + 1;
        at.column = 1;
        line = find_document_line(document, at.line);
        if (line.p)
            (void)search_line(line, word, search_from(v, line, offset, true), &at);
        return at;
    }
    for (uint32_t i = 0; i < SPOT_LINES_MAX; i++) {
        struct place here = { at.file, at.line + i, 1 };

        line = find_document_line(document, here.line);
        if (!line.p)
            break;
        if (search_line(line, word, i == 0 ? search_from(v, line, offset, false) : 0, &here))
            return here;
    }
    return at;
}
