#include "fleet/reactor/rule_check.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "fleet/reactor/reaction.h"
#include "fleet/reactor/rule_loop.h"
#include "fleet/reactor/rule_set.h"

#define DEPTH "event.depth"

static bool is_used(const struct rule_set *set, const char *path)
{
    VEC_EACH (&set->rules, rule)
        if (strcmp(rule->file->path, path) == 0)
            return true;
    return false;
}

/* Those that are written in the file: what expressions make of a tag is known with an event only.
 * A file that looks at the depth of its event ends its chain by itself. */
static void add_sends(struct arena *arena, const struct rule_file *file,
                      const struct reaction *reaction, struct rule_sends *sends)
{
    if (str_find(file->text, STR(DEPTH), 0) != STR_NONE)
        return;
    VEC_EACH (&reaction->actions, action)
        if (action->kind == ACTION_SEND &&
            str_find(file->text, str_from(action->send.tag), 0) != STR_NONE)
            VEC_PUSH_IN(arena, &sends->list,
                        (struct rule_send){ file->path, action->send.tag, action->key });
}

int rule_check(struct reaction_env *env, const struct rule_file *files, size_t count,
               struct rule_check_result *ret_result, struct diags *diags, struct diags *lints)
{
    const size_t before = diags_count(diags);
    struct rule_set *set = rule_set_new(files, count, diags, lints);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct rule_sends sends = { 0 };

    *ret_result = (struct rule_check_result){ .rules = set ? set->rules.n : 0 };
    for (size_t i = 0; i < count; i++) {
        struct rule_file file = files[i];
        struct reaction reaction;

        if (strcmp(file.path, RULE_SET_TOP) == 0)
            continue;
        if (!file.name)
            file.name = rule_file_name(&arena, file.path);
        ret_result->files++;
        (void)reaction_check(env, &arena, &file, &reaction, diags);
        add_sends(&arena, &file, &reaction, &sends);
        if (set && !is_used(set, file.path))
            diag_add(lints, (struct place){ .file = file.name }, "no rule names this file");
    }
    if (set)
        rule_loop_lint(set, &sends, lints);
    rule_set_drop(set);
    return diags_count(diags) > before ? -1 : 0;
}
