#include "states/modules/file/pathlist.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/glob.h"
#include "core/base/matcher.h"
#include "core/data/value.h"
#include "core/sys/path.h"

#define PATTERN_PREFIX "E@"

static bool is_pattern(const char *text)
{
    return strncmp(text, PATTERN_PREFIX, strlen(PATTERN_PREFIX)) == 0;
}

int pathlist_init(struct pathlist *list, struct arena *arena, struct param_strs patterns,
                  struct err *err)
{
    *list = (struct pathlist){
        .globs = patterns.p,
        .matchers = ARENA_ARRAY(arena, const struct matcher *, patterns.n + 1),
        .count = patterns.n,
    };
    for (size_t i = 0; i < patterns.n; i++) {
        const struct str text = str_from(patterns.p[i] + strlen(PATTERN_PREFIX));

        if (is_pattern(patterns.p[i]) &&
            matcher_new(arena, text, 0, &list->matchers[i], NULL, err) < 0)
            return -1;
    }
    return 0;
}

int pathlist_validate(struct param_strs patterns, const struct value *where, struct diags *diags)
{
    struct pathlist list;
    struct err err;

    if (pathlist_init(&list, diags->arena, patterns, &err) < 0)
        return value_diag(diags, where, "%s", err.text);
    return 0;
}

int pathlist_matches(const struct pathlist *list, const char *path, bool *ret, struct err *err)
{
    const struct str whole = str_from(path), last = path_basename(path);

    *ret = false;
    for (size_t i = 0; i < list->count && !*ret; i++) {
        if (!list->matchers[i])
            *ret = glob_match(str_from(list->globs[i]), whole) ||
                   glob_match(str_from(list->globs[i]), last);
        else if (matcher_find(list->matchers[i], whole, 0, NULL, ret, err) < 0)
            return -1;
    }
    return 0;
}

int pathlist_keeps(const struct pathlist *list, const char *path, bool *ret, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    *ret = false;
    if (list->count == 0)
        return 0;
    for (const char *p = path; !*ret && strcmp(p, ".") != 0; p = path_dirname(&arena, p))
        if (pathlist_matches(list, p, ret, err) < 0)
            return -1;
    return 0;
}
