#include "cli/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

static const char *const codes[] = {
    [COLOR_NONE] = "",           [COLOR_RED] = "\x1b[31m",  [COLOR_GREEN] = "\x1b[32m",
    [COLOR_YELLOW] = "\x1b[33m", [COLOR_BLUE] = "\x1b[34m", [COLOR_DIM] = "\x1b[2m",
};

void color_begin(struct buf *out, enum color color, bool on)
{
    if (on)
        buf_add_text(out, codes[color]);
}

void color_end(struct buf *out, enum color color, bool on)
{
    if (on && color != COLOR_NONE)
        buf_add_text(out, "\x1b[0m");
}

bool color_is_terminal(int fd)
{
    const char *term = getenv("TERM");

    return isatty(fd) && !(term && strcmp(term, "dumb") == 0);
}
