#include "core/base/matcher.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/utf8.h"

/* Room for the library's error message. */
#define MESSAGE_SIZE 256
/* The longest name that the library supports. */
#define GROUP_NAME_MAX 32

struct matcher {
    pcre2_code *code;
    pcre2_code *strict; /* for texts known to be UTF-8; NULL without MATCHER_MANY */
    uint32_t groups;    /* the whole match included */
    bool bound;         /* refers to the ends of the text, or to the start of a search */
};

static void *alloc_in_arena(size_t size, void *arena)
{
    return arena_alloc(arena, size);
}

/* An arena frees it later. */
static void free_regex_memory(void *p, void *arena)
{
    (void)p;
    (void)arena;
}

static uint32_t get_pcre2_options(unsigned flags)
{
    return PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C |
           (flags & MATCHER_IGNORE_CASE ? PCRE2_CASELESS : 0) |
           (flags & MATCHER_MULTILINE ? PCRE2_MULTILINE : 0) |
           (flags & MATCHER_DOTALL ? PCRE2_DOTALL : 0) |
           (flags & MATCHER_VERBOSE ? PCRE2_EXTENDED : 0) |
           (flags & MATCHER_ANCHORED ? PCRE2_ANCHORED : 0);
}

/* Assertions about an end of the text, or the start of a search, that must not hold at an end of
 * the valid UTF-8 within it. */
static bool has_bounds(struct str pattern)
{
    static const char letters[] = "AzZG";

    for (size_t i = 0; i + 1 < pattern.n; i++)
        if (pattern.p[i] == '\\' && memchr(letters, pattern.p[i + 1], sizeof(letters) - 1))
            return true;
    return false;
}

int matcher_new(struct arena *arena, struct str pattern, unsigned flags,
                const struct matcher **ret_matcher, size_t *reterr_at, struct err *err)
{
    struct matcher *matcher = ARENA_NEW(arena, struct matcher);
    PCRE2_UCHAR message[MESSAGE_SIZE];
    PCRE2_SIZE at = 0;
    int problem;

    if (reterr_at)
        *reterr_at = 0;
    if (pattern.n > MATCHER_PATTERN_MAX)
        return err_set(err, ERR_LIMIT, "a pattern has at most %zu bytes", MATCHER_PATTERN_MAX);
    if (pattern.n == 0)
        pattern = STR(""); /* it may be NULL */

    pcre2_general_context *memory =
        pcre2_general_context_create(alloc_in_arena, free_regex_memory, arena);
    pcre2_compile_context *context = pcre2_compile_context_create(memory);

    matcher->code =
        pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n,
                      get_pcre2_options(flags) | PCRE2_MATCH_INVALID_UTF, &problem, &at, context);
    if (!matcher->code) {
        if (reterr_at)
            *reterr_at = at < pattern.n ? at : pattern.n;
        (void)pcre2_get_error_message(problem, message, sizeof(message));
        return err_set(err, ERR_INVALID, "pattern '%.*s': %s", STR_ARG(pattern),
                       (const char *)message);
    }
    (void)pcre2_pattern_info(matcher->code, PCRE2_INFO_CAPTURECOUNT, &matcher->groups);
    matcher->groups++;
    matcher->bound = has_bounds(pattern);
    matcher->strict = flags & MATCHER_MANY
                          ? pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n,
                                          get_pcre2_options(flags), &problem, &at, context)
                          : NULL;
    *ret_matcher = matcher;
    return 0;
}

static void read_match_groups(pcre2_match_data *data, uint32_t count, struct matcher_match *ret)
{
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);

    ret->count = count < MATCHER_GROUPS_MAX ? count : MATCHER_GROUPS_MAX;
    for (size_t i = 0; i < ret->count; i++) {
        bool took_part = ends[2 * i] != PCRE2_UNSET;

        ret->groups[i].start = took_part ? ends[2 * i] : STR_NONE;
        ret->groups[i].end = took_part ? ends[2 * i + 1] : STR_NONE;
    }
}

static int match_from(const struct matcher *matcher, const pcre2_code *code, uint32_t options,
                      struct str text, size_t from, struct matcher_match *ret_match,
                      bool *ret_found, struct err *err)
{
    uint32_t groups = ret_match ? matcher->groups : 1;
    /* On the heap: the arena of the pattern may be shared by threads. */
    pcre2_match_data *data = pcre2_match_data_create(groups, NULL);
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    int result;

    if (!data || !limits)
        abort(); /* out of memory ends the process */
    (void)pcre2_set_match_limit(limits, MATCHER_STEPS_MAX);
    (void)pcre2_set_heap_limit(limits, (uint32_t)(MATCHER_MEMORY_MAX >> 10));
    result =
        pcre2_match(code, (PCRE2_SPTR)(text.p ? text.p : ""), text.n, from, options, data, limits);
    if (result >= 0 && ret_match)
        read_match_groups(data, matcher->groups, ret_match);
    pcre2_match_context_free(limits);
    pcre2_match_data_free(data);
    if (result < 0 && result != PCRE2_ERROR_NOMATCH)
        return err_set(err, ERR_LIMIT,
                       "a pattern needs more than %d steps or %zu bytes of memory to match",
                       MATCHER_STEPS_MAX, MATCHER_MEMORY_MAX);
    *ret_found = result >= 0;
    return 0;
}

int matcher_find(const struct matcher *matcher, struct str text, size_t from,
                 struct matcher_match *ret_match, bool *ret_found, struct err *err)
{
    return match_from(matcher, matcher->code, 0, text, from, ret_match, ret_found, err);
}

/* --- many searches in one text -------------------------------------------------------------------
 *
 * The library can search text that is not UTF-8, but validates what remains of it in each search.
 * So valid stretches are found once, and searched one by one: what the library does, too. */

static void set_stretch(struct matcher_scan *scan, size_t start)
{
    scan->start = start;
    scan->end = start + utf8_valid_length(str_from_offset(scan->text, start));
}

struct matcher_scan matcher_scan(const struct matcher *matcher, struct str text)
{
    struct matcher_scan scan = { .matcher = matcher, .text = text };

    set_stretch(&scan, 0);
    return scan;
}

/* To the next one that is not empty; false at the end of the text. */
static bool next_stretch(struct matcher_scan *scan)
{
    const struct str text = scan->text;
    size_t at;

    do {
        at = scan->end + 1;
        while (at < text.n && ((unsigned char)text.p[at] & 0xc0) == 0x80)
            at++;
        if (at >= text.n)
            return false;
        set_stretch(scan, at);
    } while (scan->end == scan->start);
    return true;
}

static int match_stretch(const struct matcher_scan *scan, size_t from,
                         struct matcher_match *ret_match, bool *ret_found, struct err *err)
{
    const uint32_t options = PCRE2_NO_UTF_CHECK | (scan->start > 0 ? PCRE2_NOTBOL : 0) |
                             (scan->end < scan->text.n ? PCRE2_NOTEOL : 0);
    const struct str text = str_slice(scan->text, scan->start, scan->end - scan->start);

    if (match_from(scan->matcher, scan->matcher->strict, options, text, from - scan->start,
                   ret_match, ret_found, err) < 0)
        return -1;
    for (size_t i = 0; *ret_found && ret_match && i < ret_match->count; i++)
        if (ret_match->groups[i].start != STR_NONE) {
            ret_match->groups[i].start += scan->start;
            ret_match->groups[i].end += scan->start;
        }
    return 0;
}

int matcher_scan_find(struct matcher_scan *scan, size_t from, struct matcher_match *ret_match,
                      bool *ret_found, struct err *err)
{
    const bool whole = scan->start == 0 && scan->end == scan->text.n;

    *ret_found = false;
    if (!scan->matcher->strict || (scan->matcher->bound && !whole))
        return matcher_find(scan->matcher, scan->text, from, ret_match, ret_found, err);
    while (from > scan->end)
        if (!next_stretch(scan))
            return 0;
    for (from = from > scan->start ? from : scan->start;; from = scan->start) {
        if (match_stretch(scan, from, ret_match, ret_found, err) < 0)
            return -1;
        if (*ret_found || !next_stretch(scan))
            return 0;
    }
}

struct str matcher_text(const struct matcher_match *match, struct str text, size_t group)
{
    const struct matcher_group *span = group < match->count ? &match->groups[group] : NULL;

    if (!span || span->start == STR_NONE)
        return (struct str){ NULL, 0 };
    return str_slice(text, span->start, span->end - span->start);
}

size_t matcher_groups(const struct matcher *matcher)
{
    return matcher->groups;
}

size_t matcher_group_named(const struct matcher *matcher, struct str name)
{
    char text[GROUP_NAME_MAX + 1];
    int number;

    if (name.n == 0 || name.n > GROUP_NAME_MAX || memchr(name.p, '\0', name.n))
        return STR_NONE;
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    number = pcre2_substring_number_from_name(matcher->code, (PCRE2_SPTR)text);
    return number > 0 ? (size_t)number : STR_NONE;
}
