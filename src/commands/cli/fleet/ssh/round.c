#include "commands/cli/fleet/ssh/round.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "fleet/ssh/call.h"
#include "fleet/ssh/tree_files.h"
#include "fleet/ssh/roster.h"
#include "core/sys/cancel.h"
#include "core/sys/pool.h"
#include "core/sys/program.h"
#include "fleet/wire/exec.h"

#define PROGRAM "zester"

/* One machine, in a worker. */
struct machine_call {
    const struct ssh_round *round;
    const struct ssh_machine *machine;
    const struct ssh_program *program;
    struct arena arena;
    struct ssh_outcome outcome;
};

static void run_machine_call(void *arg)
{
    struct machine_call *call = arg;
    const struct ssh_question *question = call->round->question;

    if (cancel_is_raised(question->cancel))
        call->outcome = (struct ssh_outcome){ .end = SSH_CALL_FAILED,
                                              .why = "canceled before it was contacted" };
    else if (call->round->clean)
        ssh_call_clean(&call->arena, question, call->machine, &call->outcome);
    else
        ssh_call_make(&call->arena, question, call->machine, call->program, &call->outcome);
}

/* --- programs ------------------------------------------------------------------------------ */

/* One for most machines: its sum is made once. */
static const struct ssh_program *find_sent_program(struct arena *arena, struct map *known,
                                                   const struct ssh_machine *machine,
                                                   struct err *err)
{
    const char *path = machine->program ? machine->program : program_find_beside(arena, PROGRAM);
    struct ssh_program *program;

    if (!path) {
        (void)err_set(err, ERR_NOT_FOUND, "no program '" PROGRAM "' to copy");
        return NULL;
    }
    program = map_find(known, str_from(path));
    if (program)
        return program;
    program = ARENA_NEW(arena, struct ssh_program);
    if (ssh_program_read(path, program, err) < 0) {
        (void)err_wrap(err, "%s: 'program'", machine->name);
        return NULL;
    }
    (void)map_set(known, str_from(path), program);
    return program;
}

static int find_sent_programs(struct arena *arena, struct machine_call *calls, size_t count,
                              struct err *err)
{
    struct map known = MAP_INIT_IN(arena);

    for (size_t i = 0; i < count; i++) {
        calls[i].program = find_sent_program(arena, &known, calls[i].machine, err);
        if (!calls[i].program)
            return -1;
    }
    return 0;
}

/* --- answers ------------------------------------------------------------------------------- */

/* An answer in the words of the machine's own: it failed, or it is clean. */
static void set_own(struct arena *arena, const struct machine_call *call,
                    struct fleet_answers *answers)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const bool success = call->outcome.end == SSH_CALL_CLEANED;
    struct exec_response response = { .v = EXEC_PROTOCOL,
                                      .peel_id = call->machine->id,
                                      .jid = "",
                                      .success = success,
                                      .error = call->outcome.why };
    struct exec_result removed = { .name = "clean",
                                   .changed = true,
                                   .diff = "",
                                   .error = "",
                                   .place = "",
                                   .skip_reason = "",
                                   .cause = "" };
    struct err err;
    struct str view;

    if (success)
        VEC_PUSH_IN(arena, &response.results.list, removed);
    (void)record_encode(&bytes, &exec_response_type, &response, &err); /* without a limit */
    view = buf_view(&bytes);
    fleet_answers_set(answers, call->machine->id, &view, "");
}

static void set_machine_answer(struct arena *arena, const struct machine_call *call,
                               struct fleet_answers *answers)
{
    const struct ssh_outcome *outcome = &call->outcome;

    switch (outcome->end) {
    case SSH_CALL_ANSWERED:
        fleet_answers_set(answers, call->machine->id, &outcome->response, "");
        break;
    case SSH_CALL_UNREACHABLE:
        fleet_answers_set(answers, call->machine->id, NULL, outcome->why);
        break;
    case SSH_CALL_CLEANED:
    case SSH_CALL_FAILED: set_own(arena, call, answers); break;
    }
}

/* --- the round ------------------------------------------------------------------------------ */

static int run_calls(const struct ssh_round *round, struct machine_call *calls, size_t count,
                     struct err *err)
{
    const struct pool_options options = { .limit = round->parallel, .active = round->parallel };
    struct pool *pool = pool_new(&options, err);

    if (!pool)
        return -1;
    for (size_t i = 0; i < count; i++)
        pool_submit(pool, run_machine_call, &calls[i]);
    pool_drain(pool);
    pool_free(pool);
    return 0;
}

int ssh_round_run(struct arena *arena, const struct ssh_round *round, struct fleet_answers *ret,
                  struct err *err)
{
    const size_t count = round->machines->list.n;
    struct machine_call *calls = ARENA_ARRAY(arena, struct machine_call, count);
    const char **ids = ARENA_ARRAY(arena, const char *, count);

    for (size_t i = 0; i < count; i++) {
        calls[i] = (struct machine_call){ .round = round,
                                          .machine = &round->machines->list.p[i],
                                          .arena = ARENA_INIT };
        ids[i] = calls[i].machine->id;
    }
    if ((!round->clean && find_sent_programs(arena, calls, count, err) < 0) ||
        run_calls(round, calls, count, err) < 0)
        return -1;
    fleet_answers_init(ret, arena, &(struct param_strs){ count, ids });
    for (size_t i = 0; i < count; i++) {
        set_machine_answer(arena, &calls[i], ret);
        arena_done(&calls[i].arena);
    }
    return 0;
}
