/*
 * rule - the parameters of a state as words of an iptables rule.
 *
 *     {protocol: tcp, dport: 80, match: state, connstate: NEW, jump: ACCEPT}
 *     --protocol tcp --match state --dport 80 --state NEW --jump ACCEPT
 *
 * Parameters are named as the options of iptables, without their dashes. One whose value is empty
 * or true has no argument; "! x" and "not x" negate. Each option is a row of RULE_OPTIONS, so that
 * a misspelt one is a mistake and not a rule that lets more through.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_IPTABLES_RULE_H
#define STATES_MODULES_IPTABLES_RULE_H

#include <stdbool.h>

#include "core/data/params.h"
#include "states/modules/iptables/rule_options.h"

struct arena;
struct diags;
struct tool;
struct tool_words;
struct value;

#define RULE_ENUM(id, key, flag, flags, ...) RULE_##id,
enum rule_option { RULE_OPTIONS(RULE_ENUM) RULE_OPTION_COUNT };
#undef RULE_ENUM

struct rule_args {
    const char *name, *table, *chain, *jump, *jump_to, *policy;
    int descendants;
    int64_t position;
    bool has_position;
    const struct value *match, *save;
    const struct value *options[RULE_OPTION_COUNT];
};

#define RULE_PARAM(id, key, flag, flags, ...)                                                      \
    PARAM(key, ANY, struct rule_args, options[RULE_##id], "--" flag, .kind_text = "string",        \
          __VA_ARGS__),

/* clang-format off */
#define RULE_PARAMS                                                                                                                                    \
    PARAM("name", STR, struct rule_args, name, "a name for the state, not part of the rule", .flags = PARAM_REQUIRED | PARAM_PRIMARY),                     \
    PARAM("chain", STR, struct rule_args, chain, "the chain", .flags = PARAM_REQUIRED),                                                                 \
    PARAM("table", STR, struct rule_args, table, "the table", .default_text = "filter"),                                                                \
    PARAM("family", CHOICE, struct rule_args, descendants, "iptables or ip6tables", .choices = "ipv4|ipv6", .default_text = "ipv4"),                         \
    PARAM("save", ANY, struct rule_args, save, "keep the rules for the next start: true, or a file", .kind_text = "bool or path"),                      \
    PARAM("match", ANY, struct rule_args, match, "matches, as a list or between commas", .kind_text = "list of strings", .aliases = "m"),               \
    PARAM("jump", STR, struct rule_args, jump, "the target", .aliases = "j"),                                                                           \
    PARAM("goto", STR, struct rule_args, jump_to, "a chain that does not come back here", .aliases = "g"),                                              \
    RULE_OPTIONS(RULE_PARAM)
/* clang-format on */

int rule_validate(const void *args, const struct value *where, struct diags *diags);

/* Append the words of the rule, without table and chain. */
void rule_add(const struct tool *tool, const struct rule_args *args, struct tool_words *words);

#endif
