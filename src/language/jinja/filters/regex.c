#include "language/jinja/filters/regex.h"

#include "core/base/err.h"
#include "core/base/map.h"
#include "language/jinja/render.h"

/* Found by flags and pattern. */
struct regex_cache {
    struct map by_pattern; /* to struct known */
};

struct known {
    const struct matcher *matcher;
};

static struct map *get_regex_cache(struct render *render)
{
    if (!render->regexes) {
        render->regexes = ARENA_NEW(render->arena, struct regex_cache);
        render->regexes->by_pattern = (struct map)MAP_INIT_IN(render->arena);
    }
    return &render->regexes->by_pattern;
}

static int fail_render(struct render *render, const struct err *err)
{
    return render_fail(render, err->code == ERR_LIMIT ? RENDER_LIMIT : RENDER_TYPE, "%s",
                       err->text);
}

int regex_new(struct render *render, struct str pattern, unsigned flags, const struct matcher **ret)
{
    struct map *cache = get_regex_cache(render);
    struct str key = str_from(arena_printf(render->arena, "%u:%.*s", flags, STR_ARG(pattern)));
    struct known *known = map_find(cache, key);
    struct err err;

    if (!known) {
        known = ARENA_NEW(render->arena, struct known);
        if (matcher_new(render->arena, pattern, flags, &known->matcher, NULL, &err) < 0)
            return fail_render(render, &err);
        map_set(cache, key, known);
    }
    *ret = known->matcher;
    return 0;
}

int regex_find(struct render *render, const struct matcher *matcher, struct str text, size_t from,
               struct matcher_match *ret, bool *ret_found)
{
    struct err err;

    if (matcher_find(matcher, text, from, ret, ret_found, &err) < 0)
        return fail_render(render, &err);
    return render_step(render, 1);
}
