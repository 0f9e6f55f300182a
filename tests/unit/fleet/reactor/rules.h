/* Rules from a golden case: sections that are called like files. */
#ifndef TESTS_UNIT_FLEET_REACTOR_RULES_H
#define TESTS_UNIT_FLEET_REACTOR_RULES_H

#include "fleet/reactor/rule_set.h"
#include "test.h"

#define RULES_FILES_MAX ARRAY_LEN(((struct golden *)0)->sections)

static inline size_t rules_files(const struct golden *golden,
                                 struct rule_file files[static RULES_FILES_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < golden->count; i++)
        if (str_ends(str_from(golden->sections[i].name), STR(RULE_SET_SUFFIX)))
            files[n++] = (struct rule_file){
                .path = golden->sections[i].name,
                .text = golden->sections[i].text,
            };
    return n;
}

/* The set of them, which has no mistakes. */
static inline struct rule_set *rules_read(struct arena *arena, const struct golden *golden)
{
    struct rule_file files[RULES_FILES_MAX];
    struct diags diags = DIAGS_INIT(arena), lints = DIAGS_INIT(arena);
    struct rule_set *set = rule_set_new(files, rules_files(golden, files), &diags, &lints);

    if (!set)
        fail_msg("the rules have mistakes");
    return set;
}

#endif
