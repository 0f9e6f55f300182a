#include "commands/cli/fleet/event/event_why.h"

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "fleet/bus/store.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/bucket.h"
#include "core/data/time_text.h"
#include "fleet/wire/event.h"
#include "fleet/wire/outcome.h"

/* Chains are short (reactor.max_chain_depth); what is longer is not followed. */
#define CHAIN_MAX 16

struct why {
    struct outcome outcome;
    VEC(struct outcome) causes;  /* the nearest first */
    VEC(struct outcome) effects; /* events that it sent, as far as something is known of them */
};

int event_read_outcome(struct fleet *fleet, const char *id, struct outcome *ret, struct err *err)
{
    char key[OUTCOME_KEY_SIZE];
    struct str bytes;

    outcome_key(id, key);
    if (fleet_bucket_get(fleet, STORE_EVENT_OUTCOMES, key, &bytes, err) < 0)
        return -1;
    return record_decode(fleet->arena, &outcome_type, 0, bytes, ret, err);
}

/* A missing record is not an error here. */
static int read_related(struct fleet *fleet, const char *id, struct outcome *ret, bool *ret_found,
                        struct err *err)
{
    *ret_found = event_read_outcome(fleet, id, ret, err) == 0;
    return *ret_found || err->code == ERR_NOT_FOUND ? 0 : -1;
}

static int read_causes(struct fleet *fleet, struct why *why, struct err *err)
{
    const char *parent = why->outcome.parent;
    struct outcome cause;
    bool found;

    while (parent[0] && why->causes.n < CHAIN_MAX) {
        if (read_related(fleet, parent, &cause, &found, err) < 0)
            return -1;
        if (!found)
            return 0;
        VEC_PUSH_IN(fleet->arena, &why->causes, cause);
        parent = cause.parent;
    }
    return 0;
}

/* Ids of jobs begin with a prefix that no derived event has. */
static bool is_job(const char *made)
{
    return strncmp(made, EVENT_JOB_PREFIX, strlen(EVENT_JOB_PREFIX)) == 0;
}

static int read_effects(struct fleet *fleet, struct why *why, struct err *err)
{
    struct outcome effect;
    bool found;

    VEC_EACH (&why->outcome.rules.list, rule)
        VEC_EACH (&rule->blocks.list, block) {
            if (block->made[0] == '\0' || is_job(block->made))
                continue;
            if (read_related(fleet, block->made, &effect, &found, err) < 0)
                return -1;
            if (found)
                VEC_PUSH_IN(fleet->arena, &why->effects, effect);
        }
    return 0;
}

static const struct outcome *find_effect(const struct why *why, const char *id)
{
    VEC_EACH (&why->effects, effect)
        if (strcmp(effect->id, id) == 0)
            return effect;
    return NULL;
}

/* --- printing ----------------------------------------------------------------------- */

static void print_reaction_block(const struct why *why, const struct outcome_block *block)
{
    const struct outcome *effect = find_effect(why, block->made);

    printf("    %s (%s): %s", block->block, block->action, outcome_result_name(block->result));
    if (block->message[0])
        printf(": %s", block->message);
    if (block->made[0])
        printf(", %s %s", is_job(block->made) ? "job" : "event", block->made);
    if (effect)
        printf(" (%s, %s)", effect->key, outcome_kind_name(effect->outcome));
    printf("\n");
}

static bool has_outcome_acted(const struct outcome *outcome)
{
    VEC_EACH (&outcome->rules.list, rule)
        VEC_EACH (&rule->blocks.list, block)
            if (block->result == OUTCOME_DISPATCHED || block->result == OUTCOME_DUPLICATE)
                return true;
    return false;
}

/* In a sentence: rules that matched may have done nothing. */
static const char *say_outcome(const struct outcome *outcome)
{
    if (outcome->outcome == OUTCOME_UNMATCHED)
        return "unmatched: no rule matches its key";
    if (outcome->outcome == OUTCOME_FIRED && !has_outcome_acted(outcome))
        return "matched, but nothing was done";
    return outcome_kind_name(outcome->outcome);
}

static void print_why_text(const struct why *why)
{
    AUTO_BUF struct buf ts = BUF_INIT(BUF_NO_LIMIT);
    const struct outcome *outcome = &why->outcome;

    time_print(&ts, outcome->ts);
    printf("%s: %s%s%s\n", outcome->id, say_outcome(outcome), outcome->reason[0] ? ", " : "",
           outcome->reason);
    printf("  key:       %s\n  decided:   %s by %s\n", outcome->key, buf_text(&ts),
           outcome->master);
    if (outcome->deliveries > 1)
        printf("  delivered: %d times\n", outcome->deliveries);
    VEC_EACH (&why->causes, cause)
        printf("  caused by: %s (%s)\n", cause->id, cause->key);
    VEC_EACH (&outcome->rules.list, rule) {
        printf("  %s: %s%s%s\n", rule->rule, outcome_result_name(rule->result),
               rule->message[0] ? ": " : "", rule->message);
        VEC_EACH (&rule->blocks.list, block)
            print_reaction_block(why, block);
    }
}

static struct value list_related(struct arena *arena, const struct outcome *list, size_t count)
{
    struct value_list *all = value_list_new(arena, count);

    for (size_t i = 0; i < count; i++) {
        struct value_map *row = value_map_new(arena, 3);

        value_map_set(arena, row, value_text("id"), value_text(list[i].id));
        value_map_set(arena, row, value_text("key"), value_text(list[i].key));
        value_map_set(arena, row, value_text("outcome"),
                      value_text(outcome_kind_name(list[i].outcome)));
        value_list_push(arena, all, value_map(row));
    }
    return value_list(all);
}

static struct value describe_why(struct arena *arena, const struct why *why)
{
    struct value result = record_value(arena, &outcome_type, &why->outcome);

    if (why->outcome.rules.list.n == 0)
        value_map_set(arena, result.map, value_text("rules"), value_list(value_list_new(arena, 0)));
    value_map_set(arena, result.map, value_text("caused_by"),
                  list_related(arena, why->causes.p, why->causes.n));
    value_map_set(arena, result.map, value_text("caused"),
                  list_related(arena, why->effects.p, why->effects.n));
    return result;
}

int event_why(struct cli *cli, const struct fleet_options *options, const char *id)
{
    struct why why = { 0 };
    struct fleet *fleet = cli->fleet;
    struct value result;
    struct err err;
    int status = event_read_outcome(fleet, id, &why.outcome, &err);

    if (status < 0 && err.code == ERR_NOT_FOUND)
        (void)err_set(&err, ERR_NOT_FOUND, "no record of event '%.256s'", id);
    if (status == 0 && (read_causes(fleet, &why, &err) < 0 || read_effects(fleet, &why, &err) < 0))
        status = -1;
    if (status < 0)
        return cli_err(cli, &err);
    if (options->format == FLEET_TEXT) {
        print_why_text(&why);
        return CLI_OK;
    }
    result = describe_why(cli->arena, &why);
    return fleet_print(cli, options->format, &result);
}
