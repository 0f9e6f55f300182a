/* Does this machine match a target expression? For templates and conditions, as in Salt. */
#include "core/base/err.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "language/target/target.h"

#define ARGS struct match_args

struct match_args {
    struct str expression;
};

static const struct param match_params[] = {
    PARAM("tgt", TEXT, ARGS, expression, "the expression", .flags = PARAM_REQUIRED | PARAM_PRIMARY,
          .aliases = "expression"),
    { 0 },
};

static int match_this_machine(struct state_run *run, const void *args, enum target_type type,
                              struct value *ret, struct err *err)
{
    const struct match_args *want = args;
    const struct target_subject subject = {
        .id = str_from(run->host->peel_id),
        .facts = state_facts(run),
        .settings = state_settings(run),
    };
    const struct target *target;
    bool matches;

    if (target_read(run->arena, want->expression, type, NULL, &target, err) < 0 ||
        target_match(target, &subject, &matches, err) < 0)
        return -1;
    *ret = value_bool(matches);
    return 0;
}

#define MATCHER(function, type)                                                                    \
    static int function(struct state_run *run, const void *args, struct value *ret,                \
                        struct err *err)                                                           \
    {                                                                                              \
        return match_this_machine(run, args, type, ret, err);                                      \
    }

MATCHER(call_compound, TARGET_COMPOUND)
MATCHER(call_glob, TARGET_GLOB)
MATCHER(call_pcre, TARGET_PCRE)
MATCHER(call_grain, TARGET_FACT)
MATCHER(call_grain_pcre, TARGET_FACT_PCRE)
MATCHER(call_pillar, TARGET_SETTINGS)
MATCHER(call_pillar_pcre, TARGET_SETTINGS_PCRE)
MATCHER(call_list, TARGET_LIST)
MATCHER(call_ipcidr, TARGET_SUBNET)

/* clang-format off */
#define ROW(function) .params = match_params, .args_size = sizeof(ARGS), .call = function

const struct module functions_match[] = {
    { .name = "match.compound", .summary = "whether a compound expression matches this machine", ROW(call_compound) },
    { .name = "match.glob", .summary = "whether a glob matches its id", ROW(call_glob) },
    { .name = "match.grain", .summary = "whether a fact matches a glob", ROW(call_grain) },
    { .name = "match.grain_pcre", .summary = "whether a fact matches a regular expression", ROW(call_grain_pcre) },
    { .name = "match.ipcidr", .summary = "whether it has an address in a network", ROW(call_ipcidr) },
    { .name = "match.list", .summary = "whether its id is in a list", ROW(call_list) },
    { .name = "match.pcre", .summary = "whether a regular expression matches its id", ROW(call_pcre) },
    { .name = "match.pillar", .summary = "whether a setting matches a glob", ROW(call_pillar) },
    { .name = "match.pillar_pcre", .summary = "whether a setting matches a regular expression", ROW(call_pillar_pcre) },
    { 0 },
};
/* clang-format on */
