#include "fleet/reactor/tester.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/data/yaml.h"
#include "fleet/reactor/reaction.h"
#include "fleet/reactor/rules.h"

static void print_tested(const struct question_tested *tested, struct buf *out)
{
    VEC_EACH (&tested->matched.list, match) {
        buf_printf(out, "%s\n", match->rule);
        for (size_t i = 0; i < match->actions.n; i++)
            buf_printf(out, "  %s\n", match->actions.p[i]);
        for (size_t i = 0; i < match->errors.n; i++)
            buf_printf(out, "  error: %s\n", match->errors.p[i]);
    }
    if (tested->matched.list.n == 0)
        buf_add_text(out, "nothing\n");
}

/* Sections: the files of the rules, `key` and `data`. */
static int run_case(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct reaction_options options = { 0 };
    struct diags diags = DIAGS_INIT(&arena);
    struct rule_set *rules = rules_read(&arena, golden);
    const struct tester tester = {
        .rules = rules,
        .env = reaction_env_new(&options),
        .enable_chaining = true,
        .max_chain_depth = 3,
        .wall = INT64_C(1800000000000000000),
    };
    struct question_test question = {
        .key = arena_str(&arena, str_trim(golden_section(golden, "key"))).p,
    };
    struct question_tested tested;

    CHECK(yaml_parse(&arena, "data", golden_section(golden, "data"), NULL, &question.data,
                     &diags) == 0);
    tester_answer(&tester, &arena, &question, &tested);
    reaction_env_free(tester.env);
    rule_set_drop(rules);
    if (tested.err[0]) {
        buf_printf(out, "%s\n", tested.err);
        return -1;
    }
    print_tested(&tested, out);
    return 0;
}

TEST(a_test_says_what_rules_would_do)
{
    test_golden("fleet/reactor/tests.txt", run_case);
}
