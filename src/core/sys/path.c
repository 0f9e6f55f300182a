#include "core/sys/path.h"

#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"

bool path_is_absolute(const char *path)
{
    return path[0] == '/';
}

char *path_join(struct arena *arena, const char *folder, const char *name)
{
    size_t n = strlen(folder);

    if (n == 0 || path_is_absolute(name))
        return arena_strdup(arena, name);
    return arena_printf(arena, folder[n - 1] == '/' ? "%s%s" : "%s/%s", folder, name);
}

/* Length without the slashes at the end; 1 for a path of slashes only. */
static size_t get_trimmed_length(const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

char *path_dirname(struct arena *arena, const char *path)
{
    size_t n = get_trimmed_length(path);

    while (n > 0 && path[n - 1] != '/')
        n--;
    if (n == 0)
        return arena_strdup(arena, ".");
    while (n > 1 && path[n - 1] == '/')
        n--;
    return arena_strndup(arena, path, n);
}

struct str path_basename(const char *path)
{
    size_t end = get_trimmed_length(path), start = end;

    if (end == 1 && path[0] == '/')
        return (struct str){ path, 1 };
    while (start > 0 && path[start - 1] != '/')
        start--;
    return (struct str){ path + start, end - start };
}

/* Remove the last part of `out`, which begins at `root`; false when there is none. */
static bool climb_to_parent(const char *out, size_t root, size_t *n)
{
    size_t start = *n;

    while (start > root && out[start - 1] != '/')
        start--;
    if (*n == root || (*n - start == 2 && memcmp(out + start, "..", 2) == 0))
        return false;
    *n = start > root ? start - 1 : root;
    return true;
}

char *path_normalise(struct arena *arena, const char *path)
{
    struct str rest = str_from(path);
    char *out = arena_alloc(arena, rest.n + 2);
    size_t root = path_is_absolute(path) ? 1 : 0, n = root;

    out[0] = '/';
    while (rest.p) {
        struct str part = str_cut(&rest, '/');

        if (part.n == 0 || str_is(part, "."))
            continue;
        if (str_is(part, "..") && (climb_to_parent(out, root, &n) || root > 0))
            continue;
        if (n > root)
            out[n++] = '/';
        memcpy(out + n, part.p, part.n);
        n += part.n;
    }
    if (n == 0)
        out[n++] = '.';
    out[n] = '\0';
    return out;
}

char *path_absolute(struct arena *arena, const char *path)
{
    AUTO_FREE char *here = path_is_absolute(path) ? NULL : getcwd(NULL, 0);

    return path_normalise(arena, here ? path_join(arena, here, path) : path);
}

const char *path_from_here(struct arena *arena, const char *path)
{
    AUTO_FREE char *here = path_is_absolute(path) ? NULL : getcwd(NULL, 0);

    while (here && path[0] == '.' && (path[1] == '/' || path[1] == '\0'))
        path += path[1] == '/' ? 2 : 1;
    return here ? path[0] ? path_join(arena, here, path) : arena_strdup(arena, here) : path;
}

bool path_is_below(const char *path, const char *folder)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *inner = path_normalise(&arena, path);
    const char *outer = path_normalise(&arena, folder);
    size_t n = strlen(outer);

    if (path_is_absolute(inner) != path_is_absolute(outer))
        return false;
    if (strcmp(outer, "/") == 0 || strcmp(outer, inner) == 0)
        return true;
    if (strcmp(outer, ".") == 0)
        return !path_escapes(inner);
    return strncmp(inner, outer, n) == 0 && inner[n] == '/';
}

bool path_escapes(const char *path)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *clean = path_normalise(&arena, path);

    return path_is_absolute(clean) ||
           (strncmp(clean, "..", 2) == 0 && (clean[2] == '/' || clean[2] == '\0'));
}

bool path_is_inside(const char *path, const char *folder)
{
    const size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && path[n] == '/';
}
