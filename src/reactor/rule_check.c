#include "reactor/rule_check.h"

#include <string.h>

#include "base/arena.h"
#include "base/diag.h"
#include "reactor/reaction.h"
#include "reactor/rule_set.h"

static bool is_used(const struct rule_set *set, const char *path)
{
    VEC_EACH (&set->rules, rule)
        if (strcmp(rule->file->path, path) == 0)
            return true;
    return false;
}

int rule_check(struct reaction_env *env, const struct rule_file *files, size_t count,
               struct rule_check_result *ret_result, struct diags *diags, struct diags *lints)
{
    const size_t before = diags_count(diags);
    struct rule_set *set = rule_set_new(files, count, diags, lints);

    *ret_result = (struct rule_check_result){ .rules = set ? set->rules.n : 0 };
    for (size_t i = 0; i < count; i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct rule_file file = files[i];

        if (strcmp(file.path, RULE_SET_TOP) == 0)
            continue;
        if (!file.name)
            file.name = rule_file_name(&arena, file.path);
        ret_result->files++;
        (void)reaction_check(env, &arena, &file, diags);
        if (set && !is_used(set, file.path))
            diag_add(lints, (struct place){ .file = file.name }, "no rule names this file");
    }
    rule_set_drop(set);
    return diags_count(diags) > before ? -1 : 0;
}
