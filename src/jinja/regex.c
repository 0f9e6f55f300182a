#include "jinja/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "jinja/render.h"

#define MATCH_STEPS_MAX  1000000
#define MATCH_MEMORY_MAX (16 * 1024) /* KiB */
#define PATTERN_MAX      65536

struct regex {
    pcre2_code *code;
    struct regex *next; /* all of the rendering, to be freed */
};

/* Found by flags and pattern. */
struct regex_cache {
    struct map by_pattern;
    struct regex *all;
};

static struct regex_cache *cache_of(struct render *render)
{
    if (!render->regexes) {
        render->regexes = ARENA_NEW(render->arena, struct regex_cache);
        render->regexes->by_pattern = (struct map)MAP_INIT_IN(render->arena);
    }
    return render->regexes;
}

static uint32_t options_of(unsigned flags)
{
    return PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C |
           (flags & REGEX_IGNORE_CASE ? PCRE2_CASELESS : 0) |
           (flags & REGEX_MULTILINE ? PCRE2_MULTILINE : 0) |
           (flags & REGEX_VERBOSE ? PCRE2_EXTENDED : 0);
}

int regex_new(struct render *render, struct str pattern, unsigned flags, const struct regex **ret)
{
    struct regex_cache *cache = cache_of(render);
    struct str key = str_from(arena_printf(render->arena, "%u:%.*s", flags, STR_ARG(pattern)));
    struct regex *regex = map_find(&cache->by_pattern, key);
    PCRE2_UCHAR message[256];
    PCRE2_SIZE at;
    int problem;

    if (pattern.n > PATTERN_MAX)
        return render_fail(render, RENDER_LIMIT, "a pattern has at most %d bytes", PATTERN_MAX);
    if (!regex) {
        regex = ARENA_NEW(render->arena, struct regex);
        regex->code =
            pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, options_of(flags), &problem, &at, NULL);
        if (!regex->code) {
            (void)pcre2_get_error_message(problem, message, sizeof(message));
            return render_fail(render, RENDER_TYPE, "pattern '%.*s': %s at offset %zu",
                               STR_ARG(pattern), (const char *)message, at);
        }
        regex->next = cache->all;
        cache->all = regex;
        map_set(&cache->by_pattern, key, regex);
    }
    *ret = regex;
    return 0;
}

static void read_groups(pcre2_match_data *data, uint32_t count, struct regex_match *ret)
{
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);

    ret->count = count < REGEX_GROUPS ? count : REGEX_GROUPS;
    for (size_t i = 0; i < ret->count; i++) {
        ret->groups[i].start = ends[2 * i] == PCRE2_UNSET ? STR_NONE : ends[2 * i];
        ret->groups[i].end = ends[2 * i + 1] == PCRE2_UNSET ? STR_NONE : ends[2 * i + 1];
    }
}

static int run_match(const struct regex *regex, struct str text, size_t from, bool anchored,
                     pcre2_match_data *data)
{
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    int result;

    (void)pcre2_set_match_limit(limits, MATCH_STEPS_MAX);
    (void)pcre2_set_heap_limit(limits, MATCH_MEMORY_MAX);
    result = pcre2_match(regex->code, (PCRE2_SPTR)(text.p ? text.p : ""), text.n, from,
                         anchored ? PCRE2_ANCHORED : 0, data, limits);
    pcre2_match_context_free(limits);
    return result;
}

int regex_find(struct render *render, const struct regex *regex, struct str text, size_t from,
               bool anchored, struct regex_match *ret, bool *ret_found)
{
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(regex->code, NULL);
    uint32_t groups = 0;
    int result;

    if (!data)
        abort(); /* out of memory ends the process */
    result = run_match(regex, text, from, anchored, data);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &groups);
    if (result >= 0)
        read_groups(data, groups + 1, ret);
    pcre2_match_data_free(data);
    *ret_found = result >= 0;
    if (result >= 0 || result == PCRE2_ERROR_NOMATCH)
        return render_step(render, 1);
    if (result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21)
        return render_fail(render, RENDER_TYPE, "a pattern can only search text in UTF-8");
    return render_fail(render, RENDER_LIMIT, "a pattern needs more than %d steps", MATCH_STEPS_MAX);
}

struct str regex_group(const struct regex_match *match, struct str text, size_t group)
{
    if (group >= match->count || match->groups[group].start == STR_NONE)
        return (struct str){ NULL, 0 };
    return str_slice(text, match->groups[group].start,
                     match->groups[group].end - match->groups[group].start);
}

void regex_done(struct render *render)
{
    if (!render->regexes)
        return;
    for (struct regex *regex = render->regexes->all; regex; regex = regex->next)
        pcre2_code_free(regex->code);
    render->regexes = NULL;
}
