#include "language/target/term.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/matcher.h"
#include "core/base/suggest.h"
#include "core/data/value.h"
#include "language/target/pair.h"
#include "language/target/quoted.h"

typedef int parse_fn(struct arena *arena, struct str text, struct term *term, size_t *reterr_at,
                     struct err *err);
typedef int match_fn(const struct term *term, const struct term_subject *subject, bool *ret_matches,
                     struct err *err);

/* --- ids ---------------------------------------------------------------------- */

static int parse_glob(struct arena *arena, struct str text, struct term *term, size_t *reterr_at,
                      struct err *err)
{
    struct str pattern = quoted_remove(arena, text);

    (void)reterr_at;
    if (pattern.n == 0)
        return err_set(err, ERR_INVALID, "a pattern for ids is empty");
    term->wild = wild_new(arena, pattern, 0);
    return 0;
}

static int match_glob(const struct term *term, const struct term_subject *subject,
                      bool *ret_matches, struct err *err)
{
    (void)err;
    *ret_matches = wild_match(&term->wild, subject->id) ||
                   (subject->other.p && wild_match(&term->wild, subject->other));
    return 0;
}

static int parse_pcre(struct arena *arena, struct str text, struct term *term, size_t *reterr_at,
                      struct err *err)
{
    struct str pattern = quoted_remove(arena, text);

    if (pattern.n == 0)
        return err_set(err, ERR_INVALID, "a regular expression for ids is empty");
    return matcher_new(arena, pattern, 0, &term->matcher, reterr_at, err);
}

static int match_pcre(const struct term *term, const struct term_subject *subject,
                      bool *ret_matches, struct err *err)
{
    bool found;

    if (matcher_find(term->matcher, subject->id, 0, NULL, &found, err) < 0)
        return -1;
    if (!found && subject->other.p &&
        matcher_find(term->matcher, subject->other, 0, NULL, &found, err) < 0)
        return -1;
    *ret_matches = found;
    return 0;
}

static int parse_term_list(struct arena *arena, struct str text, struct term *term,
                           size_t *reterr_at, struct err *err)
{
    struct str rest = quoted_remove(arena, text);

    (void)reterr_at;
    term->list = (struct map)MAP_INIT_IN(arena);
    while (rest.p) {
        struct str id = str_trim(str_cut(&rest, ','));

        if (id.n > 0)
            map_set(&term->list, id, term);
    }
    if (map_count(&term->list) == 0)
        return err_set(err, ERR_INVALID, "a list of ids is empty");
    return 0;
}

static int match_list(const struct term *term, const struct term_subject *subject,
                      bool *ret_matches, struct err *err)
{
    (void)err;
    *ret_matches = map_has(&term->list, subject->id) ||
                   (subject->other.p && map_has(&term->list, subject->other));
    return 0;
}

/* --- facts and settings --------------------------------------------------------- */

static int parse_pair(struct arena *arena, struct str text, struct term *term, size_t *reterr_at,
                      struct err *err)
{
    enum pair_kind kind = term_is_regex(term->type) ? PAIR_MATCHER : PAIR_WILD;

    return pair_parse(arena, text, kind, &term->pair, reterr_at, err);
}

static int match_fact(const struct term *term, const struct term_subject *subject,
                      bool *ret_matches, struct err *err)
{
    return pair_match(term->pair, subject->facts, ret_matches, err);
}

static int match_settings(const struct term *term, const struct term_subject *subject,
                          bool *ret_matches, struct err *err)
{
    return pair_match(term->pair, subject->settings, ret_matches, err);
}

/* --- addresses ------------------------------------------------------------------- */

static int parse_subnet(struct arena *arena, struct str text, struct term *term, size_t *reterr_at,
                        struct err *err)
{
    (void)reterr_at;
    return subnet_parse(str_trim(quoted_remove(arena, text)), &term->subnet, err);
}

static bool subnet_has_value(const struct subnet *subnet, const struct value *v)
{
    if (value_is(v, VALUE_STR))
        return subnet_has(subnet, v->s);
    for (size_t i = 0; value_is(v, VALUE_LIST) && i < v->list->count; i++)
        if (v->list->items[i].kind == VALUE_STR && subnet_has(subnet, v->list->items[i].s))
            return true;
    return false;
}

static int match_subnet(const struct term *term, const struct term_subject *subject,
                        bool *ret_matches, struct err *err)
{
    /* Facts with addresses of the machine. */
    static const char *const paths[] = { "ipv4", "ipv6", "network.ipv4", "network.ipv6",
                                         "default_ipv4" };
    bool matches = false;

    (void)err;
    for (size_t i = 0; subject->facts && i < ARRAY_LEN(paths) && !matches; i++)
        matches =
            subnet_has_value(&term->subnet, value_path(subject->facts, str_from(paths[i]), '.'));
    *ret_matches = matches;
    return 0;
}

/* --- the table --------------------------------------------------------------------- */

/* clang-format off */
static const struct {
    char letter;
    bool regex;
    const char *names[4]; /* the first is ours, the others are Salt's or short */
    parse_fn *parse;
    match_fn *match;
} types[TARGET_TYPES] = {
    [TARGET_COMPOUND]      = { 0,   false, { "compound", "auto" },                NULL,         NULL },
    [TARGET_GLOB]          = { 0,   false, { "glob" },                            parse_glob,   match_glob },
    [TARGET_PCRE]          = { 'E', true,  { "pcre", "regex" },                   parse_pcre,   match_pcre },
    [TARGET_FACT]          = { 'G', false, { "fact", "grain", "grains", "facts" }, parse_pair,  match_fact },
    [TARGET_FACT_PCRE]     = { 'P', true,  { "fact_pcre", "grain_pcre" },         parse_pair,   match_fact },
    [TARGET_SETTINGS]      = { 'I', false, { "settings", "pillar", "setting" },   parse_pair,   match_settings },
    [TARGET_SETTINGS_PCRE] = { 'J', true,  { "settings_pcre", "pillar_pcre" },    parse_pair,   match_settings },
    [TARGET_LIST]          = { 'L', false, { "list" },                            parse_term_list,   match_list },
    [TARGET_SUBNET]        = { 'S', false, { "subnet", "ipcidr" },                parse_subnet, match_subnet },
    [TARGET_GROUP]         = { 'N', false, { "group", "nodegroup" },              NULL,         NULL },
};
/* clang-format on */

enum target_type term_prefix_type(char letter)
{
    for (int i = 0; i < TARGET_TYPES; i++)
        if (types[i].letter == letter && letter != '\0')
            return (enum target_type)i;
    return TARGET_COMPOUND;
}

const char *term_prefixes(void)
{
    return "E@ G@ I@ J@ L@ N@ P@ S@";
}

bool term_is_regex(enum target_type type)
{
    return types[type].regex;
}

bool term_is_about_settings(const struct term *term)
{
    return term->type == TARGET_SETTINGS || term->type == TARGET_SETTINGS_PCRE;
}

bool target_type_find(struct str name, enum target_type *ret_type, const char **reterr_nearest)
{
    struct suggest suggest;
    struct str best;

    suggest_init(&suggest, name);
    for (int i = 0; i < TARGET_TYPES; i++)
        for (size_t k = 0; k < ARRAY_LEN(types[i].names) && types[i].names[k]; k++) {
            if (str_is(name, types[i].names[k])) {
                *ret_type = (enum target_type)i;
                return true;
            }
            suggest_offer(&suggest, str_from(types[i].names[k]));
        }
    best = suggest_best(&suggest);
    if (reterr_nearest)
        *reterr_nearest = best.p;
    return false;
}

const char *target_type_name(enum target_type type)
{
    return types[type].names[0];
}

const char *target_fold(struct arena *arena, const char *text, enum target_type type)
{
    const char letter = types[type].letter;

    return letter ? arena_printf(arena, "%c@%s", letter, text) : arena_strdup(arena, text);
}

int term_parse(struct arena *arena, enum target_type type, struct str text, struct term *ret_term,
               size_t *reterr_at, struct err *err)
{
    struct term term = { .type = type };

    *reterr_at = 0;
    if (types[type].parse(arena, text, &term, reterr_at, err) < 0)
        return -1;
    *ret_term = term;
    return 0;
}

int term_match(const struct term *term, const struct term_subject *subject, bool *ret_matches,
               struct err *err)
{
    return types[term->type].match(term, subject, ret_matches, err);
}
