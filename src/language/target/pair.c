#include "language/target/pair.h"

#include <stdint.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/matcher.h"
#include "core/base/number.h"
#include "core/data/value.h"
#include "core/data/words.h"
#include "language/target/quoted.h"
#include "language/target/wild.h"

enum pair_operator { PAIR_EQ, PAIR_NE, PAIR_LE, PAIR_GE, PAIR_LT, PAIR_GT };

/* Longer ones first. */
static const struct {
    const char *text;
    enum pair_operator op;
} operators[] = {
    { "!=", PAIR_NE }, { "<=", PAIR_LE }, { ">=", PAIR_GE }, { "<", PAIR_LT }, { ">", PAIR_GT },
};

/* One split of the text. */
struct cut {
    struct str path; /* parts are separated by '.' */
    enum pair_operator op;
    const struct matcher *matcher; /* NULL: the wild pattern or the operand */
    struct wild wild;
    struct str operand;
    double number;
    bool is_number;
};

struct pair {
    size_t count;
    struct cut cuts[];
};

/* --- parsing --------------------------------------------------------------- */

static bool parse_pair_number(struct str text, double *ret)
{
    struct err ignored;

    return number_parse_double(text, ret, &ignored) == 0;
}

static struct str make_dotted_key(struct arena *arena, struct str key)
{
    char *path = arena_strndup(arena, key.p, key.n);

    for (size_t at = quoted_find(key, ':', 0); at != STR_NONE; at = quoted_find(key, ':', at + 1))
        path[at] = '.';
    return quoted_remove(arena, (struct str){ path, key.n });
}

static void parse_value(struct arena *arena, struct str text, struct cut *cut)
{
    for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
        struct str op = str_from(operators[i].text);

        if (str_starts(text, op)) {
            cut->op = operators[i].op;
            text = str_from_offset(text, op.n);
            break;
        }
    }
    cut->operand = quoted_remove(arena, text);
    cut->wild = wild_new(arena, cut->operand, WILD_FOLD);
    cut->is_number = parse_pair_number(cut->operand, &cut->number);
}

static int parse_cut(struct arena *arena, struct str key, struct str value, enum pair_kind kind,
                     struct cut *cut, size_t *reterr_at, struct err *err)
{
    cut->path = make_dotted_key(arena, key);
    if (kind == PAIR_WILD) {
        parse_value(arena, value, cut);
        return 0;
    }
    return matcher_new(arena, quoted_remove(arena, value), MATCHER_IGNORE_CASE, &cut->matcher,
                       reterr_at, err);
}

static int check_colons(struct str text, size_t *ret_count, struct err *err)
{
    size_t count = 0, first = quoted_find(text, ':', 0);

    for (size_t at = first; at != STR_NONE; at = quoted_find(text, ':', at + 1))
        count++;
    if (text.n == 0)
        return err_set(err, ERR_INVALID, "key and value are missing");
    if (count == 0)
        return err_set(err, ERR_INVALID, "'%.*s' has no colon between key and value",
                       STR_ARG(text));
    if (first == 0)
        return err_set(err, ERR_INVALID, "'%.*s' has no key before its colon", STR_ARG(text));
    if (count > PAIR_CUTS_MAX)
        return err_set(err, ERR_LIMIT, "a matcher has at most %d colons outside of quotes",
                       PAIR_CUTS_MAX);
    *ret_count = count;
    return 0;
}

int pair_parse(struct arena *arena, struct str text, enum pair_kind kind,
               const struct pair **ret_pair, size_t *reterr_at, struct err *err)
{
    struct pair *pair;
    size_t count = 0;

    *reterr_at = 0;
    if (check_colons(text, &count, err) < 0)
        return -1;
    pair = arena_zalloc(arena, sizeof(*pair) + mem_product(count, sizeof(pair->cuts[0])));
    for (size_t at = quoted_find(text, ':', 0); at != STR_NONE;
         at = quoted_find(text, ':', at + 1)) {
        struct cut *cut = &pair->cuts[pair->count];
        size_t inside = 0;

        if (parse_cut(arena, str_slice(text, 0, at), str_from_offset(text, at + 1), kind, cut,
                      &inside, err) == 0) {
            pair->count++;
        } else if (pair->count == 0) {
            *reterr_at = at + 1 + inside;
            return -1;
        }
        /* A regular expression cut in two, as in (?:a), is not a second split. */
    }
    *ret_pair = pair;
    return 0;
}

/* --- comparing -------------------------------------------------------------- */

/* The texts that a walk through the tree has reached, which are compared or collected. */
struct walk {
    const struct cut *cut; /* NULL: they are collected in `reach` */
    struct buf *reach;
    struct err *err;
    bool found, hit, failed;
};

static bool is_version_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct str get_leading_digits(struct str text)
{
    size_t n = 0;

    while (n < text.n && is_version_digit(text.p[n]))
        n++;
    return str_slice(text, 0, n);
}

/* Numbers of any length, without leading zeros. */
static int compare_digit_runs(struct str a, struct str b)
{
    while (a.n > 1 && a.p[0] == '0')
        a = str_from_offset(a, 1);
    while (b.n > 1 && b.p[0] == '0')
        b = str_from_offset(b, 1);
    if (a.n != b.n)
        return a.n < b.n ? -1 : 1;
    return str_compare(a, b);
}

/* 6.10.2 after 6.9: runs of digits by number, all other bytes by value. */
static int compare_version_texts(struct str a, struct str b)
{
    while (a.n > 0 && b.n > 0) {
        struct str x = get_leading_digits(a), y = get_leading_digits(b);
        int order;

        if (x.n > 0 && y.n > 0) {
            order = compare_digit_runs(x, y);
        } else {
            x = str_slice(a, 0, 1);
            y = str_slice(b, 0, 1);
            order = str_compare(x, y);
        }
        if (order != 0)
            return order;
        a = str_from_offset(a, x.n);
        b = str_from_offset(b, y.n);
    }
    return (a.n > 0) - (b.n > 0);
}

static int compare_limit(const struct cut *cut, struct str text)
{
    double number;

    if (cut->is_number && parse_pair_number(text, &number))
        return (number > cut->number) - (number < cut->number);
    if (cut->operand.n > 0 && text.n > 0 && is_version_digit(cut->operand.p[0]) &&
        is_version_digit(text.p[0]))
        return compare_version_texts(text, cut->operand);
    return str_compare(text, cut->operand);
}

/* Its size, then its bytes. */
static bool collect_text(struct walk *walk, struct str text)
{
    const uint32_t size = (uint32_t)text.n;

    buf_add(walk->reach, &size, sizeof(size));
    buf_add_str(walk->reach, text);
    return false;
}

static bool text_hits(struct walk *walk, struct str text)
{
    const struct cut *cut = walk->cut;
    bool found = false;

    if (!cut)
        return collect_text(walk, text);
    if (cut->matcher) {
        if (matcher_find(cut->matcher, text, 0, NULL, &found, walk->err) < 0)
            walk->failed = true;
        return found;
    }
    switch (cut->op) {
    case PAIR_EQ:
    case PAIR_NE: return wild_match(&cut->wild, text);
    case PAIR_LE: return compare_limit(cut, text) <= 0;
    case PAIR_GE: return compare_limit(cut, text) >= 0;
    case PAIR_LT: return compare_limit(cut, text) < 0;
    case PAIR_GT: return compare_limit(cut, text) > 0;
    }
    return false;
}

static bool printed_hits(struct walk *walk, const struct value *v)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    return words_print(&text, v) && text_hits(walk, buf_view(&text));
}

static bool scalar_hits(struct walk *walk, const struct value *v)
{
    if (v->kind == VALUE_STR || v->kind == VALUE_BYTES)
        return text_hits(walk, v->s);
    if (v->kind == VALUE_NULL)
        return text_hits(walk, STR("none")) || text_hits(walk, STR("null"));
    return printed_hits(walk, v);
}

static bool member_hits(struct walk *walk, const struct value *map, const char *key)
{
    const struct value *found = value_get(map, key);

    return found && found->kind == VALUE_STR && text_hits(walk, found->s);
}

/* A key that is a name, or a name that the map itself has: here `os` is debian; in Salt it is the
 * title, which is not always the same word (rhel and RedHat). */
static bool map_hits(struct walk *walk, const struct value *v)
{
    for (size_t i = 0; i < v->map->count; i++)
        if (scalar_hits(walk, &v->map->pairs[i].key))
            return true;
    return member_hits(walk, v, "name") || member_hits(walk, v, "title");
}

/* "*" matches any value, even an empty list. */
static bool takes_all(const struct cut *cut)
{
    return cut && !cut->matcher && str_is(cut->wild.pattern, "*") && cut->op == PAIR_EQ;
}

static void match_value(struct walk *walk, const struct value *v)
{
    walk->found = true;
    if (walk->hit)
        return;
    if (takes_all(walk->cut))
        walk->hit = true;
    else if (v->kind == VALUE_LIST)
        for (size_t i = 0; i < v->list->count && !walk->hit; i++)
            match_value(walk, &v->list->items[i]);
    else
        walk->hit = v->kind == VALUE_MAP ? map_hits(walk, v) : scalar_hits(walk, v);
}

/* The value of a key, which may be a number. */
static const struct value *get_path_member(const struct value *map, struct str key)
{
    const struct value *found = value_get_str(map, key);

    return found || !is_version_digit(key.p[0]) ? found : value_path(map, key, '\0');
}

/* Depth: each step goes one level down the tree, whose reader has limited its depth. */
static void follow_value_path(struct walk *walk, const struct value *v, struct str path)
{
    size_t at = str_find_char(path, '.', 0);
    const struct value *next;

    if (v->kind == VALUE_LIST) {
        next = value_path(v, str_slice(path, 0, at == STR_NONE ? path.n : at), '.');
        if (next && at == STR_NONE)
            match_value(walk, next);
        else if (next)
            follow_value_path(walk, next, str_from_offset(path, at + 1));
        for (size_t i = 0; !next && i < v->list->count; i++)
            follow_value_path(walk, &v->list->items[i], path);
        return;
    }
    if (v->kind != VALUE_MAP)
        return;
    next = path.n > 0 ? get_path_member(v, path) : NULL;
    if (next)
        match_value(walk, next);
    for (; at != STR_NONE; at = str_find_char(path, '.', at + 1)) {
        next = at > 0 ? get_path_member(v, str_slice(path, 0, at)) : NULL;
        if (next)
            follow_value_path(walk, next, str_from_offset(path, at + 1));
    }
}

static bool is_pair_match(const struct walk *walk)
{
    return walk->cut->op == PAIR_NE ? walk->found && !walk->hit : walk->hit;
}

int pair_match(const struct pair *pair, const struct value *tree, bool *ret_matches,
               struct err *err)
{
    bool matches = false;

    for (size_t i = 0; i < pair->count && !matches && tree; i++) {
        struct walk walk = { .cut = &pair->cuts[i], .err = err };

        follow_value_path(&walk, tree, pair->cuts[i].path);
        if (walk.failed)
            return -1;
        matches = is_pair_match(&walk);
    }
    *ret_matches = matches;
    return 0;
}

/* --- many trees ---------------------------------------------------------------- */

/* First byte of a reach, so that one without texts is not empty. */
#define REACH_FOUND '+'

size_t pair_cuts(const struct pair *pair)
{
    return pair->count;
}

struct str pair_path(const struct pair *pair, size_t cut)
{
    return pair->cuts[cut].path;
}

void pair_reach(struct str path, const struct value *tree, struct buf *out)
{
    const size_t before = out->n;
    struct walk walk = { .reach = out };

    buf_add_char(out, REACH_FOUND);
    follow_value_path(&walk, tree, path);
    if (!walk.found)
        buf_cut(out, before);
}

int pair_match_reach(const struct pair *pair, size_t cut, struct str reach, bool *ret_matches,
                     struct err *err)
{
    struct walk walk = { .cut = &pair->cuts[cut], .err = err, .found = reach.n > 0 };
    struct str rest = str_from_offset(reach, reach.n > 0 ? 1 : 0);

    walk.hit = walk.found && takes_all(walk.cut);
    while (rest.n > 0 && !walk.hit && !walk.failed) {
        uint32_t size;

        memcpy(&size, rest.p, sizeof(size));
        walk.hit = text_hits(&walk, str_slice(rest, sizeof(size), size));
        rest = str_from_offset(rest, sizeof(size) + size);
    }
    *ret_matches = is_pair_match(&walk);
    return walk.failed ? -1 : 0;
}
