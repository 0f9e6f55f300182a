#include "states/modules/pkg/packages_gone.h"

#include "core/base/err.h"
#include "states/modules/pkg/packages_share.h"
#include "states/state/module.h"

#define ARGS struct packages_gone_args

extern const struct module module_pkg_removed, module_pkg_purged;

/* clang-format off */
const struct param packages_gone_params[] = {
    PACKAGES_PARAMS(ARGS, what),
    PARAM("version", STR, ARGS, what.version, "only if it has this version; conditions as in pkg.installed"),
    PARAM("ignore_epoch", BOOL, ARGS, what.ignore_epoch, "'1.2' also matches '5:1.2'"),
    PACKAGES_AGGREGATE(ARGS, aggregate),
    { 0 },
};
/* clang-format on */

int packages_gone_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct packages_gone_args *want = args;

    return packages_validate(&want->what, where, diags);
}

struct removal_job {
    struct packages packages;
    struct packages_wants wants, there;
};

/* With a version in the list, other versions stay. */
static bool is_package_there(const struct packages *packages, const struct packages_want *want,
                             bool purge)
{
    if (want->found.state < PACKAGE_BROKEN)
        return purge && want->found.state == PACKAGE_CONFIG;
    return wish_holds(&want->wish, str_from(want->found.version), packages->manager->compare);
}

static int find_packages(struct state_run *run, const struct packages_gone_args *args, bool purge,
                         struct removal_job *job, struct err *err)
{
    *job = (struct removal_job){ 0 };
    if (packages_open(run, &job->packages, err) < 0 ||
        packages_wants(&job->packages, &args->what, &job->wants, err) < 0 ||
        packages_look(&job->packages, &job->wants, err) < 0)
        return -1;
    VEC_EACH (&job->wants.list, want)
        if (is_package_there(&job->packages, want, purge))
            VEC_PUSH_IN(run->arena, &job->there.list, *want);
    return 0;
}

/* In a dry run, an earlier state may release it. */
static int check_holds(const struct removal_job *job, struct err *err)
{
    VEC_EACH (&job->there.list, want)
        if (want->found.held && !job->packages.run->test)
            return err_set(err, ERR_BUSY, "'%s' is held at %s: release it with pkg.unheld",
                           want->name, want->found.version);
    return 0;
}

/* --- shared runs ------------------------------------------------------------------------- */

static bool can_share_removal(const void *one, const void *other)
{
    const struct packages_gone_args *a = one, *b = other;

    return a->aggregate != PARAM_IS_FALSE && b->aggregate != PARAM_IS_FALSE;
}

static int find_doomed(struct state_run *run, const void *args, bool purge,
                       struct packages_wants *ret, struct err *err)
{
    struct removal_job job;

    if (find_packages(run, args, purge, &job, err) < 0 || check_holds(&job, err) < 0)
        return -1;
    *ret = job.there;
    return 0;
}

static int find_removed_packages(struct state_run *run, const void *args,
                                 struct packages_wants *ret, struct err *err)
{
    return find_doomed(run, args, false, ret, err);
}

static int find_purged(struct state_run *run, const void *args, struct packages_wants *ret,
                       struct err *err)
{
    return find_doomed(run, args, true, ret, err);
}

static int remove_them(struct packages *packages, const void *args,
                       const struct packages_wants *there, const struct package_offers *offers,
                       struct err *err)
{
    const struct package_request request = packages_request(packages, PACKAGE_REMOVE, there);

    (void)args;
    (void)offers;
    return packages_act(packages, &request, err);
}

static int purge_them(struct packages *packages, const void *args,
                      const struct packages_wants *there, const struct package_offers *offers,
                      struct err *err)
{
    const struct package_request request = packages_request(packages, PACKAGE_PURGE, there);

    (void)args;
    (void)offers;
    return packages_act(packages, &request, err);
}

static bool is_removed(const struct packages *packages, const struct packages_want *want)
{
    return !is_package_there(packages, want, false);
}

static bool is_purged(const struct packages *packages, const struct packages_want *want)
{
    return !is_package_there(packages, want, true);
}

static const struct packages_share removing = {
    .module = &module_pkg_removed,
    .verb = "removed",
    .fits = can_share_removal,
    .find = find_removed_packages,
    .act = remove_them,
    .is_done = is_removed,
};

static const struct packages_share purging = {
    .module = &module_pkg_purged,
    .verb = "purged",
    .fits = can_share_removal,
    .find = find_purged,
    .act = purge_them,
    .is_done = is_purged,
};

/* --- the states -------------------------------------------------------------------------- */

/* Why there is nothing to do. */
static void report_other_removals(struct removal_job *job, bool purge)
{
    struct state_run *run = job->packages.run;
    struct packages_wants absent = { 0 };

    if (job->wants.list.n == 0)
        state_say(run, "no packages given");
    VEC_EACH (&job->wants.list, want) {
        if (want->found.state < PACKAGE_BROKEN)
            VEC_PUSH_IN(run->arena, &absent.list, *want);
        else
            state_say(run, "%s is installed in version %s, not '%s', and stays", want->name,
                      want->found.version, want->version);
    }
    if (absent.list.n > 0)
        state_say(run, "%s %s %s", packages_names(&job->packages, &absent),
                  absent.list.n == 1 ? (purge ? "has" : "is") : (purge ? "have" : "are"),
                  purge ? "no package record" : "not installed");
}

int packages_gone_check(struct state_run *run, const struct packages_gone_args *args, bool purge,
                        struct err *err)
{
    const char *gift = packages_share_gift(run);
    struct removal_job job;

    if (find_packages(run, args, purge, &job, err) < 0 || check_holds(&job, err) < 0)
        return -1;
    if (gift)
        state_differs(run, "%s", gift);
    VEC_EACH (&job.there.list, want) {
        state_differs(run, "%s is installed%s%s", want->name,
                      purge ? " or has residual package state and needs to be purged"
                            : " and needs to be removed",
                      want->found.held ? ", but is held" : "");
        state_made(run, "%s %s", purge ? "purged" : "removed", want->name);
    }
    if (!run->differs)
        report_other_removals(&job, purge);
    return 0;
}

int packages_gone_apply(struct state_run *run, const struct packages_gone_args *args, bool purge,
                        struct err *err)
{
    const char *gift = packages_share_gift(run), *remark = NULL;
    struct removal_job job;

    if (find_packages(run, args, purge, &job, err) < 0 || check_holds(&job, err) < 0)
        return -1;
    if (job.there.list.n > 0) {
        if (packages_share_change(&job.packages, purge ? &purging : &removing, args, &job.there,
                                  &remark, err) < 0)
            return -1;
    } else if (!gift) {
        state_unchanged(run);
        return 0;
    }
    buf_clear(&run->text);
    if (gift)
        state_say(run, "%s", gift);
    if (job.there.list.n > 0)
        state_say(run, "%s %s via %s", purge ? "purged" : "removed",
                  packages_names(&job.packages, &job.there), job.packages.manager->name);
    if (remark)
        state_say(run, "%s", remark);
    state_detail(run, "package", "%s", packages_names(&job.packages, &job.wants));
    state_detail(run, "manager", "%s", job.packages.manager->name);
    return 0;
}
