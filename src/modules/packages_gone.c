#include "modules/packages_gone.h"

#include "base/err.h"
#include "modules/packages.h"
#include "modules/packages_undo.h"
#include "state/module.h"

struct job {
    struct packages packages;
    struct packages_wants wants, there;
};

/* A version in the list limits it: others stay. */
static bool is_there(const struct packages *packages, const struct packages_want *want, bool purge)
{
    if (want->found.state < PACKAGE_BROKEN)
        return purge && want->found.state == PACKAGE_CONFIG;
    return wish_holds(&want->wish, str_from(want->found.version), packages->manager->compare);
}

static int look(struct state_run *run, const struct packages_args *args, bool purge,
                struct job *job, struct err *err)
{
    *job = (struct job){ 0 };
    if (packages_open(run, &job->packages, err) < 0 ||
        packages_wants(&job->packages, args, &job->wants, err) < 0 ||
        packages_look(&job->packages, &job->wants, err) < 0)
        return -1;
    VEC_EACH (&job->wants.list, want)
        if (is_there(&job->packages, want, purge))
            VEC_PUSH_IN(run->arena, &job->there.list, *want);
    return 0;
}

int packages_gone_check(struct state_run *run, const struct packages_args *args, bool purge,
                        struct err *err)
{
    struct job job;

    if (look(run, args, purge, &job, err) < 0)
        return -1;
    VEC_EACH (&job.there.list, want)
        state_differs(run, "%s is installed%s", want->name,
                      purge ? " or has residual package state and needs to be purged"
                            : " and needs to be removed");
    if (!run->differs)
        state_say(run, "%s %s %s", packages_names(&job.packages, &job.wants),
                  job.wants.list.n == 1 ? (purge ? "has" : "is") : (purge ? "have" : "are"),
                  purge ? "no package record" : "not installed");
    return 0;
}

static int verify(struct job *job, bool purge, struct err *err)
{
    if (packages_look(&job->packages, &job->there, err) < 0)
        return -1;
    VEC_EACH (&job->there.list, want)
        if (is_there(&job->packages, want, purge))
            return err_set(err, ERR_INVALID, "%s ran, but '%s' is still %s",
                           job->packages.manager->name, want->name,
                           package_state_word(want->found.state));
    return 0;
}

static int act(struct job *job, bool purge, struct err *err)
{
    const struct package_request request =
        packages_request(&job->packages, purge ? PACKAGE_PURGE : PACKAGE_REMOVE, &job->there);

    if (packages_act(&job->packages, &request, err) < 0)
        return -1;
    return verify(job, purge, err);
}

int packages_gone_apply(struct state_run *run, const struct packages_args *args, bool purge,
                        struct err *err)
{
    struct packages_undo undo;
    struct err after;
    struct job job;
    int rc;

    if (look(run, args, purge, &job, err) < 0)
        return -1;
    if (job.there.list.n == 0) {
        state_unchanged(run);
        return 0;
    }
    if (packages_undo_begin(&job.packages, &job.there, &undo, err) < 0)
        return -1;
    rc = act(&job, purge, err);
    if (packages_undo_end(&job.packages, &undo, &after) < 0 && rc == 0)
        return *err = after, -1;
    if (rc < 0)
        return -1;
    buf_clear(&run->text);
    state_say(run, "%s %s via %s", purge ? "purged" : "removed",
              packages_names(&job.packages, &job.there), job.packages.manager->name);
    state_detail(run, "package", "%s", packages_names(&job.packages, &job.wants));
    state_detail(run, "manager", "%s", job.packages.manager->name);
    return 0;
}

int packages_gone_revert(struct state_run *run, struct err *err)
{
    struct packages packages;

    if (packages_open(run, &packages, err) < 0)
        return -1;
    return packages_undo_revert(&packages, err);
}
