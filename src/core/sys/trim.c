#include "core/sys/trim.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/fs.h"

#define SMAPS     "/proc/self/smaps"
#define SMAPS_MAX ((size_t)8 << 20)

/* A mapping of the address space. */
struct part {
    uintptr_t begin, end;
    bool is_clean; /* from a file, and not writable */
};

/* "55d0-55e0 r-xp 00001000 08:01 123   /usr/lib/x": false for any other line. */
static bool read_mapping(struct str line, struct part *ret)
{
    char *rest;
    const char *mode;

    if (line.n == 0 || !strchr("0123456789abcdef", line.p[0]) ||
        str_find_char(line, '-', 0) > str_find_char(line, ' ', 0))
        return false;
    ret->begin = strtoul(line.p, &rest, 16);
    ret->end = strtoul(rest + 1, &rest, 16);
    mode = rest + 1; /* "r-xp" */
    ret->is_clean = mode[0] == 'r' && mode[1] == '-' && mode[3] == 'p' &&
                    str_find(line, STR(" /"), 0) != STR_NONE;
    return true;
}

/* Pages written before the mapping became read-only (relocations) are not in the file. */
static void release_mapping(const struct part *part, size_t anonymous)
{
    if (part->is_clean && anonymous == 0)
        (void)madvise((void *)part->begin, part->end - part->begin, MADV_DONTNEED);
}

void trim_memory(void)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct part part = { 0 };
    struct str text, line;
    struct err ignored;

    (void)malloc_trim(0);
    if (fs_read(&arena, SMAPS, SMAPS_MAX, &text, &ignored) < 0 || !text.p)
        return;
    while (text.p) {
        line = str_cut(&text, '\n');
        if (!read_mapping(line, &part) && str_starts(line, STR("Anonymous:")))
            release_mapping(&part, strtoul(line.p + strlen("Anonymous:"), NULL, 10));
    }
}
