#include "kepler/supervise/output.h"

#include <string.h>

#include "core/base/utf8.h"
#include "core/data/value.h"

static const struct str marker = { OUTPUT_MARKER, sizeof(OUTPUT_MARKER) - 1 };

void output_init(struct output_capture *output, size_t max)
{
    *output = (struct output_capture){ .max = max, .line = BUF_INIT(OUTPUT_LINE_MAX) };
    output->values = value_map_new(&output->arena, 0);
}

/* Text for expressions and JSON: invalid UTF-8 is dropped. */
static bool is_valid_text(struct str text)
{
    return utf8_is_valid(text) && !memchr(text.p, '\0', text.n);
}

static void set_output(struct output_capture *output, struct str key, struct str text)
{
    struct value name = value_str(arena_str(&output->arena, key));
    struct value value = value_str(arena_str(&output->arena, text));

    value_map_set(&output->arena, output->values, name, value);
}

/* A repeated key counts again: a process that repeats itself reaches the limit, too. */
static void take_output_line(struct output_capture *output, struct str line)
{
    struct str value = str_from_offset(line, marker.n), key = str_cut(&value, '=');

    if (!value.p) {
        output->broken++;
        return;
    }
    if (key.n == 0)
        return;
    if (key.n + value.n > output->max - output->size || !is_valid_text(key) ||
        !is_valid_text(value)) {
        output->dropped = true;
        return;
    }
    output->size += key.n + value.n;
    set_output(output, key, value);
}

static struct str trim_return(struct str line)
{
    return line.n > 0 && line.p[line.n - 1] == '\r' ? str_slice(line, 0, line.n - 1) : line;
}

/* Could what is there become a marked line? */
static bool may_be_marked(struct str line)
{
    size_t n = line.n < marker.n ? line.n : marker.n;

    return memcmp(line.p, marker.p, n) == 0;
}

static void finish_line(struct output_capture *output, output_fn *pass, void *self)
{
    struct str line = buf_view(&output->line);

    if (str_starts(line, marker)) {
        output->dropped = output->dropped || output->line.full;
        if (!output->line.full)
            take_output_line(output, trim_return(line));
    } else if (line.n > 0) {
        pass(self, line);
    }
    buf_clear(&output->line);
}

/* One piece of the stream that holds no line end but perhaps at its end. */
static void feed_piece(struct output_capture *output, struct str piece, bool ends, output_fn *pass,
                       void *self)
{
    bool marked;

    if (output->passing) {
        pass(self, piece);
        output->passing = !ends;
        return;
    }
    buf_add_str(&output->line, ends ? str_slice(piece, 0, piece.n - 1) : piece);
    marked = may_be_marked(buf_view(&output->line));
    if (!marked) {
        if (ends)
            buf_add_char(&output->line, '\n');
        pass(self, buf_view(&output->line));
        buf_clear(&output->line);
        output->passing = !ends;
    } else if (ends) {
        if (output->line.n < marker.n)
            buf_add_char(&output->line, '\n');
        finish_line(output, pass, self);
    }
}

void output_feed(struct output_capture *output, struct str bytes, output_fn *pass, void *self)
{
    size_t at = 0;

    while (at < bytes.n) {
        size_t end = str_find_char(bytes, '\n', at);
        bool ends = end != STR_NONE;
        struct str piece = str_slice(bytes, at, ends ? end - at + 1 : bytes.n - at);

        feed_piece(output, piece, ends, pass, self);
        at += piece.n;
    }
}

void output_end(struct output_capture *output, output_fn *pass, void *self)
{
    finish_line(output, pass, self);
    output->passing = false;
}

struct value output_values(const struct output_capture *output)
{
    return value_map(output->values);
}

void output_done(struct output_capture *output)
{
    arena_done(&output->arena);
    buf_done(&output->line);
}
