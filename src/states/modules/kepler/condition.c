/* kepler.condition - waits until a service of the orchestrator meets a condition. */
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/suggest.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/kepler/waits.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct condition_args

struct condition_args {
    const char *name;
    int condition;
    int64_t timeout;
};

static const struct param condition_params[] = {
    PARAM("name", STR, ARGS, name,
          "the service: CONFIG/SERVICE, PATH:SERVICE or SERVICE; a condition and a timeout may "
          "follow, and win",
          .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "service"),
    PARAM("condition", CHOICE, ARGS, condition, "what to wait for",
          .choices = ORCHESTRATOR_CONDITIONS, .default_text = "started"),
    PARAM("timeout", DURATION, ARGS, timeout, "how long to wait for it",
          .default_text = WAITS_TIMEOUT),
    { 0 },
};

/* --- the name --------------------------------------------------------------------------------- */

/* -1 when the word is none. */
static int parse_condition(struct str word)
{
    struct str rest = STR(ORCHESTRATOR_CONDITIONS);

    for (int i = 0; rest.p; i++)
        if (str_eq(str_cut(&rest, '|'), word))
            return i;
    return -1;
}

static int report_condition(struct str word, struct err *err)
{
    struct str rest = STR(ORCHESTRATOR_CONDITIONS);
    struct suggest near;

    suggest_init(&near, word);
    while (rest.p)
        suggest_offer(&near, str_cut(&rest, '|'));
    if (suggest_best(&near).p)
        return err_set(err, ERR_INVALID, "unknown condition '%.*s' (did you mean '%.*s'?)",
                       STR_ARG(word), STR_ARG(suggest_best(&near)));
    return err_set(err, ERR_INVALID, "unknown condition '%.*s', expected one of %s", STR_ARG(word),
                   ORCHESTRATOR_CONDITIONS);
}

/* A parsed name: "web/api healthy 30s". */
struct condition_target {
    struct str service;
    int condition;
    int64_t timeout;
};

static int parse_condition_name(const struct condition_args *want, struct condition_target *ret,
                                struct err *err)
{
    struct str rest = str_trim(str_from(want->name)), service = str_cut(&rest, ' '), word, timeout;

    *ret = (struct condition_target){ service, want->condition, want->timeout };
    rest = str_trim(rest);
    if (rest.n == 0)
        return 0;
    word = str_cut(&rest, ' ');
    timeout = str_trim(rest);
    ret->condition = parse_condition(word);
    if (ret->condition < 0)
        return report_condition(word, err);
    if (timeout.n == 0)
        return 0;
    if (number_parse_duration(timeout, &ret->timeout, err) < 0)
        return err_wrap(err, "timeout");
    if (ret->timeout <= 0)
        return err_set(err, ERR_INVALID, "the timeout must not be 0");
    return 0;
}

static int condition_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct condition_args *want = args;
    const struct value *at = value_point(where, "name");
    struct condition_target awaited;
    struct err err;

    if (validate_text("name", want->name, VALIDATE_LINE, where, diags) < 0)
        return -1;
    if (want->timeout == 0)
        return value_diag(diags, value_point(where, "timeout"), "'timeout' must not be 0");
    if (parse_condition_name(want, &awaited, &err) < 0)
        return value_diag(diags, at, "%s", err.text);
    if (awaited.service.n == 0 || awaited.service.p[awaited.service.n - 1] == '/' ||
        awaited.service.p[awaited.service.n - 1] == ':')
        return value_diag(diags, at, "'%s' names no service", want->name);
    return 0;
}

/* --- waiting ---------------------------------------------------------------------------------- */

struct work {
    struct tool tool;
    const char *service; /* for people */
    const char *names[1];
    struct orchestrator_wait wait;
};

static int find_condition_service(struct state_run *run, const void *args, struct work *work,
                                  struct err *err)
{
    struct orchestrator_service found;
    struct condition_target awaited;

    if (parse_condition_name(args, &awaited, err) < 0)
        return -1;
    work->tool = run_tool(run);
    work->service = arena_strndup(run->arena, awaited.service.p, awaited.service.n);
    if (orchestrator_find(&work->tool, work->service, &found, err) < 0)
        return -1;
    if (!found.status)
        return err_set(err, ERR_NOT_FOUND, "kepler has no service '%s'", work->service);
    work->names[0] = found.service;
    work->wait = (struct orchestrator_wait){ .config = found.config,
                                             .services = { 1, work->names },
                                             .condition = awaited.condition,
                                             .timeout = awaited.timeout };
    return 0;
}

static int condition_check(struct state_run *run, const void *args, struct err *err)
{
    struct work work;

    if (find_condition_service(run, args, &work, err) == 0)
        return waits_check(run, &work.tool, &work.wait, work.service, err);
    if (!run->test || err->code != ERR_NOT_FOUND)
        return -1;
    /* An earlier state of the run may bring it. */
    state_say(run, "%s: a run fails unless an earlier state starts it", err->text);
    return 0;
}

static int condition_apply(struct state_run *run, const void *args, struct err *err)
{
    struct work work;

    if (find_condition_service(run, args, &work, err) < 0 ||
        waits_until(run, &work.tool, &work.wait, work.service, err) < 0)
        return -1;
    state_unchanged(run);
    state_say(run, "%s meets the condition '%.*s'", work.service,
              STR_ARG(orchestrator_condition(work.wait.condition)));
    return 0;
}

const struct module module_kepler_condition = {
    .name = "kepler.condition",
    .summary = "wait until a service of kepler meets a condition",
    .details = "Changes nothing, and fails when the condition is not met in time, or can no longer "
               "be met. A requisite such as 'require: [{kepler: web/api healthy 30s}]' adds such "
               "a state by itself. CONFIG is the name of the config's file without its suffix, or, "
               "of a kepler.yaml, that of its folder.",
    .example = "name: web/api healthy 30s\n",
    .params = condition_params,
    .args_size = sizeof(struct condition_args),
    .flags = MODULE_NO_UNDO,
    .validate = condition_validate,
    .check = condition_check,
    .apply = condition_apply,
};
