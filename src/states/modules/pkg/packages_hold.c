#include "states/modules/pkg/packages_hold.h"

#include <string.h>

#include "core/base/err.h"
#include "states/modules/pkg/packages.h"
#include "states/modules/pkg/packages_undo.h"
#include "states/provider/package/installed.h"
#include "states/state/module.h"

struct hold_job {
    struct packages packages;
    struct packages_wants wants;
    struct packages_wants hold, let_go;
};

static bool is_hold_wanted(const struct packages_wants *wants, const char *name)
{
    VEC_EACH (&wants->list, want)
        if (strcmp(want->name, name) == 0)
            return true;
    return false;
}

/* Held packages that are not in the list. */
static int find_others(struct hold_job *job, struct err *err)
{
    struct arena *arena = job->packages.run->arena;
    const struct package_db *db;

    if (installed_lock(job->packages.manager, &job->packages.host, &db, err) < 0)
        return -1;
    VEC_EACH (&db->list, package) {
        struct packages_want want = { .name = (*package)->name };

        if (!(*package)->held || is_hold_wanted(&job->wants, want.name))
            continue;
        want.name = arena_strdup(arena, want.name);
        VEC_PUSH_IN(arena, &job->let_go.list, want);
    }
    installed_unlock();
    return 0;
}

/* Why a package cannot be held as it is. In a dry run, an earlier state may install it. */
static int report_unfit(struct hold_job *job, const struct packages_want *want, struct err *err)
{
    const bool is_missing = want->found.state != PACKAGE_INSTALLED;
    struct state_run *run = job->packages.run;

    if (!run->test && is_missing)
        return err_set(err, ERR_NOT_FOUND, "'%s' cannot be held: it is %s", want->name,
                       package_state_word(want->found.state));
    if (!run->test)
        return err_set(err, ERR_INVALID, "'%s' is at %s, not at '%s' as required by the hold",
                       want->name, want->found.version, want->version);
    if (is_missing)
        state_differs(run, "%s needs to be held once it is installed", want->name);
    else
        state_differs(run, "%s is at %s and needs to be held once it is at '%s'", want->name,
                      want->found.version, want->version);
    return 0;
}

static bool is_fit(const struct hold_job *job, const struct packages_want *want)
{
    return want->found.state == PACKAGE_INSTALLED &&
           (want->wish.count == 0 || packages_is_met(&job->packages, want));
}

static int sort_held_packages(struct hold_job *job, const struct packages_hold *hold,
                              struct err *err)
{
    struct arena *arena = job->packages.run->arena;

    VEC_EACH (&job->wants.list, want) {
        if (hold->held && !is_fit(job, want)) {
            if (report_unfit(job, want, err) < 0)
                return -1;
            continue;
        }
        if (hold->held && !want->found.held)
            VEC_PUSH_IN(arena, &job->hold.list, *want);
        if (!hold->held && want->found.held)
            VEC_PUSH_IN(arena, &job->let_go.list, *want);
    }
    return hold->alone ? find_others(job, err) : 0;
}

static int find_hold_work(struct state_run *run, const struct packages_hold *hold,
                          struct hold_job *job, struct err *err)
{
    *job = (struct hold_job){ 0 };
    if (packages_open(run, &job->packages, err) < 0)
        return -1;
    if (!package_request_can(job->packages.manager, PACKAGE_HOLD))
        return err_set(err, ERR_UNSUPPORTED, "%s cannot hold packages",
                       job->packages.manager->name);
    if (packages_wants(&job->packages, hold->what, &job->wants, err) < 0 ||
        packages_look(&job->packages, &job->wants, err) < 0)
        return -1;
    return sort_held_packages(job, hold, err);
}

int packages_hold_check(struct state_run *run, const struct packages_hold *hold, struct err *err)
{
    struct hold_job job;

    if (find_hold_work(run, hold, &job, err) < 0)
        return -1;
    VEC_EACH (&job.hold.list, want) {
        state_differs(run, "%s needs to be held at %s", want->name, want->found.version);
        state_made(run, "held %s at %s", want->name, want->found.version);
    }
    VEC_EACH (&job.let_go.list, want) {
        state_differs(run, "%s is held and needs to be released", want->name);
        state_made(run, "released %s", want->name);
    }
    if (!run->differs)
        state_say(run, "%s %s %sheld", packages_names(&job.packages, &job.wants),
                  job.wants.list.n == 1 ? "is" : "are", hold->held ? "already " : "not ");
    return 0;
}

static int change_package_holds(struct hold_job *job, struct err *err)
{
    const struct package_request hold = packages_request(&job->packages, PACKAGE_HOLD, &job->hold);
    const struct package_request let_go =
        packages_request(&job->packages, PACKAGE_UNHOLD, &job->let_go);

    if (packages_act(&job->packages, &let_go, err) < 0)
        return -1;
    return packages_act(&job->packages, &hold, err);
}

int packages_hold_apply(struct state_run *run, const struct packages_hold *hold, struct err *err)
{
    struct packages_undo undo;
    struct err after;
    struct hold_job job;
    int rc;

    if (find_hold_work(run, hold, &job, err) < 0)
        return -1;
    if (job.hold.list.n == 0 && job.let_go.list.n == 0) {
        state_unchanged(run);
        return 0;
    }
    if (packages_undo_begin(&job.packages, &job.wants, &undo, err) < 0)
        return -1;
    rc = change_package_holds(&job, err);
    if (packages_undo_end(&job.packages, &undo, &after) < 0 && rc == 0)
        return *err = after, -1;
    if (rc < 0)
        return -1;
    buf_clear(&run->text);
    if (job.hold.list.n > 0)
        state_say(run, "held %s via %s", packages_names(&job.packages, &job.hold),
                  job.packages.manager->name);
    if (job.let_go.list.n > 0)
        state_say(run, "released %s via %s", packages_names(&job.packages, &job.let_go),
                  job.packages.manager->name);
    state_detail(run, "manager", "%s", job.packages.manager->name);
    return 0;
}
