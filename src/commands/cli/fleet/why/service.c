#include "commands/cli/fleet/why/service.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/bus_time.h"
#include "commands/cli/fleet/direct.h"
#include "commands/cli/fleet/peels.h"
#include "commands/cli/fleet/runs.h"
#include "commands/cli/fleet/why/fleet.h"
#include "commands/cli/fleet/why/state.h"
#include "kepler/engine/why_text.h"
#include "states/provider/orchestrator.h"
#include "states/run/lastrun.h"
#include "core/sys/clock.h"

#define FUNCTION "kepler.why"
/* How long the daemon of this machine may take to answer. */
#define DAEMON_NS (30 * CLOCK_SECOND)

/* --- what began it ------------------------------------------------------------------------ */

/* The last thing that was not a consequence of another. */
struct origin {
    const char *cause; /* NULL: not known */
    int64_t wall;      /* of a request, in nanoseconds; 0: it was none */
};

static bool is_request(const char *cause)
{
    return strstr(cause, "requested by") != NULL;
}

/* Did something happen to a service that was up? Becoming healthy is a part of coming up. */
static bool is_incident(const char *from, const char *to)
{
    static const char *const up[] = { "running", "healthy", "unhealthy" };

    if (strcmp(from, "running") == 0 && strcmp(to, "healthy") == 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(up); i++)
        if (strcmp(from, up[i]) == 0)
            return true;
    return false;
}

/* Finds what changed another service and so this one; else its own cause. */
static const char *deepest_cause(const struct value *entry)
{
    const struct value *chain = value_get(entry, "chain");
    const char *cause = NULL;

    if (value_is(chain, VALUE_LIST) && chain->list->count > 0)
        cause = value_get_text(&chain->list->items[chain->list->count - 1], "cause");
    return cause ? cause : value_get_text(entry, "cause");
}

/* The history has the newest change first. */
static struct origin find_cause_origin(const struct value *why)
{
    const struct value *history = value_get(why, "history");

    for (size_t i = 0; value_is(history, VALUE_LIST) && i < history->list->count; i++) {
        const struct value *entry = &history->list->items[i];
        const char *cause = deepest_cause(entry), *from = value_get_text(entry, "from"),
                   *to = value_get_text(entry, "to");

        if (cause && is_request(cause))
            return (struct origin){ cause, value_get_int(entry, "wall", 0) };
        if (cause && from && to && is_incident(from, to))
            return (struct origin){ .cause = cause };
    }
    return (struct origin){ 0 };
}

static int64_t make_wall_time(struct value_time time)
{
    return time.seconds * CLOCK_SECOND + time.nanoseconds;
}

static bool has_asked(const struct lastrun *run, const struct origin *origin)
{
    const int64_t end = make_wall_time(run->time);

    return !run->test && origin->wall > 0 && origin->wall <= end &&
           origin->wall >= end - run->duration;
}

/* --- the service -------------------------------------------------------------------------- */

/* `where` comes after "of CONFIG". */
static void add_service(struct why_chain *chain, const char *config, const char *where,
                        const struct value *why)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const char *name = value_get_text(why, "service");

    why_print(why, &text);
    chain->text = buf_copy(&text, chain->arena).p;
    chain->details = *why;
    (void)why_add(chain, &(struct why_link){
                             .kind = "service",
                             .id = name ? name : "?",
                             .what = arena_printf(chain->arena, "of %s%s", config, where),
                         });
}

int why_add_service(struct why_chain *chain, const char *name, const char *data_dir,
                    const char **ret_run, struct err *err)
{
    const struct tool tool = { .arena = chain->arena, .timeout = DAEMON_NS };
    struct orchestrator_service service;
    struct origin origin;
    struct lastrun run;
    struct err ignored;
    struct value why;

    *ret_run = "";
    if (orchestrator_why(&tool, name, &service, &why, err) < 0)
        return -1;
    add_service(chain, service.config, "", &why);
    origin = find_cause_origin(&why);
    if (data_dir && lastrun_read(chain->arena, data_dir, &run, &ignored) == 0 &&
        has_asked(&run, &origin)) {
        why_add_run(chain, &run);
        *ret_run = run.id;
    } else if (origin.cause) {
        why_end(chain, "%s", origin.cause);
    }
    return 0;
}

/* --- a peel ------------------------------------------------------------------------------- */

/* A failed answer says that there is no such service, or why it is unknown. */
static int ask_peel_why(struct why_chain *chain, struct fleet *fleet, const struct fleet_peel *peel,
                        const char *name, int64_t timeout, struct value *ret_why, struct err *err)
{
    const struct fleet_question question = { .function = FUNCTION,
                                             .id = name,
                                             .args = value_null(),
                                             .peels = { 1, &peel->id },
                                             .timeout = timeout };
    struct fleet_answers answers;

    if (!fleet_peel_is_online(peel, bus_time()))
        return err_set(err, ERR_NOT_FOUND, "%s is not connected and cannot be asked", peel->name);
    if (fleet_ask_peels(fleet, &question, &answers, err) < 0)
        return -1;
    if (fleet_answer_read(chain->arena, &answers.list[0], ret_why, err) < 0)
        err->code = ERR_NOT_FOUND;
    else if (!value_is(ret_why, VALUE_MAP))
        (void)err_set(err, ERR_NOT_FOUND, "%s returned an invalid answer", peel->name);
    else
        return 0;
    return -1;
}

/* The run that asked for it, if it is the last one that acted. */
static int follow_request(struct why_chain *chain, struct fleet *fleet, struct fleet_peels *one,
                          const struct origin *origin, struct err *err)
{
    struct fleet_runs runs;

    if (fleet_runs_read(fleet, one, &runs, err) < 0)
        return -1;
    if (runs.list.n == 0 || !has_asked(&runs.list.p[0].summary, origin))
        return 0;
    why_add_run(chain, &runs.list.p[0].summary);
    if (why_add_job(chain, fleet, runs.list.p[0].summary.id, err) == 0)
        return 0;
    return err->code == ERR_NOT_FOUND ? 0 : -1;
}

int why_add_peel_service(struct why_chain *chain, struct fleet *fleet, const char *peel,
                         const char *name, int64_t timeout, struct err *err)
{
    struct fleet_peels all = FLEET_PEELS_INIT(chain->arena), one = FLEET_PEELS_INIT(chain->arena);
    const struct fleet_peel *found;
    const char *config;
    struct origin origin;
    struct value why;

    if (fleet_peels_find(fleet, peel, &all, &one, err) < 0)
        return -1;
    found = one.list.p[0];
    if (ask_peel_why(chain, fleet, found, name, timeout, &why, err) < 0)
        return -1;
    config = value_get_text(&why, "config");
    add_service(chain, config ? config : "?", arena_printf(chain->arena, " on %s", found->name),
                &why);
    origin = find_cause_origin(&why);
    if (origin.wall > 0 && follow_request(chain, fleet, &one, &origin, err) < 0)
        return -1;
    if (origin.cause)
        why_end(chain, "%s", origin.cause);
    return 0;
}
