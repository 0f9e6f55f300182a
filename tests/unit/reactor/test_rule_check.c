#include "reactor/rule_check.h"

#include "base/arena.h"
#include "base/diag.h"
#include "reactor/reaction.h"
#include "reactor/rule_set.h"
#include "test.h"

/* Sections are the files of the tree. */
static int run_case(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct reaction_options options = { .lenient = true };
    struct reaction_env *env = reaction_env_new(&options);
    struct rule_file files[ARRAY_LEN(golden->sections)];
    struct diags diags = DIAGS_INIT(&arena), lints = DIAGS_INIT(&arena);
    struct rule_check_result result;
    size_t n = 0;
    int status;

    for (size_t i = 0; i < golden->count; i++)
        if (str_ends(str_from(golden->sections[i].name), STR(RULE_SET_SUFFIX)))
            files[n++] = (struct rule_file){ golden->sections[i].name, golden->sections[i].name,
                                             golden->sections[i].text };
    status = rule_check(env, files, n, &result, &diags, &lints);
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
    test_golden("reactor/check.txt", run_case);
}
