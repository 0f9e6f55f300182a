#include "kepler/config/authorizer.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "language/lua/expr.h"
#include "language/lua/sandbox.h"
#include "core/sys/clock.h"

/* Time is the limit; more than fits into it. */
#define STEPS_MAX INT64_C(1000000000)

struct watch_clock {
    int64_t end;
};

/* One end for the functions and the code: time is over for both at once. */
static int64_t read_authorizer_clock(void *user)
{
    const struct watch_clock *clock = user;
    int64_t now = clock_real();

    return now >= clock->end ? INT64_MAX / 2 : now;
}

static int64_t read_authorizer_time(void *user)
{
    (void)user;
    return clock_wall() / CLOCK_SECOND;
}

static int prepare_sandbox(struct sandbox *sandbox, const struct authorizer_question *question,
                           struct diags *diags, struct err *err)
{
    if (question->lua && expr_run_script(sandbox, question->lua, diags) < 0)
        return diags_to_err(diags, err);
    if (sandbox_seal(sandbox, err) < 0 ||
        sandbox_set(sandbox, "request", question->request, err) < 0)
        return -1;
    return sandbox_set(sandbox, "caller", question->caller, err);
}

int authorizer_ask(const struct authorizer_question *question, bool *ret_agrees, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct watch_clock clock = { clock_after(clock_real(), AUTHORIZER_TIME_MAX) };
    struct sandbox *sandbox = sandbox_new(&(struct sandbox_options){
        .memory_max = AUTHORIZER_MEMORY,
        .steps_max = STEPS_MAX,
        .nanoseconds_max = AUTHORIZER_TIME_MAX,
        .strict = true,
        .clock = read_authorizer_clock,
        .now = read_authorizer_time,
        .user = &clock,
    });
    struct diags diags = DIAGS_INIT(&arena);
    struct value answer;
    int result = prepare_sandbox(sandbox, question, &diags, err);

    if (result == 0) {
        result = expr_run_block(sandbox, question->code, &arena, &answer, &diags);
        if (result < 0)
            (void)diags_to_err(&diags, err);
        else
            *ret_agrees = answer.kind == VALUE_BOOL && answer.b;
    }
    sandbox_free(sandbox);
    return result;
}

int authorizer_check(const struct value *code, struct diags *diags)
{
    struct sandbox *sandbox = sandbox_new(&(struct sandbox_options){ .strict = true });
    int result = expr_check_block(sandbox, code, diags);

    sandbox_free(sandbox);
    return result;
}
