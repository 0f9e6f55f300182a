#include "core/base/pathglob.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/glob.h"

struct pathglob {
    bool excludes;
    struct str folder, pattern; /* with a slash at its end, or empty; after it */
};

/* --- braces ------------------------------------------------------------------------------- */

struct choices {
    struct arena *arena;
    VEC(struct str) list; /* also the queue of patterns still to be expanded */
};

/* The offset of the brace that closes the one at `open`, or STR_NONE. */
static size_t find_close(struct str text, size_t open)
{
    size_t depth = 0;

    for (size_t at = open; at < text.n; at++) {
        if (text.p[at] == '{')
            depth++;
        if (text.p[at] == '}' && --depth == 0)
            return at;
    }
    return STR_NONE;
}

/* Put one choice of a brace in its place, and queue the result. */
static int add_choice(struct choices *choices, struct str text, size_t open, size_t close,
                      struct str choice, struct err *err)
{
    const char *whole =
        arena_printf(choices->arena, "%.*s%.*s%.*s", STR_ARG(str_slice(text, 0, open)),
                     STR_ARG(choice), STR_ARG(str_from_offset(text, close + 1)));

    if (choices->list.n >= PATHGLOB_CHOICES_MAX)
        return err_set(err, ERR_LIMIT, "its braces expand to more than the limit of %d patterns",
                       PATHGLOB_CHOICES_MAX);
    VEC_PUSH_IN(choices->arena, &choices->list, str_from(whole));
    return 0;
}

static int split_brace(struct choices *choices, struct str text, size_t open, struct err *err)
{
    size_t close = find_close(text, open), begin = open + 1, depth = 0;

    if (close == STR_NONE)
        return err_set(err, ERR_INVALID, "unclosed brace");
    for (size_t at = begin; at <= close; at++) {
        if (text.p[at] == '{')
            depth++;
        else if (text.p[at] == '}' && at < close)
            depth--;
        if (at == close || (text.p[at] == ',' && depth == 0)) {
            if (add_choice(choices, text, open, close, str_slice(text, begin, at - begin), err) < 0)
                return -1;
            begin = at + 1;
        }
    }
    return 0;
}

/* --- roots ---------------------------------------------------------------------------------- */

/* The longest folder without a pattern. */
static void add_glob_root(struct pathglob_set *set, struct str folder, struct str pattern)
{
    size_t end = pattern.n, slash;
    const char *root;

    for (size_t i = 0; i < pattern.n && end == pattern.n; i++)
        if (strchr("*?[", pattern.p[i]))
            end = i;
    slash = end;
    while (slash > 0 && pattern.p[slash - 1] != '/')
        slash--;
    while (slash > 1 && pattern.p[slash - 1] == '/')
        slash--;
    root = arena_printf(set->arena, "%.*s%.*s", STR_ARG(folder),
                        STR_ARG(str_slice(pattern, 0, slash)));
    if (folder.n > 1 && slash == 0)
        root = arena_strndup(set->arena, folder.p, folder.n - 1);
    VEC_EACH (&set->roots, known)
        if (strcmp(*known, root) == 0)
            return;
    VEC_PUSH_IN(set->arena, &set->roots, root);
}

/* --- dots ----------------------------------------------------------------------------------- */

/* The folder above one that ends in '/'; the root for the root. */
static struct str cut_last_folder(struct str folder)
{
    size_t n = folder.n > 0 ? folder.n - 1 : 0;

    while (n > 0 && folder.p[n - 1] != '/')
        n--;
    return n > 0 ? str_slice(folder, 0, n) : folder;
}

/* Remove '.', '..' and empty parts from a pattern, since paths of files have none; a leading '..'
 * means the folder above. */
static struct str without_dots(struct arena *arena, struct str *folder, struct str pattern)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    VEC(struct str) parts = VEC_INIT;
    struct str rest = pattern;

    while (rest.p) {
        struct str part = str_cut(&rest, '/');

        if (part.n == 0 || str_is(part, "."))
            continue;
        if (!str_is(part, ".."))
            VEC_PUSH_IN(arena, &parts, part);
        else if (parts.n > 0)
            parts.n--;
        else
            *folder = cut_last_folder(*folder);
    }
    for (size_t i = 0; i < parts.n; i++)
        buf_printf(&out, "%s%.*s", i > 0 || pattern.p[0] == '/' ? "/" : "", STR_ARG(parts.p[i]));
    return buf_copy(&out, arena);
}

/* --- public ---------------------------------------------------------------------------------- */

static int expand_path_pattern(struct pathglob_set *set, struct str folder, struct str pattern,
                               bool excludes, struct err *err)
{
    struct choices choices = { .arena = set->arena };

    VEC_PUSH_IN(set->arena, &choices.list, pattern);
    for (size_t i = 0; i < choices.list.n; i++) {
        struct str text = choices.list.p[i], base;
        size_t open = str_find_char(text, '{', 0);
        struct pathglob *glob;

        if (open != STR_NONE) {
            if (split_brace(&choices, text, open, err) < 0)
                return -1;
            continue;
        }
        base = folder;
        text = without_dots(set->arena, &base, text);
        glob = ARENA_NEW(set->arena, struct pathglob);
        *glob = (struct pathglob){ excludes, base, text };
        VEC_PUSH_IN(set->arena, &set->globs, glob);
        if (!excludes)
            add_glob_root(set, base, text);
    }
    return 0;
}

int pathglob_add(struct pathglob_set *set, const char *folder, struct str pattern, struct err *err)
{
    struct str given = pattern, base = { "", 0 };
    bool excludes = pattern.n > 0 && pattern.p[0] == '!';

    if (excludes)
        pattern = str_from_offset(pattern, 1);
    if (pattern.n == 0)
        return err_set(err, ERR_INVALID, "watch '%.*s': the pattern is empty", STR_ARG(given));
    if (pattern.n > PATHGLOB_LENGTH_MAX)
        return err_set(err, ERR_LIMIT, "watch a pattern: it is longer than %d bytes",
                       PATHGLOB_LENGTH_MAX);
    if (pattern.p[0] != '/') {
        bool slash = folder[0] && folder[strlen(folder) - 1] == '/';

        base = str_from(arena_printf(set->arena, "%s%s", folder, slash ? "" : "/"));
    }
    if (expand_path_pattern(set, base, pattern, excludes, err) < 0)
        return err_wrap(err, "watch '%.*s'", STR_ARG(given));
    return 0;
}

static bool match_path_pattern(const struct pathglob *glob, struct str path)
{
    return str_starts(path, glob->folder) &&
           glob_match_with(glob->pattern, str_from_offset(path, glob->folder.n),
                           GLOB_PATH | GLOB_CARET);
}

bool pathglob_match(const struct pathglob_set *set, struct str path)
{
    bool matched = false;

    VEC_EACH (&set->globs, glob) {
        if (!match_path_pattern(*glob, path))
            continue;
        if ((*glob)->excludes)
            return false;
        matched = true;
    }
    return matched;
}
