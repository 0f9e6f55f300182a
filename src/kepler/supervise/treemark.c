#include "kepler/supervise/treemark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "kepler/config/environment.h"
#include "core/sys/fs.h"

#define PREFIX      TREEMARK_NAME "="
#define ENVIRON_MAX ((size_t)8 << 20)
#define PATH_SIZE   64
#define HOME_SIZE   24

const char *const *treemark_add(struct arena *arena, const char *const *env, struct treemark mark)
{
    const char *outer = getenv(TREEMARK_NAME);

    return environment_array_with(arena, env, TREEMARK_NAME,
                                  arena_printf(arena, "%s%s%016" PRIx64 ".%" PRIu64,
                                               outer ? outer : "", outer ? ":" : "", mark.home,
                                               mark.tree));
}

/* Words between colons: "home.tree". */
static bool find_treemark_word(struct str words, const char *home, uint64_t *ret_tree)
{
    struct err ignored;

    while (words.p) {
        struct str tree = str_cut(&words, ':'), name = str_cut(&tree, '.');

        if (str_is(name, home) && tree.p && number_parse_uint(tree, ret_tree, &ignored) == 0)
            return true;
    }
    return false;
}

bool treemark_find(pid_t pid, uint64_t home, uint64_t *ret_tree)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char path[PATH_SIZE], name[HOME_SIZE];
    struct err ignored; /* it has ended, or we may not look */
    struct str text;

    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    (void)snprintf(name, sizeof(name), "%016" PRIx64, home);
    if (fs_read(&arena, path, ENVIRON_MAX, &text, &ignored) < 0)
        return false;
    while (text.p) {
        struct str pair = str_cut(&text, '\0');

        if (str_starts(pair, STR(PREFIX)) &&
            find_treemark_word(str_from_offset(pair, strlen(PREFIX)), name, ret_tree))
            return true;
    }
    return false;
}

/* Kernel threads and zombies have no executable file. */
bool treemark_is_hidden(pid_t pid)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char words[PATH_SIZE], program[PATH_SIZE];
    const char *target;
    struct err ignored;
    struct str text;

    (void)snprintf(words, sizeof(words), "/proc/%d/cmdline", (int)pid);
    (void)snprintf(program, sizeof(program), "/proc/%d/exe", (int)pid);
    return fs_readlink(&arena, program, &target, &ignored) == 0 && target &&
           fs_read(&arena, words, ENVIRON_MAX, &text, &ignored) == 0 && text.p && text.n == 0;
}
