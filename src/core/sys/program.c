#include "core/sys/program.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

const char *program_find(struct arena *arena, const char *name)
{
    const char *path = getenv("PATH");
    struct str rest = str_from(path && path[0] ? path : DEFAULT_PATH);

    if (strchr(name, '/'))
        return is_program(name) ? name : NULL;
    while (rest.p) {
        const struct str folder = str_cut(&rest, ':');
        const char *found = arena_printf(arena, "%.*s/%s", STR_ARG(folder), name);

        if (folder.n > 0 && is_program(found))
            return found;
    }
    return NULL;
}

/* Programs that people do not type are in a folder of their own, where they are installed. */
static const char *const beside[] = { ".", "../libexec/zester", "../../bin" };

const char *program_find_beside(struct arena *arena, const char *name)
{
    const char *self = NULL, *found = NULL;
    struct err ignored;

    if (fs_readlink(arena, "/proc/self/exe", &self, &ignored) == 0 && self)
        for (size_t i = 0; !found && i < ARRAY_LEN(beside); i++)
            found =
                program_find(arena, path_normalise(arena, arena_printf(arena, "%s/%s/%s",
                                                                       path_dirname(arena, self),
                                                                       beside[i], name)));
    return found ? found : program_find(arena, name);
}
