#include "states/modules/fleet/orders.h"

#include <string.h>

#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "states/state/fleet.h"
#include "states/state/host.h"
#include "language/target/target.h"

#define ARGS struct orders_args

/* Peels that an error names. */
#define NAMES_MAX 5

#define STATE_APPLY     "state.apply"
#define STATE_HIGHSTATE "state.highstate"

/* clang-format off */
#define TARGET_PARAMS                                                                                                                  \
    PARAM("tgt", STR, ARGS, tgt, "which peels: a glob or an expression", .flags = PARAM_REQUIRED | PARAM_FILLED, .aliases = "target"), \
    PARAM("tgt_type", STR, ARGS, tgt_type, "how `tgt` is meant: glob, pcre, grain, pillar, list, ipcidr, compound", .aliases = "target_type,expr_form")
#define JOB_PARAMS                                                                                                                     \
    PARAM("batch", STR, ARGS, batch, "run on this many peels at a time: a number, or a share such as 20%"),                            \
    PARAM("max_failures", INT, ARGS, max_failures, "the state succeeds although so many peels fail", PARAM_RANGE(0, 1000000), .default_text = "0", .aliases = "allow_fail"), \
    PARAM("pause", DURATION, ARGS, pause, "with `batch`: one wave after the other, with a pause between them", PARAM_RANGE(NUMBER_NS_PER_S, 86400 * NUMBER_NS_PER_S)), \
    PARAM("gate", STR, ARGS, gate, "with `batch`: what must succeed on the peels of a wave before the next one begins, a function and its argument: `service.status nginx`", .flags = PARAM_FILLED)

const struct param orders_state_params[] = {
    PARAM("name", STR, ARGS, name, "a name for the step", .flags = PARAM_PRIMARY),
    TARGET_PARAMS,
    PARAM("sls", STRS, ARGS, sls, "the states to apply", .aliases = "mods"),
    PARAM("highstate", BOOL, ARGS, highstate, "apply the states of the top file"),
    PARAM("pillar", MAP, ARGS, peel_settings, "settings on top of those of the peels", .aliases = "settings"),
    JOB_PARAMS,
    PARAM("revert_on_failure", CHOICE, ARGS, revert_on_failure, "each peel where a state fails reverts what the run has changed there; `wave`, `all`: and when too many fail, so do all peels of that wave, or of all waves", .choices = "false|true|wave|all", .default_text = "false"),
    PARAM("timeout", DURATION, ARGS, timeout, "of the job (5m, with `highstate` 10m)", PARAM_RANGE(1, INT64_MAX)),
    { 0 },
};

const struct param orders_function_params[] = {
    PARAM("name", STR, ARGS, name, "the function", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "fun,function"),
    TARGET_PARAMS,
    PARAM("arg", STRS, ARGS, arg, "its arguments in order"),
    PARAM("kwarg", MAP, ARGS, kwarg, "its arguments by name"),
    JOB_PARAMS,
    PARAM("timeout", DURATION, ARGS, timeout, "of the job (60s)", PARAM_RANGE(1, INT64_MAX)),
    { 0 },
};
/* clang-format on */

/* --- mistakes -------------------------------------------------------------------------- */

/* NULL: there is no such type. */
static const char *fold_target(struct arena *arena, const struct orders_args *want)
{
    enum target_type type = TARGET_COMPOUND;

    if (want->tgt_type && !target_type_find(str_from(want->tgt_type), &type, NULL))
        return NULL;
    return target_fold(arena, want->tgt, type);
}

static int validate_target(const struct orders_args *want, const struct value *where,
                           struct diags *diags)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct target_options options = { .where = value_point(where, "tgt"), .any_group = true };
    const char *expr = fold_target(&arena, want), *nearest = NULL;
    const struct target *target;
    enum target_type type;

    if (expr)
        return target_parse(&arena, str_from(expr), TARGET_COMPOUND, &options, &target, diags);
    (void)target_type_find(str_from(want->tgt_type), &type, &nearest);
    value_diag(diags, value_point(where, "tgt_type"), "no target type '%s'", want->tgt_type);
    if (nearest)
        diag_hint(diags, "did you mean '%s'?", nearest);
    return -1;
}

static int validate_waves(const struct orders_args *want, const struct value *where,
                          struct diags *diags)
{
    if (want->batch || (!want->gate && want->pause == 0))
        return validate_target(want, where, diags);
    return value_diag(diags, value_point(where, want->gate ? "gate" : "pause"),
                      "'%s' requires 'batch'", want->gate ? "gate" : "pause");
}

int orders_state_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct orders_args *want = args;

    if (want->sls.n > 0 && want->highstate)
        return value_diag(diags, value_point(where, "highstate"),
                          "'sls' and 'highstate' are mutually exclusive");
    if (want->sls.n == 0 && !want->highstate)
        return value_diag(diags, where, "'sls' or 'highstate' is missing");
    if (want->revert_on_failure >= STATE_REVERT_WAVE && !want->batch)
        return value_diag(diags, value_point(where, "revert_on_failure"),
                          "a revert of waves requires 'batch'");
    return validate_waves(want, where, diags);
}

/* Functions of states have no row in the table of modules. */
static bool is_of_states(const char *function)
{
    return str_starts(str_from(function), STR("state."));
}

int orders_function_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct orders_args *want = args;
    const struct module *module = module_find(str_from(want->name));
    const size_t places = module ? params_places(module->params) : 0;
    const size_t most = places > 0 ? places : 1; /* the name of a state, or what is its file */

    if (!module && !is_of_states(want->name)) {
        const char *nearest = module_suggest(str_from(want->name));

        value_diag(diags, value_point(where, "name"), "no function '%s'", want->name);
        if (nearest)
            diag_hint(diags, "did you mean '%s'?", nearest);
        return -1;
    }
    if (want->arg.n > most)
        return value_diag(diags, value_point(where, "arg"), "%s takes %zu arguments at most",
                          want->name, most);
    return validate_waves(want, where, diags);
}

/* --- the job ---------------------------------------------------------------------------- */

static struct state_job make_order_job(struct state_run *run, const struct orders_args *want)
{
    return (struct state_job){
        .state = run->name,
        .target = fold_target(run->arena, want),
        .id = "",
        .args = value_map(value_map_new(run->arena, 2)),
        .timeout = want->timeout,
        .batch = want->batch,
        .failures_max = want->max_failures,
        .pause = want->pause,
        .gate = want->gate,
        .revert = want->revert_on_failure,
        .cancel = run->host->cancel,
    };
}

static void set_arg(struct state_run *run, struct state_job *job, const char *key, struct value v)
{
    value_map_set(run->arena, job->args.map, value_text(key), v);
}

static struct state_job make_state_job(struct state_run *run, const struct orders_args *want)
{
    struct state_job job = make_order_job(run, want);
    AUTO_BUF struct buf mods = BUF_INIT(BUF_NO_LIMIT);

    job.function = want->highstate ? STATE_HIGHSTATE : STATE_APPLY;
    if (job.timeout == 0)
        job.timeout = (want->highstate ? 600 : 300) * NUMBER_NS_PER_S;
    for (size_t i = 0; i < want->sls.n; i++)
        buf_printf(&mods, "%s%s", i > 0 ? "," : "", want->sls.p[i]);
    if (want->sls.n > 0)
        set_arg(run, &job, "mods", value_str(buf_copy(&mods, run->arena)));
    if (want->peel_settings)
        set_arg(run, &job, "pillar", *want->peel_settings);
    if (want->revert_on_failure != STATE_REVERT_NONE)
        set_arg(run, &job, "revert_on_failure", value_bool(true));
    return job;
}

static struct state_job make_function_job(struct state_run *run, const struct orders_args *want)
{
    const struct module *module = module_find(str_from(want->name));
    struct state_job job = make_order_job(run, want);

    job.function = want->name;
    if (job.timeout == 0)
        job.timeout = 60 * NUMBER_NS_PER_S;
    if (want->kwarg)
        job.args = value_copy(run->arena, want->kwarg);
    if (want->arg.n > 0)
        job.id = want->arg.p[0];
    if (module) /* all have a place: they were counted */
        (void)params_bind_words(run->arena, module->params, &want->arg, job.args.map);
    return job;
}

static const char *describe_order(struct state_run *run, const struct state_job *job)
{
    const struct value *mods = value_get(&job->args, "mods");
    const char *what = mods ? mods->s.p : job->id;

    return arena_printf(run->arena, "%s%s%s on '%s'", job->function, what[0] ? " " : "", what,
                        job->target);
}

static const char *choose_plural_ending(size_t n)
{
    return n == 1 ? "" : "s";
}

/* --- what came of it ---------------------------------------------------------------------- */

struct tally {
    size_t targets, changed, failed;
};

/* "web-01, web-02 and 3 more", of those that have changed, or failed with their errors. */
static const char *name_order_peels(struct state_run *run, const struct state_job_end *end,
                                    bool failed)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    size_t count = 0;

    VEC_EACH (&end->peels, peel) {
        if (failed ? peel->success : !peel->changed)
            continue;
        if (count++ < NAMES_MAX)
            buf_printf(&out, "%s%s%s%s", count > 1 ? (failed ? "; " : ", ") : "", peel->peel,
                       failed && peel->error ? ": " : "", failed && peel->error ? peel->error : "");
    }
    if (count > NAMES_MAX)
        buf_printf(&out, " and %zu more", count - NAMES_MAX);
    return buf_copy(&out, run->arena).p;
}

static struct tally count_order_peels(struct state_run *run, const struct state_job_end *end)
{
    struct value_map *errors = value_map_new(run->arena, 0);
    struct value_list *changed = value_list_new(run->arena, 0);
    struct tally tally = { .targets = end->peels.n };

    VEC_EACH (&end->peels, peel) {
        const struct value name = value_text(peel->peel);

        tally.changed += peel->changed;
        tally.failed += !peel->success;
        if (peel->changed)
            value_list_push(run->arena, changed, name);
        if (!peel->success)
            value_map_set(run->arena, errors, name, value_text(peel->error ? peel->error : ""));
    }
    state_detail(run, "jid", "%s", end->jid ? end->jid : "");
    state_detail_value(run, "targets", value_int((int64_t)tally.targets));
    state_detail_value(run, "changed", value_list(changed));
    state_detail_value(run, "failed", value_map(errors));
    return tally;
}

/* Dispatch, wait, judge. `ret_tally` is set on success. */
static int carry_out_order(struct state_run *run, const struct orders_args *want,
                           struct state_job *job, struct state_job_end *ret_end,
                           struct tally *ret_tally, struct err *err)
{
    struct state_fleet *fleet = run->host->fleet;

    if (!fleet)
        return err_set(err, ERR_INVALID,
                       "there is no fleet here; run this tree with 'zester orchestrate'");
    if (run->test)
        set_arg(run, job, "test", value_bool(true));
    if (fleet->run(fleet, run->arena, job, ret_end, err) < 0)
        return err_wrap(err, "%s", describe_order(run, job));
    if (ret_end->peels.n == 0)
        return err_set(err, ERR_NOT_FOUND, "no peel matches '%s'", job->target);
    *ret_tally = count_order_peels(run, ret_end);
    if (ret_end->revert_jid)
        state_detail(run, "revert_job", "%s", ret_end->revert_jid);
    if (ret_end->stopped)
        return err_set(err, ERR_INVALID, "%s: %s%s%s: %zu of %zu peels failed%s%s",
                       describe_order(run, job), ret_end->stopped,
                       ret_end->revert_jid ? "; reverted by job " : "",
                       ret_end->revert_jid ? ret_end->revert_jid : "", ret_tally->failed,
                       ret_tally->targets, ret_tally->failed > 0 ? ": " : "",
                       ret_tally->failed > 0 ? name_order_peels(run, ret_end, true) : "");
    if (ret_tally->failed > (size_t)want->max_failures)
        return err_set(err, ERR_INVALID, "%s: %zu of %zu peels failed: %s",
                       describe_order(run, job), ret_tally->failed, ret_tally->targets,
                       name_order_peels(run, ret_end, true));
    return 0;
}

/* --- check and apply ------------------------------------------------------------------------ */

static int rehearse_order(struct state_run *run, const struct orders_args *want,
                          struct state_job *job, struct err *err)
{
    struct state_job_end end = { .peels = VEC_INIT };
    struct tally tally;

    if (carry_out_order(run, want, job, &end, &tally, err) < 0)
        return -1;
    if (tally.changed > 0)
        state_differs(run, "%s would change %zu of %zu peels: %s", describe_order(run, job),
                      tally.changed, tally.targets, name_order_peels(run, &end, false));
    else
        state_say(run, "%s would change none of %zu peels", describe_order(run, job),
                  tally.targets);
    return 0;
}

static int perform_order(struct state_run *run, const struct orders_args *want,
                         struct state_job *job, struct err *err)
{
    struct state_job_end end = { .peels = VEC_INIT };
    struct tally tally;

    buf_clear(&run->text); /* it runs now: drop 'will run' */
    if (carry_out_order(run, want, job, &end, &tally, err) < 0)
        return -1;
    state_say(run, "%s: %zu peel%s, %zu changed, %zu failed", describe_order(run, job),
              tally.targets, choose_plural_ending(tally.targets), tally.changed, tally.failed);
    if (tally.changed == 0)
        state_unchanged(run);
    return 0;
}

int orders_state_check(struct state_run *run, const void *args, struct err *err)
{
    struct state_job job = make_state_job(run, args);

    if (run->test)
        return rehearse_order(run, args, &job, err);
    state_differs(run, "%s will run", describe_order(run, &job));
    return 0;
}

int orders_state_apply(struct state_run *run, const void *args, struct err *err)
{
    struct state_job job = make_state_job(run, args);

    return perform_order(run, args, &job, err);
}

/* Only states have a dry run. */
static bool has_dry_run(const struct orders_args *want)
{
    const struct module *module = module_find(str_from(want->name));

    return strcmp(want->name, STATE_APPLY) == 0 || strcmp(want->name, STATE_HIGHSTATE) == 0 ||
           (module && module->apply && !(module->flags & MODULE_ALWAYS));
}

/* Nothing is run, but a target that matches no peel fails as in a real run. */
static int name_order_targets(struct state_run *run, const struct orders_args *want,
                              struct state_job *job, struct err *err)
{
    struct state_job_end end = { .peels = VEC_INIT };
    struct tally tally;

    job->names_only = true;
    if (carry_out_order(run, want, job, &end, &tally, err) < 0)
        return -1;
    state_differs(run, "%s would run on %zu peel%s", describe_order(run, job), tally.targets,
                  choose_plural_ending(tally.targets));
    return 0;
}

int orders_function_check(struct state_run *run, const void *args, struct err *err)
{
    struct state_job job = make_function_job(run, args);

    if (run->test)
        return (has_dry_run(args) ? rehearse_order : name_order_targets)(run, args, &job, err);
    state_differs(run, "%s will run", describe_order(run, &job));
    return 0;
}

int orders_function_apply(struct state_run *run, const void *args, struct err *err)
{
    struct state_job job = make_function_job(run, args);

    return perform_order(run, args, &job, err);
}
