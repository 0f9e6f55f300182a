/* The words after a function of `zester --local`. */
#include "commands/cli/local/local.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/data/yaml.h"
#include "states/local/wish.h"
#include "states/settings/seal.h"
#include "states/state/host.h"

/* "key=value": the key looks like a name. */
static bool is_word_pair(const char *word)
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

/* Lists and maps are written as YAML, where !secret works as in a file. */
static int read_yaml(struct local *local, const char *key, struct str text, struct value *ret)
{
    static const struct yaml_options options = { .tags = yaml_all_tags }; /* seal_mark knows them */
    struct arena *arena = &local->session.arena;
    int result = yaml_parse(arena, key, text, &options, ret, &local->diags);

    if (result == 0)
        result = seal_mark(arena, ret, &local->diags);
    if (result == 0)
        session_hide_secrets(&local->session, ret);
    return result;
}

/* A list or a map; "{{ x }}" and "{% if x %}" are templates. */
static bool is_container(const char *text)
{
    return text[0] == '[' || (text[0] == '{' && text[1] != '{' && text[1] != '%');
}

/* Anything else is text, which the tables coerce. */
static int read_word_pair(struct local *local, const char *word)
{
    struct arena *arena = &local->session.arena;
    const char *equals = strchr(word, '=');
    struct value key = value_str(arena_str(arena, (struct str){ word, (size_t)(equals - word) }));
    struct value v = value_text(equals + 1);

    if (is_container(equals + 1) && read_yaml(local, key.s.p, v.s, &v) < 0)
        return -1;
    value_map_set(arena, local->given.map, key, v);
    return 0;
}

/* Split the words after the function. */
int local_read_words(struct local *local, struct param_strs operands)
{
    struct arena *arena = &local->session.arena;
    VEC(const char *) words = VEC_INIT;

    local->given = value_map(value_map_new(arena, 0));
    for (size_t i = 1; i < operands.n; i++) {
        if (!is_word_pair(operands.p[i]))
            VEC_PUSH_IN(arena, &words, operands.p[i]);
        else if (read_word_pair(local, operands.p[i]) < 0)
            return -1;
    }
    local->words = (struct param_strs){ words.n, words.p };
    return wish_take_test(&local->given, &local->session.host.test, &local->diags);
}

const char *local_shift(struct local *local)
{
    if (local->words.n == 0)
        return NULL;
    local->words.n--;
    return *local->words.p++;
}

int local_read_wish(struct local *local)
{
    return wish_read(&local->session, local->function, local->words, &local->given, &local->wish,
                     &local->diags);
}

int local_refuse_pairs(struct local *local)
{
    return wish_refuse_pairs(&local->session, local->function, &local->given, &local->diags);
}
