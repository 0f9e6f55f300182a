#include "states/provider/command_line.h"

#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/str.h"
#include "core/sys/fs.h"

/* Limit for one process; the kernel allows more, but longer ones are not searched. */
#define LINE_MAX_BYTES ((size_t)4 << 20)

static bool is_process_number(const char *name)
{
    return name[0] != '\0' && strspn(name, "0123456789") == strlen(name);
}

/* Arguments end in NUL there. An unreadable process is gone, or not visible to us. */
static bool has_process_text(struct arena *arena, const char *pid, struct str text)
{
    struct err ignored;
    struct str line;
    char *blanks;

    if (fs_read(arena, arena_printf(arena, "/proc/%s/cmdline", pid), LINE_MAX_BYTES, &line,
                &ignored) < 0 ||
        line.n == 0)
        return false;
    blanks = arena_alloc(arena, line.n);
    for (size_t i = 0; i < line.n; i++)
        blanks[i] = line.p[i] == '\0' ? ' ' : line.p[i];
    return str_find((struct str){ blanks, line.n }, text, 0) != STR_NONE;
}

int command_line_find(const char *text, bool *ret_found, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *self = arena_printf(&arena, "%ld", (long)getpid());
    struct fs_names names;

    if (fs_list(&arena, "/proc", &names, err) < 0)
        return -1;
    *ret_found = false;
    VEC_EACH (&names.list, name) {
        AUTO_ARENA struct arena scratch = ARENA_INIT;

        if (is_process_number(*name) && strcmp(*name, self) != 0)
            *ret_found |= has_process_text(&scratch, *name, str_from(text));
        if (*ret_found)
            break;
    }
    return 0;
}
