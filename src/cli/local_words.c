/* The words after a function of `zester --local`. */
#include "cli/local.h"

#include <string.h>

#include "base/arena.h"
#include "data/yaml.h"
#include "settings/seal.h"
#include "state/host.h"

/* "key=value": the key looks like a name. */
static bool is_pair(const char *word)
{
    const char *equals = strchr(word, '=');

    if (!equals || equals == word)
        return false;
    for (const char *p = word; p < equals; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
              *p == '_' || *p == '-'))
            return false;
    return true;
}

/* Lists and maps are written as YAML, and !secret means there what it means in a file. */
static int read_yaml(struct local *local, const char *key, struct str text, struct value *ret)
{
    struct arena *arena = &local->session.arena;
    const size_t before = local->diags.list.n;
    int result = yaml_parse(arena, key, text, NULL, ret, &local->diags);

    if (result == 0)
        result = seal_mark(arena, ret, &local->diags);
    seal_hide(&local->diags, before);
    if (result == 0)
        session_hide_secrets(&local->session, ret);
    return result;
}

/* What is neither a list nor a map is text, which the tables coerce. */
static int read_pair(struct local *local, const char *word)
{
    struct arena *arena = &local->session.arena;
    const char *equals = strchr(word, '=');
    struct value key = value_str(arena_str(arena, (struct str){ word, (size_t)(equals - word) }));
    struct value v = value_text(equals + 1);

    if ((equals[1] == '[' || equals[1] == '{') && read_yaml(local, key.s.p, v.s, &v) < 0)
        return -1;
    value_map_set(arena, local->given.map, key, v);
    return 0;
}

/* `test=True` is Salt's way to ask for a dry run. An unclear value is refused: reading it wrongly
 * would change the machine. */
static int read_test(struct local *local, const struct value *asked)
{
    static const char *const yes[] = { "true", "yes", "1", "on" };
    static const char *const no[] = { "false", "no", "0", "off" };

    for (size_t i = 0; i < ARRAY_LEN(yes) && asked->kind == VALUE_STR; i++) {
        if (strcasecmp(asked->s.p, yes[i]) == 0)
            local->session.host.test = true;
        if (strcasecmp(asked->s.p, yes[i]) == 0 || strcasecmp(asked->s.p, no[i]) == 0)
            return 0;
    }
    return diag_add(&local->diags, (struct place){ 0 }, "'test' must be true or false, got '%s'",
                    asked->kind == VALUE_STR ? asked->s.p : value_describe(asked));
}

/* Split the words after the function. */
int local_read_words(struct local *local, struct param_strs operands)
{
    struct arena *arena = &local->session.arena;
    VEC(const char *) words = VEC_INIT;
    struct value test = value_text("test");
    const struct value *asked;

    local->given = value_map(value_map_new(arena, 0));
    for (size_t i = 1; i < operands.n; i++) {
        if (!is_pair(operands.p[i]))
            VEC_PUSH_IN(arena, &words, operands.p[i]);
        else if (read_pair(local, operands.p[i]) < 0)
            return -1;
    }
    local->words = (struct param_strs){ words.n, words.p };
    asked = value_map_find(local->given.map, &test);
    if (asked && read_test(local, asked) < 0)
        return -1;
    if (asked)
        (void)value_map_remove(local->given.map, &test);
    return 0;
}

const char *local_shift(struct local *local)
{
    if (local->words.n == 0)
        return NULL;
    local->words.n--;
    return *local->words.p++;
}

/* --- pairs of functions of states ---------------------------------------------------------- */

struct wish_args {
    struct param_strs refs;
    const struct value *settings, *exclude;
    const char *saltenv, *pillarenv;
    bool queue;
};

/* clang-format off */
static const struct param wish_params[] = {
    PARAM("mods", STRS, struct wish_args, refs, "references", .aliases = "state"),
    PARAM("pillar", MAP, struct wish_args, settings, "settings that go before those of the machine", .aliases = "settings"),
    PARAM("exclude", ANY, struct wish_args, exclude, "what is left out: references, or a list with 'id: ID' and 'sls: REF'"),
    PARAM("saltenv", STR, struct wish_args, saltenv, "the one environment: base", .default_text = "base"),
    PARAM("pillarenv", STR, struct wish_args, pillarenv, "the same for settings", .default_text = "base"),
    PARAM("queue", BOOL, struct wish_args, queue, "wait for another run, which is done anyway"),
    { 0 },
};
/* clang-format on */

/* Known, for those who mistype it. */
static const char *const read_already[] = { "test", NULL };

static const struct param no_params[] = {
    { 0 },
};

/* "a,b" on the command line is a list. */
static const struct value *split_commas(struct arena *arena, const struct value *v)
{
    struct value *list;
    struct str rest;

    if (!value_is(v, VALUE_STR))
        return v;
    list = ARENA_NEW(arena, struct value);
    *list = value_list(value_list_new(arena, 1));
    for (rest = v->s; rest.p;)
        value_list_push(arena, list->list, value_str(str_trim(str_cut(&rest, ','))));
    return list;
}

static void lay_over(struct local *local, const struct value *settings)
{
    struct value *merged = ARENA_NEW(&local->session.arena, struct value);

    *merged = value_merge(&local->session.arena, local->session.host.settings, settings,
                          VALUE_MERGE_REPLACE);
    local->session.host.settings = merged;
}

int local_read_wish(struct local *local)
{
    const struct params_policy policy = { .owner = local->function, .allowed = read_already };
    struct wish_args got = { 0 };

    if (params_decode(&local->session.arena, wish_params, &policy, &local->given, &got,
                      &local->diags) < 0)
        return -1;
    if (strcmp(got.saltenv, "base") != 0 || strcmp(got.pillarenv, "base") != 0)
        return diag_add(&local->diags, (struct place){ 0 },
                        "unknown environment '%s': all files are in 'base'",
                        strcmp(got.saltenv, "base") != 0 ? got.saltenv : got.pillarenv);
    if (got.refs.n > 0 && local->words.n > 0)
        return diag_add(&local->diags, (struct place){ 0 },
                        "references are given twice: '%s' and '%s'", local->words.p[0],
                        got.refs.p[0]);
    if (got.settings)
        lay_over(local, got.settings);
    local->wish.refs = got.refs.n > 0 ? got.refs : local->words;
    local->wish.exclude = split_commas(&local->session.arena, got.exclude);
    /* 'highstate' is the name for the top file. */
    if (local->wish.refs.n == 1 && strcmp(local->wish.refs.p[0], "highstate") == 0)
        local->wish.refs.n = 0;
    return 0;
}

int local_refuse_pairs(struct local *local)
{
    const struct params_policy policy = { .owner = local->function, .allowed = read_already };
    char none;

    return params_decode(&local->session.arena, no_params, &policy, &local->given, &none,
                         &local->diags);
}
