#include "commands/cli/fleet/words.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/mem.h"
#include "commands/cli/shared/command.h"
#include "core/data/yaml.h"
#include "fleet/view/binding.h"
#include "states/local/agent.h"
#include "states/local/perform.h"
#include "states/local/verb.h"
#include "states/state/module.h"
#include "core/sys/clock.h"

/* "key=value": the key looks like a name. */
static bool is_line_pair(const char *word)
{
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

    return n > 0 && word[n] == '=';
}

/* A command may well look like a pair, as "LANG=C sort x" does; one that names the argument is. */
static bool is_positional(const struct fleet_binding *binding, size_t place, const char *word)
{
    if (place >= (size_t)binding->least || !strchr(word, ' '))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(binding->keys) && binding->keys[i]; i++)
        if (str_is((struct str){ word, strcspn(word, "=") }, binding->keys[i]))
            return false;
    return true;
}

static int add_line_pair(struct cli *cli, struct value_map *args, const char *word)
{
    const char *equals = strchr(word, '=');
    struct diags diags = DIAGS_INIT(cli->arena);
    struct value key =
        value_str(arena_str(cli->arena, (struct str){ word, (size_t)(equals - word) }));
    struct value v = value_text(equals + 1);

    if ((equals[1] == '[' || equals[1] == '{') &&
        yaml_parse(cli->arena, key.s.p, v.s, NULL, &v, &diags) < 0)
        return cli_diags(cli, &diags);
    value_map_set(cli->arena, args, key, v);
    return CLI_OK;
}

/* A list, or anything else that is more than nothing. */
static bool is_param_given(const struct value *given, const char *key)
{
    const struct value *v = value_get(given, key);

    return v && (v->kind != VALUE_STR || v->s.n > 0);
}

/* When no word is in front: the first argument, if it was written as key=value. */
static const char *find_state_word(const struct fleet_binding *binding, const struct value *given)
{
    const bool is_apply = binding->function && strcmp(binding->function, "state.apply") == 0;
    const char *key = binding->keys[0] && binding->keys[0][0] ? binding->keys[0] : NULL;
    const char *text;

    if (is_apply && !is_param_given(given, key))
        key = "mods"; /* as in Salt */
    if (!key || !is_param_given(given, key))
        return is_apply ? "highstate" : FLEET_BINDING_NO_WORD;
    text = value_get_text(given, key);
    return text ? text : FLEET_BINDING_NO_WORD;
}

/* A function without a binding: words after the first are positional, too. Not those of a state,
 * whose word is its name. */
static const struct param *find_params(const struct fleet_binding *binding, const char *function)
{
    const struct module *module = binding->function ? NULL : module_find(str_from(function));

    return module && !module_applies(module) ? module->params : params_none;
}

int fleet_words_read(struct cli *cli, struct param_strs words, const char *function,
                     struct fleet_words *ret)
{
    const struct fleet_binding *binding = fleet_binding_find(function);
    struct value_map *args = value_map_new(cli->arena, words.n);
    const struct value given = value_map(args);
    const struct param *params = find_params(binding, function);
    const size_t places = params_places(params);
    VEC(const char *) bare = { 0 };
    const struct param *twice;
    size_t place = 0, pairs = 0;

    ret->function = function;
    ret->id = binding->id ? binding->id : "";
    for (size_t i = 0; i < words.n; i++) {
        const char *word = words.p[i];
        const bool has_key = place < ARRAY_LEN(binding->keys) && binding->keys[place];

        if (is_line_pair(word) && !is_positional(binding, place, word)) {
            if (add_line_pair(cli, args, word) != CLI_OK)
                return CLI_ERROR;
            pairs++;
            continue;
        }
        if (pairs > 0 && strcmp(function, "state.apply") == 0)
            return cli_usage(cli, "unexpected argument '%s' after key=value: the state comes first",
                             word);
        if (!has_key && place >= places)
            return cli_usage(cli, "unexpected argument '%s' after %s (write options as key=value)",
                             word, function);
        VEC_PUSH_IN(cli->arena, &bare, word);
        if (has_key && binding->keys[place][0])
            value_map_set(cli->arena, args, value_text(binding->keys[place]), value_text(word));
        if (place == 0 && !binding->id)
            ret->id = word;
        place++;
    }
    twice = params_find_twice(params, bare.n, args);
    if (twice)
        return cli_usage(cli, "%s: '%s' is given twice, by position and by name", function,
                         twice->name);
    if (bare.n > 1) /* a single one is the id, which every peel understands */
        (void)params_bind_words(cli->arena, params, &(struct param_strs){ bare.n, bare.p }, args);
    for (size_t i = 0; i < (size_t)binding->least; i++) {
        const char *text = value_get_text(&given, binding->keys[i]);

        if (!value_get(&given, binding->keys[i]) || (i == 0 && text && !text[0]))
            return cli_usage(cli, "%s requires a %s argument", function, binding->keys[i]);
    }
    if (ret->id[0] == '\0')
        ret->id = find_state_word(binding, &given);
    ret->args = value_map(args);
    return CLI_OK;
}

const struct param *fleet_words_missing(const struct fleet_words *words)
{
    const struct module *module = !fleet_binding_find(words->function)->function
                                      ? module_find(str_from(words->function))
                                      : NULL;

    if (!module || strcmp(words->id, FLEET_BINDING_NO_WORD) != 0)
        return NULL;
    return module_missing(module, &words->args);
}

/* A state run takes longer than a query. */
int64_t fleet_words_timeout(const struct fleet_words *words, int64_t otherwise)
{
    if (strcmp(words->function, "state.highstate") == 0)
        return 600 * CLOCK_SECOND;
    if (strcmp(words->function, "state.apply") == 0)
        return (strcmp(words->id, "highstate") == 0 ? 600 : 300) * CLOCK_SECOND;
    return otherwise;
}

void fleet_words_set(struct cli *cli, struct fleet_words *words, const char *option)
{
    value_map_set(cli->arena, words->args.map, value_text(option), value_bool(true));
}

/* A function that this version does not know is left to the peels. */
static bool is_known_function(const char *function)
{
    return perform_class(function) != PERFORM_UNKNOWN || agent_function_find(function);
}

int fleet_words_detailed(struct cli *cli, const struct fleet_words *words, const char *option)
{
    cli->detailed = true;
    if (option)
        return cli_usage(cli, "--detailed-exitcode is about results: leave out %s", option);
    if (is_known_function(words->function) && !verb_applies(words->function))
        return cli_usage(cli, COMMAND_DETAILED_REFUSAL, words->function);
    return CLI_OK;
}

int fleet_words_revert_on_failure(struct cli *cli, struct fleet_words *words)
{
    if (!verb_runs_states(words->function))
        return cli_usage(cli,
                         "--revert-on-failure is for state.apply and state.highstate, not for %s",
                         words->function);
    fleet_words_set(cli, words, "revert_on_failure");
    return CLI_OK;
}
