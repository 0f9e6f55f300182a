/* Template functions on the command line: 'config.get os'. */
#include "commands/cli/local/local.h"

#include "states/compile/salt.h"
#include "core/data/yaml.h"

/* Lists, maps, numbers and booleans are written as YAML; a template is text. */
static int read_argument(struct local *local, const char *word, struct value *ret)
{
    if (str_starts(str_from(word), STR("{{")) || str_starts(str_from(word), STR("{%"))) {
        *ret = value_text(word);
        return 0;
    }
    return yaml_parse(&local->session.arena, local->function, str_from(word), NULL, ret,
                      &local->diags);
}

/* A module of the same name answers one word; `grains.item a b` is for those that take many. */
bool local_has_template_function(const struct local *local, const struct module *module)
{
    const struct str name = str_from(local->function);

    return salt_has(name) && (!module || (local->words.n > 1 && salt_takes_many(name)));
}

int local_call_template_function(struct local *local)
{
    struct arena *arena = &local->session.arena;
    struct value words = value_list(value_list_new(arena, local->words.n)), item, answer;

    for (size_t i = 0; i < local->words.n; i++) {
        if (read_argument(local, local->words.p[i], &item) < 0)
            return local_refuse(local);
        value_list_push(arena, words.list, item);
    }
    for (size_t i = 0; i < local->given.map->count; i++) {
        struct value *value = &local->given.map->pairs[i].value;

        if (value->kind == VALUE_STR && read_argument(local, value->s.p, value) < 0)
            return local_refuse(local);
    }
    if (salt_call_by_hand(arena, &local->session.host, local->function, &words, &local->given,
                          &answer, &local->diags) < 0)
        return local_refuse(local);
    return local_print_answer(local, &answer);
}
