/* Any bytes are the rules of a reactor, one of its reactions and an event, or mistakes with their
 * places; what passes can be shown. Input: top.zy, a reaction, a subject and a payload, with a zero
 * byte between them. */
#include <assert.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "fleet/reactor/event_gate.h"
#include "fleet/reactor/reaction.h"
#include "fleet/reactor/rule_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct str next_part(struct str *rest)
{
    return rest->p ? str_cut(rest, '\0') : STR("");
}

/* Time goes on with every look, so that no template runs for long. */
static int64_t tick(void *user)
{
    int64_t *now = user;

    *now += REACTION_TIME_MAX / 64;
    return *now;
}

static void react(const struct rule *rule, const struct reaction_event *event)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    int64_t now = 0;
    const struct reaction_options options = { .now = tick, .user = &now };
    struct reaction_env *env = reaction_env_new(&options);
    struct diags diags = DIAGS_INIT(&arena);
    struct reaction reaction;
    enum reaction_status status = reaction_read(env, &arena, rule->file, event, &reaction, &diags);

    assert((status == REACTION_OK) == (diags_count(&diags) == 0));
    assert(status == REACTION_OK || reaction.actions.n == 0);
    VEC_EACH (&reaction.actions, action)
        action_print(action, &out);
    diags_print(&diags, &out);
    reaction_env_free(env);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str rest = str_bytes(data, size);
    const struct rule_file files[] = { { RULE_SET_TOP, NULL, next_part(&rest) },
                                       { "a.zy", NULL, next_part(&rest) } };
    const struct event_gate_delivery delivery = {
        .subject = next_part(&rest),
        .payload = rest.p ? rest : STR(""),
        .monotonic = 1,
        .wall = 1,
    };
    const struct event_gate_options options = { .max_chain_depth = 3, .source_rate = 120 };
    struct diags diags = DIAGS_INIT(&arena), lints = DIAGS_INIT(&arena);
    struct rule_set *set = rule_set_new(files, ARRAY_LEN(files), &diags, &lints);
    struct event_gate_event event;
    struct rule_matches matches;
    struct event_gate gate;

    assert((set == NULL) == (diags_count(&diags) > 0));
    event_gate_init(&gate, &options);
    if (event_gate_check(&gate, &arena, &delivery, &event) == EVENT_GATE_PASS && set) {
        const struct reaction_event about = { .source = &event.source, .event = &event.event };

        rule_set_match(set, &arena, str_from(event.source.key), &matches);
        for (size_t i = 0; i < matches.list.n && i < 4; i++)
            react(matches.list.p[i], &about);
    }
    event_gate_done(&gate);
    rule_set_drop(set);
    return 0;
}
