#include "fleet/reactor/reaction_part.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/mem.h"

enum line_kind {
    LINE_EMPTY,     /* or a comment */
    LINE_STATEMENT, /* nothing but statements */
    LINE_KEY,       /* a block begins */
    LINE_INNER,     /* of a block */
};

/* A block that is being collected. */
struct part_lines {
    struct buf text;
    size_t inner;       /* lines after that of the key */
    size_t kept;        /* bytes up to the last of them */
    bool has_statement; /* before one of them, or in one */
    bool may_end;       /* a statement that stands after the last of them so far */
};

static enum line_kind classify_line(struct str line)
{
    const struct str text = str_trim(line);

    if (text.n == 0 || text.p[0] == '#')
        return LINE_EMPTY;
    if (str_starts(text, STR("{%")) && str_ends(text, STR("%}")))
        return LINE_STATEMENT;
    return strchr(" \t-}]", line.p[0]) ? LINE_INNER : LINE_KEY;
}

static bool is_readable(struct str text)
{
    static const struct str marks[] = {
        { "{#", 2 }, { "&", 1 }, { "raw", 3 }, { "macro", 5 }, { "call", 4 }
    };

    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        if (str_find(text, marks[i], 0) != STR_NONE)
            return false;
    return true;
}

static struct str read_part_line(struct reaction_part *part)
{
    struct str rest = str_from_offset(part->text, part->at);
    const struct str line = str_cut(&rest, '\n');

    part->at += line.n + (rest.p ? 1 : 0);
    part->lines++;
    return line;
}

static void add_part_line(struct part_lines *block, enum line_kind kind, struct str line)
{
    if (kind == LINE_STATEMENT) {
        block->may_end = true;
        line = STR("");
    }
    buf_add(&block->text, line.p, line.n);
    buf_add_text(&block->text, "\n");
    if (kind == LINE_EMPTY || kind == LINE_STATEMENT)
        return;
    block->inner += kind == LINE_INNER;
    block->kept = block->text.n;
    block->has_statement =
        block->has_statement || block->may_end || str_find(line, STR("{%"), 0) != STR_NONE;
}

/* The lines of a block, up to the next one. The line of its key was read. */
static void read_part_block(struct reaction_part *part, struct str key, struct part_lines *block)
{
    for (size_t i = 1; i < part->lines; i++)
        buf_add_text(&block->text, "\n");
    add_part_line(block, LINE_KEY, key);
    while (part->at < part->text.n) {
        const struct reaction_part before = *part;
        const struct str line = read_part_line(part);
        const enum line_kind kind = classify_line(line);

        if (kind == LINE_KEY) {
            *part = before;
            return;
        }
        add_part_line(block, kind, line);
    }
}

/* A key alone may have its lines after a statement, or in another block. */
static bool is_block_whole(const struct part_lines *block, struct str key)
{
    return !block->has_statement && (block->inner > 0 || !str_ends(str_trim(key), STR(":")));
}

bool reaction_part_next(struct arena *arena, struct reaction_part *part, struct str *ret_block)
{
    bool found = false;

    if (!is_readable(part->text))
        return false;
    while (!found && part->at < part->text.n) {
        const struct str line = read_part_line(part);
        struct part_lines block = { .text = BUF_INIT(BUF_NO_LIMIT) };

        if (classify_line(line) != LINE_KEY)
            continue;
        read_part_block(part, line, &block);
        found = is_block_whole(&block, line);
        if (found)
            *ret_block = arena_str(arena, str_slice(buf_view(&block.text), 0, block.kept));
        buf_done(&block.text);
    }
    return found;
}
