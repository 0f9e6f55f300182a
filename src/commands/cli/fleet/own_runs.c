#include "commands/cli/fleet/own_runs.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/bus/bus_time.h"
#include "commands/cli/fleet/direct.h"
#include "core/data/value.h"

#define NOT_ASKED   "it requires admin.creds"
#define ANOTHER_RUN "another run has finished there meanwhile"

static bool is_run_missing(const struct fleet_peel *peel, const struct fleet_runs_item *run)
{
    if (!peel->has_run || !peel->run.id[0] || !fleet_peel_is_online(peel, bus_time()))
        return false;
    return !run || (strcmp(run->summary.id, peel->run.id) != 0 && !peel->run.test);
}

static struct param_strs list_missing(const struct fleet_peels *peels,
                                      const struct fleet_runs *runs)
{
    const char **ids = ARENA_ARRAY(peels->arena, const char *, peels->list.n + 1);
    struct param_strs missing = { .p = ids };
    size_t next = 0;

    VEC_EACH (&peels->list, peel) {
        const struct fleet_runs_item *run = NULL;

        if (next < runs->list.n && runs->list.p[next].peel == *peel)
            run = &runs->list.p[next++];
        if (is_run_missing(*peel, run))
            ids[missing.n++] = (*peel)->id;
    }
    return missing;
}

static int read_run_answer(struct arena *arena, const struct fleet_answer *answer,
                           struct lastrun_states *ret_states, struct err *err)
{
    struct value said;

    if (fleet_answer_read(arena, answer, &said, err) < 0)
        return -1;
    return record_read(arena, &lastrun_states_type, 1, &said, ret_states, err);
}

static void take_run_answer(const struct fleet_peels *peels, const struct fleet_answer *answer,
                            struct fleet_own_runs *own)
{
    const struct fleet_peel *peel = map_find(&peels->by_id, str_from(answer->peel));
    struct lastrun_states *states = ARENA_NEW(peels->arena, struct lastrun_states);
    struct err err;

    if (read_run_answer(peels->arena, answer, states, &err) < 0)
        (void)map_set(&own->errors, str_from(peel->id), arena_strdup(peels->arena, err.text));
    else if (strcmp(states->id, peel->run.id) != 0)
        (void)map_set(&own->errors, str_from(peel->id), ANOTHER_RUN);
    else
        (void)map_set(&own->states, str_from(peel->id), states);
}

/* Only admin.creds may ask peels. */
static void skip_all(struct arena *arena, const struct param_strs *missing,
                     struct fleet_own_runs *own)
{
    for (size_t i = 0; i < missing->n; i++)
        (void)map_set(&own->errors, arena_str(arena, str_from(missing->p[i])), NOT_ASKED);
}

int fleet_own_runs_read(struct fleet *fleet, const struct fleet_peels *peels,
                        const struct fleet_runs *runs, int64_t timeout,
                        struct fleet_own_runs *ret_own, struct err *err)
{
    const struct fleet_question question = { .function = "state.last",
                                             .id = "",
                                             .args = value_null(),
                                             .peels = list_missing(peels, runs),
                                             .timeout = timeout };
    struct fleet_answers answers;

    *ret_own = (struct fleet_own_runs){ .states = MAP_INIT_IN(peels->arena),
                                        .errors = MAP_INIT_IN(peels->arena) };
    if (fleet->operator_name)
        skip_all(peels->arena, &question.peels, ret_own);
    if (question.peels.n == 0 || fleet->operator_name)
        return 0;
    if (fleet_ask_peels(fleet, &question, &answers, err) < 0)
        return -1;
    for (size_t i = 0; i < answers.count; i++)
        take_run_answer(peels, &answers.list[i], ret_own);
    return 0;
}
