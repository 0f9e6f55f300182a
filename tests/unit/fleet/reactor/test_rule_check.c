#include "fleet/reactor/rule_check.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "fleet/reactor/reaction.h"
#include "fleet/reactor/rules.h"

/* Sections are the files of the tree. */
static int run_case(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct reaction_options options = { .lenient = true };
    struct reaction_env *env = reaction_env_new(&options);
    struct rule_file files[RULES_FILES_MAX];
    struct diags diags = DIAGS_INIT(&arena), lints = DIAGS_INIT(&arena);
    struct rule_check_result result;
    int status;

    status = rule_check(env, files, rules_files(golden, files), &result, &diags, &lints);
    CHECK_INT(status<0, diags_count(&diags)> 0);
    diags_print(&diags, out);
    diags_print(&lints, out);
    if (status == 0)
        buf_printf(out, "%zu rules, %zu files\n", result.rules, result.files);
    reaction_env_free(env);
    return status;
}

TEST(a_check_finds_every_mistake_of_a_tree)
{
    test_golden("fleet/reactor/check.txt", run_case);
}
