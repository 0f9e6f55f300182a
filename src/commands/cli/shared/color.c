#include "commands/cli/shared/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

static const char *const codes[] = {
    [COLOR_NONE] = "",           [COLOR_RED] = "\x1b[31m",  [COLOR_GREEN] = "\x1b[32m",
    [COLOR_YELLOW] = "\x1b[33m", [COLOR_BLUE] = "\x1b[34m", [COLOR_MAGENTA] = "\x1b[35m",
    [COLOR_CYAN] = "\x1b[36m",   [COLOR_DIM] = "\x1b[2m",
};

const char *color_code(enum color color)
{
    return codes[color];
}

enum color color_of_number(size_t i)
{
    static const enum color colors[] = { COLOR_CYAN, COLOR_YELLOW, COLOR_GREEN, COLOR_MAGENTA,
                                         COLOR_BLUE }; /* red is for what is wrong */

    return colors[i % ARRAY_LEN(colors)];
}

size_t color_length_at(struct str text)
{
    if (str_starts(text, STR(COLOR_OFF)))
        return strlen(COLOR_OFF);
    for (size_t i = COLOR_NONE + 1; i < ARRAY_LEN(codes); i++)
        if (str_starts(text, str_from(codes[i])))
            return strlen(codes[i]);
    return 0;
}

void color_begin(struct buf *out, enum color color, bool on)
{
    if (on)
        buf_add_text(out, codes[color]);
}

void color_end(struct buf *out, enum color color, bool on)
{
    if (on && color != COLOR_NONE)
        buf_add_text(out, COLOR_OFF);
}

bool color_is_terminal(int fd)
{
    const char *term = getenv("TERM");

    return isatty(fd) && !(term && strcmp(term, "dumb") == 0);
}

bool color_is_wanted(const char *variable, int fd)
{
    const char *word = variable ? getenv(variable) : NULL, *no_color = getenv("NO_COLOR");

    if (word && (strcmp(word, "true") == 0 || strcmp(word, "1") == 0))
        return true;
    if (word && (strcmp(word, "false") == 0 || strcmp(word, "0") == 0))
        return false;
    return color_is_terminal(fd) && !(no_color && no_color[0]);
}
