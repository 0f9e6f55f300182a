#include "states/modules/firewalld/firewall.h"

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/str.h"
#include "states/modules/cmd/run_tool.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/process.h"

#define COMMAND   "firewall-cmd"
#define PERMANENT "--permanent"

int firewall_validate(const char *key, struct param_strs items, const struct value *where,
                      struct diags *diags)
{
    return validate_texts(key, items, VALIDATE_LINE, where, diags);
}

/* In a dry run, an earlier state may be going to install it: then nothing is configured yet. */
static bool is_firewalld_missing(struct state_run *run)
{
    return run->test && !tool_find(run->arena, COMMAND);
}

/* --- asking --------------------------------------------------------------------------------- */

static const char *choose_scope(const struct firewall *firewall)
{
    return arena_printf(firewall->run->arena, "--%s=%s", firewall->noun, firewall->name);
}

int firewall_read(struct state_run *run, const char *option, const char **ret_text, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct str text = STR("");

    if (!is_firewalld_missing(run) && tool_run(&tool, TOOL(COMMAND, option), NULL, &text, err) < 0)
        return -1;
    *ret_text = arena_str(run->arena, str_trim(text)).p;
    return 0;
}

int firewall_ask(struct firewall *firewall, const char *option, bool *ret_yes, struct err *err)
{
    const struct tool tool = run_tool(firewall->run);
    const char *const *argv = TOOL(COMMAND, PERMANENT, choose_scope(firewall), option);
    struct process_result result;

    *ret_yes = false;
    if (firewall->is_new)
        return 0;
    if (tool_try(&tool, argv, NULL, &result, err) < 0)
        return -1;
    *ret_yes = process_status_ok(result.status);
    /* "no" is 1, anything else is trouble */
    return *ret_yes || result.status.code == 1 ? 0 : tool_fail(argv, &result, err);
}

static struct str next_firewall_item(const struct firewall_list *list, struct str *rest)
{
    return str_trim(str_cut(rest, list->lines ? '\n' : ' '));
}

static bool has_firewall_item(const struct firewall_list *list, struct str all, struct str item)
{
    while (all.n > 0)
        if (str_eq(next_firewall_item(list, &all), item))
            return true;
    return false;
}

static bool is_item_wanted(struct param_strs want, struct str item)
{
    for (size_t i = 0; i < want.n; i++)
        if (str_is(item, want.p[i]))
            return true;
    return false;
}

/* --- planning -------------------------------------------------------------------------------- */

void firewall_add_step(struct firewall *firewall, const struct firewall_step *step)
{
    VEC_PUSH_IN(firewall->run->arena, &firewall->steps, *step);
}

int firewall_open(struct state_run *run, const char *noun, const char *name,
                  struct firewall *ret_firewall, struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct firewall_list words = { .lines = false };
    struct str all = STR("");

    *ret_firewall = (struct firewall){ .run = run, .noun = noun, .name = name };
    if (is_firewalld_missing(run))
        state_say(run, COMMAND
                  " does not exist; an earlier state must install it (apply fails otherwise)");
    else if (tool_run(&tool, TOOL(COMMAND, PERMANENT, arena_printf(run->arena, "--get-%ss", noun)),
                      NULL, &all, err) < 0)
        return -1;
    if (has_firewall_item(&words, str_trim(all), str_from(name)))
        return 0;
    ret_firewall->is_new = true;
    firewall_add_step(ret_firewall,
                      &(struct firewall_step){
                          .words = arena_printf(run->arena, "%s %s does not exist", noun, name),
                          .made = arena_printf(run->arena, "created %s %s", noun, name),
                          .now = arena_printf(run->arena, "--new-%s=%s", noun, name),
                          .back = arena_printf(run->arena, "--delete-%s=%s", noun, name),
                          .whole = true,
                      });
    return 0;
}

static void plan_item(struct firewall *firewall, const struct firewall_list *list, struct str item,
                      bool adds)
{
    struct arena *arena = firewall->run->arena;
    const char *add = arena_printf(arena, "--add-%s=%.*s", list->option, STR_ARG(item));
    const char *remove = arena_printf(arena, "--remove-%s=%.*s", list->option, STR_ARG(item));

    firewall_add_step(
        firewall, &(struct firewall_step){
                      .words = arena_printf(arena, "%s %.*s %s in %s %s", list->noun, STR_ARG(item),
                                            adds ? "is not" : "is", firewall->noun, firewall->name),
                      .made = arena_printf(arena, "%s %s %.*s", adds ? "added" : "removed",
                                           list->noun, STR_ARG(item)),
                      .now = adds ? add : remove,
                      .back = adds ? remove : add,
                  });
}

int firewall_compare(struct firewall *firewall, const struct firewall_list *list,
                     struct param_strs want, bool prune, struct err *err)
{
    const struct tool tool = run_tool(firewall->run);
    struct str all = STR("");

    if (want.n == 0 && !prune)
        return 0;
    if (!firewall->is_new &&
        tool_run(&tool, TOOL(COMMAND, PERMANENT, choose_scope(firewall), list->show), NULL, &all,
                 err) < 0)
        return -1;
    all = str_trim(all);
    for (size_t i = 0; i < want.n; i++)
        if (!has_firewall_item(list, all, str_from(want.p[i])))
            plan_item(firewall, list, str_from(want.p[i]), true);
    for (struct str rest = all; prune && rest.n > 0;) {
        const struct str item = next_firewall_item(list, &rest);

        if (item.n > 0 && !is_item_wanted(want, item))
            plan_item(firewall, list, item, false);
    }
    return 0;
}

void firewall_report(struct firewall *firewall)
{
    VEC_EACH (&firewall->steps, step) {
        state_differs(firewall->run, "%s", step->words);
        state_made(firewall->run, "%s", step->made);
    }
    if (firewall->steps.n == 0)
        state_say(firewall->run, "%s %s is configured", firewall->noun, firewall->name);
}

/* --- doing ------------------------------------------------------------------------------------ */

/* The words of a call as a list, so that it can be noted. */
static struct value make_firewall_call(struct firewall *firewall, const struct firewall_step *step,
                                       const char *option)
{
    struct value_list *call = value_list_new(firewall->run->arena, 3);

    if (!step->runtime)
        value_list_push(firewall->run->arena, call, value_text(PERMANENT));
    if (!step->whole)
        value_list_push(firewall->run->arena, call, value_text(choose_scope(firewall)));
    value_list_push(firewall->run->arena, call, value_text(option));
    return value_list(call);
}

static int run_call(struct state_run *run, const struct value *call, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };

    tool_add(&tool, &words, COMMAND);
    for (size_t i = 0; i < call->list->count; i++)
        tool_add(&tool, &words, call->list->items[i].s.p);
    return tool_run(&tool, tool_argv(&tool, &words), NULL, NULL, err);
}

static int reload_firewall(struct state_run *run, struct err *err)
{
    const struct tool tool = run_tool(run);

    return tool_run(&tool, TOOL(COMMAND, "--reload"), NULL, NULL, err);
}

int firewall_apply(struct firewall *firewall, struct err *err)
{
    struct state_run *run = firewall->run;
    struct value_list *undo = value_list_new(run->arena, firewall->steps.n);

    if (firewall->steps.n == 0) {
        state_unchanged(run);
        return 0;
    }
    VEC_EACH (&firewall->steps, step)
        if (step->back)
            value_list_push(run->arena, undo, make_firewall_call(firewall, step, step->back));
    if (state_note(run, "undo", value_list(undo), err) < 0)
        return -1;
    VEC_EACH (&firewall->steps, step) {
        const struct value call = make_firewall_call(firewall, step, step->now);

        if (step->runtime && reload_firewall(run, err) < 0) /* it may be about a new zone */
            return -1;
        if (run_call(run, &call, err) < 0)
            return -1;
    }
    state_detail(run, firewall->noun, "%s", firewall->name);
    return reload_firewall(run, err);
}

/* The zone or service that a call is about, whole or in part; a NULL view: none. */
static struct str find_scope(const struct value *call, const char *noun)
{
    static const char *const options[] = { "--", "--delete-" };

    for (size_t i = 0; i < call->list->count; i++)
        for (size_t k = 0; k < ARRAY_LEN(options); k++) {
            char option[32];

            (void)snprintf(option, sizeof(option), "%s%s=", options[k], noun);
            if (str_starts(call->list->items[i].s, str_from(option)))
                return str_from_offset(call->list->items[i].s, strlen(option));
        }
    return (struct str){ 0 };
}

/* All calls of a state are about one zone or service. A run that was canceled may not have made
 * it, or a revert that was cut short has removed it: then there is nothing of it to revert. */
static int find_missing_items(struct state_run *run, const struct value_list *undo,
                              const char **ret_noun, struct err *err)
{
    static const char *const nouns[] = { "zone", "service" };
    static const struct firewall_list words = { .lines = false };

    *ret_noun = NULL;
    for (size_t k = 0; k < ARRAY_LEN(nouns); k++)
        for (size_t i = 0; i < undo->count; i++) {
            const struct str name = find_scope(&undo->items[i], nouns[k]);
            const struct tool tool = run_tool(run);
            struct str all = STR("");

            if (!name.p)
                continue;
            if (tool_run(&tool,
                         TOOL(COMMAND, PERMANENT, arena_printf(run->arena, "--get-%ss", nouns[k])),
                         NULL, &all, err) < 0)
                return -1;
            if (!has_firewall_item(&words, str_trim(all), name))
                *ret_noun = nouns[k];
            return 0;
        }
    return 0;
}

int firewall_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct value *undo = state_noted(run, "undo");
    const char *missing;
    size_t count = 0;

    (void)args;
    if (!value_is(undo, VALUE_LIST) || undo->list->count == 0) {
        state_unchanged(run);
        return 0;
    }
    if (find_missing_items(run, undo->list, &missing, err) < 0)
        return -1;
    for (size_t i = undo->list->count; i-- > 0;) {
        if (missing && find_scope(&undo->list->items[i], missing).p)
            continue;
        if (run_call(run, &undo->list->items[i], err) < 0)
            return -1;
        count++;
    }
    if (count == 0) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "reverted %zu changes", count);
    return reload_firewall(run, err);
}
