#include "fleet/reactor/tester.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/number.h"
#include "fleet/reactor/reaction.h"
#include "fleet/reactor/rule_set.h"
#include "fleet/wire/peel_id.h"

#define TEST_ID "test"

struct texts {
    VEC(const char *) list;
};

static struct param_strs strs_of(const struct texts *texts)
{
    return (struct param_strs){ texts->list.n, texts->list.p };
}

/* "web-01/a/b": a peel, and its tag. False: it is not a key. */
static bool parse_source_key(struct arena *arena, const char *key, struct event_source *ret_source)
{
    struct str rest = str_from(key);
    const struct str origin = str_cut(&rest, '/');

    if (!rest.p || !event_tag_is_valid(rest))
        return false;
    *ret_source = (struct event_source){
        .origin = arena_strndup(arena, origin.p, origin.n),
        .tag = arena_strndup(arena, rest.p, rest.n),
        .key = key,
    };
    if (str_is(origin, EVENT_ORIGIN_MASTER))
        ret_source->type = EVENT_FROM_MASTER;
    else if (str_is(origin, EVENT_ORIGIN_ADMIN))
        ret_source->type = EVENT_FROM_ADMIN;
    else
        return peel_id_is_valid(origin);
    return true;
}

/* "reactor/a.zy:3:7: no action 'lgo' (did you mean 'log'?)" */
static const char *print_mistake(struct arena *arena, const struct diag *diag)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    place_print(diag->at, &out);
    buf_printf(&out, "%s%s", out.n > 0 ? ": " : "", diag->text);
    if (diag->hint)
        buf_printf(&out, " (%s)", diag->hint);
    return buf_copy(&out, arena).p;
}

/* Why a valid action would be refused; NULL: it would not. */
static const char *find_tester_refusal(const struct tester *tester,
                                       const struct event_source *source,
                                       const struct action *action)
{
    if (action->kind == ACTION_ENROLL && source->type != EVENT_FROM_MASTER)
        return "refused: enrollments are decided for events of " EVENT_ORIGIN_MASTER " only";
    if (action->kind == ACTION_SEND && !tester->enable_chaining)
        return "refused: chains of reactions are switched off";
    if (action->kind == ACTION_SEND && tester->max_chain_depth <= 1)
        return "refused: the chain of reactions has reached max_chain_depth";
    return NULL;
}

void tester_try(const struct tester *tester, struct arena *arena, const struct rule *rule,
                const struct reaction_event *event, struct tester_trial *ret_trial)
{
    struct texts errors = { VEC_INIT };
    struct diags diags = DIAGS_INIT(arena);

    ret_trial->status =
        reaction_read(tester->env, arena, rule->file, event, &ret_trial->reaction, &diags);
    VEC_EACH (&ret_trial->reaction.actions, action) {
        const char *refusal = find_tester_refusal(tester, event->source, action);

        if (refusal)
            VEC_PUSH_IN(arena, &errors.list, arena_printf(arena, "%s: %s", action->block, refusal));
    }
    VEC_EACH (&diags.list, diag)
        VEC_PUSH_IN(arena, &errors.list, print_mistake(arena, diag));
    ret_trial->errors = strs_of(&errors);
}

static void test_rule(const struct tester *tester, struct arena *arena, const struct rule *rule,
                      const struct reaction_event *event, struct question_match *ret_match)
{
    struct texts actions = { VEC_INIT };
    struct tester_trial trial;

    tester_try(tester, arena, rule, event, &trial);
    VEC_EACH (&trial.reaction.actions, action) {
        AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

        action_print(action, &out);
        VEC_PUSH_IN(arena, &actions.list, buf_copy(&out, arena).p);
    }
    *ret_match = (struct question_match){
        .rule = arena_strdup(arena, rule->ref),
        .actions = strs_of(&actions),
        .errors = trial.errors,
    };
}

void tester_answer(const struct tester *tester, struct arena *arena,
                   const struct question_test *question, struct question_tested *ret_tested)
{
    struct event_source source;
    struct rule_matches matches = { VEC_INIT };
    const struct event event = {
        .id = TEST_ID,
        .data = question->data,
        .ts = { tester->wall / NUMBER_NS_PER_S, (uint32_t)(tester->wall % NUMBER_NS_PER_S) },
        .origin = "",
    };
    struct reaction_event about = { .source = &source, .event = &event };

    *ret_tested = (struct question_tested){ .err = "" };
    if (!question->key || !parse_source_key(arena, question->key, &source)) {
        ret_tested->err = arena_printf(arena, "'%s' is not a key: expected <origin>/<tag>",
                                       question->key ? question->key : "");
        return;
    }
    if (source.type == EVENT_FROM_PEEL && tester->facts)
        about.facts = tester->facts(tester->user, arena, source.origin);
    if (tester->rules)
        rule_set_match(tester->rules, arena, str_from(source.key), &matches);
    VEC_EACH (&matches.list, rule) {
        struct question_match match;

        test_rule(tester, arena, *rule, &about, &match);
        VEC_PUSH_IN(arena, &ret_tested->matched.list, match);
    }
}
