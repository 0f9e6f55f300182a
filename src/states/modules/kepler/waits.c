#include "states/modules/kepler/waits.h"

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/number.h"
#include "states/state/module.h"
#include "core/sys/clock.h"

/* How long a revert waits for services to be up again. */
#define RESTORE_NS (60 * CLOCK_SECOND)

int waits_check(struct state_run *run, const struct tool *tool,
                const struct orchestrator_wait *wait, const char *what, struct err *err)
{
    const struct str condition = orchestrator_condition(wait->condition);
    struct orchestrator_wait now = *wait;
    const char *unmet;

    now.timeout = 0;
    if (orchestrator_wait(tool, &now, &unmet, NULL, err) < 0)
        return -1;
    if (!unmet)
        state_say(run, "%s meets the condition '%.*s'", what, STR_ARG(condition));
    else if (run->test)
        state_say(run, "%s does not meet the condition '%.*s': %s; a run would wait for it", what,
                  STR_ARG(condition), unmet);
    else
        state_acts(run);
    return 0;
}

static int report_unmet_waits(const struct orchestrator_wait *wait, const char *what,
                              const char *unmet, bool final, struct err *err)
{
    const struct str condition = orchestrator_condition(wait->condition);
    AUTO_BUF struct buf timeout = BUF_INIT(BUF_NO_LIMIT);

    if (final)
        return err_set(err, ERR_INVALID, "%s cannot meet the condition '%.*s': %s", what,
                       STR_ARG(condition), unmet);
    number_print_duration(wait->timeout, &timeout);
    return err_set(err, ERR_TIMEOUT, "%s does not meet the condition '%.*s' after %s: %s", what,
                   STR_ARG(condition), buf_text(&timeout), unmet);
}

int waits_until(struct state_run *run, const struct tool *tool,
                const struct orchestrator_wait *wait, const char *what, struct err *err)
{
    const char *unmet;
    bool final;

    if (orchestrator_wait(tool, wait, &unmet, &final, err) < 0)
        return -1;
    if (unmet)
        return report_unmet_waits(wait, what, unmet, final, err);
    state_detail(run, "condition", "%.*s", STR_ARG(orchestrator_condition(wait->condition)));
    return 0;
}

/* --- what runs -------------------------------------------------------------------------------- */

static bool has_exited_with_zero(const struct value *status)
{
    const struct value *code = value_get(status, "exit_code");

    return code && value_is(code, VALUE_INT) && code->i == 0;
}

enum waits_standing waits_standing(const struct value *status)
{
    static const char *const down[] = { "stopped", "stopping", "killed", "failed", "exited" };
    const struct value *word = value_is(status, VALUE_MAP) ? value_get(status, "status") : NULL;

    if (!word || !value_is_textual(word))
        return WAITS_DOWN;
    if (str_is(word->s, "skipped") || (str_is(word->s, "exited") && has_exited_with_zero(status)))
        return WAITS_THROUGH;
    for (size_t i = 0; i < ARRAY_LEN(down); i++)
        if (str_is(word->s, down[i]))
            return WAITS_DOWN;
    return WAITS_UP;
}

static struct value list_standing(struct state_run *run, const struct value *services,
                                  enum waits_standing standing)
{
    struct value_list *names = value_list_new(run->arena, 0);

    for (size_t i = 0; i < services->map->count; i++)
        if (waits_standing(&services->map->pairs[i].value) == standing)
            value_list_push(run->arena, names, services->map->pairs[i].key);
    return value_list(names);
}

struct value waits_describe(struct state_run *run, const struct orchestrator_config *config)
{
    struct value_map *map = value_map_new(run->arena, 3);

    value_map_set(run->arena, map, value_text("text"), value_str(config->text));
    value_map_set(run->arena, map, value_text("up"),
                  list_standing(run, config->services, WAITS_UP));
    value_map_set(run->arena, map, value_text("down"),
                  list_standing(run, config->services, WAITS_DOWN));
    return value_map(map);
}

int waits_restore(struct state_run *run, const struct tool *tool, const char *config,
                  const struct value *described, struct err *err)
{
    const struct param_strs down = waits_texts(run->arena, value_get(described, "down"));
    const struct value *text = value_get(described, "text");
    const struct orchestrator_start start = {
        .config = config,
        .anew = true,
        .text = text && value_is_textual(text) ? text->s : (struct str){ NULL, 0 },
    };
    const struct orchestrator_wait wait = {
        .config = config,
        .services = waits_texts(run->arena, value_get(described, "up")),
        .timeout = RESTORE_NS,
    };

    if (orchestrator_start(tool, &start, err) < 0 ||
        (down.n > 0 && orchestrator_stop(tool, config, down, false, err) < 0))
        return -1;
    return wait.services.n > 0 ? waits_until(run, tool, &wait, config, err) : 0;
}

struct param_strs waits_texts(struct arena *arena, const struct value *list)
{
    VEC(const char *) texts = VEC_INIT;

    if (!list || !value_is(list, VALUE_LIST))
        return (struct param_strs){ 0, NULL };
    for (size_t i = 0; i < list->list->count; i++)
        if (value_is_textual(&list->list->items[i]))
            VEC_PUSH_IN(arena, &texts, list->list->items[i].s.p);
    return (struct param_strs){ texts.n, texts.p };
}
