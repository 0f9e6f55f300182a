/* pkg.latest - packages in the newest version that can be had. */
#include <string.h>

#include "base/err.h"
#include "modules/packages.h"
#include "modules/packages_undo.h"
#include "state/module.h"

#define ARGS struct latest_args

struct latest_args {
    struct packages_args what;
    enum param_tristate refresh, recommends;
    bool update_holds, skip_verify, only_upgrade;
    const char *fromrepo;
};

/* clang-format off */
static const struct param latest_params[] = {
    PACKAGES_PARAMS(ARGS, what),
    PARAM("refresh", TRISTATE, ARGS, refresh, "refresh the index before, never in a dry run; without: unless this was done a moment ago"),
    PARAM("update_holds", BOOL, ARGS, update_holds, "also packages that are held; they are held again"),
    PARAM("fromrepo", STR, ARGS, fromrepo, "take them from this repository; for apt: a release", .flags = PARAM_FILLED),
    PARAM("skip_verify", BOOL, ARGS, skip_verify, "do not check signatures"),
    PARAM("install_recommends", TRISTATE, ARGS, recommends, "with packages that they recommend; without: as the manager is configured"),
    PARAM("only_upgrade", BOOL, ARGS, only_upgrade, "packages that are not there stay away"),
    { 0 },
};
/* clang-format on */

static int latest_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct latest_args *want = args;

    if (want->fromrepo && (want->fromrepo[0] == '-' || strpbrk(want->fromrepo, " \t\r\n")))
        return value_diag(diags, where, "'%s' is no name of a repository", want->fromrepo);
    return packages_validate(&want->what, where, diags);
}

struct job {
    struct packages packages;
    struct packages_wants wants, unmet;
    struct package_offers offers;
};

/* An index that cannot be refreshed is used as it is, and the result says so. */
static int refresh(struct job *job, const struct latest_args *want, struct err *err)
{
    struct state_run *run = job->packages.run;

    if (run->test || want->refresh == PARAM_IS_FALSE)
        return 0;
    if (packages_refresh(&job->packages, want->refresh == PARAM_IS_TRUE, err) == 0)
        return 0;
    if (err->code == ERR_CANCELED)
        return -1;
    state_say(run, "%s", err->text);
    return 0;
}

static bool is_newer(const struct job *job, const struct packages_want *item,
                     const struct package_offer *offer)
{
    return job->packages.manager->compare(str_from(offer->candidate),
                                          str_from(item->found.version)) > 0;
}

/* Say how it is with one of them; it may have to change. */
static void judge(struct job *job, const struct latest_args *want, const struct packages_want *item)
{
    struct state_run *run = job->packages.run;
    const struct package_offer *offer = package_offers_find(&job->offers, str_from(item->name));

    if (item->found.state != PACKAGE_INSTALLED) {
        if (want->only_upgrade && item->found.state < PACKAGE_BROKEN) {
            state_say(run, "%s is not installed, and only_upgrade is set", item->name);
            return;
        }
        state_differs(run, "%s is not installed", item->name);
    } else if (!offer) {
        state_say(run, "%s is installed (upgradability unknown)", item->name);
        return;
    } else if (!is_newer(job, item, offer)) {
        state_say(run, "%s is at the latest version", item->name);
        return;
    } else if (item->found.held && !want->update_holds) {
        state_say(run, "%s has a newer version %s available, but is held at %s", item->name,
                  offer->candidate, item->found.version);
        return;
    } else {
        state_differs(run, "%s has a newer version available: %s -> %s", item->name,
                      item->found.version, offer->candidate);
    }
    VEC_PUSH_IN(run->arena, &job->unmet.list, *item);
}

static int look(struct state_run *run, const struct latest_args *want, bool fresh, struct job *job,
                struct err *err)
{
    *job = (struct job){ 0 };
    if (packages_open(run, &job->packages, err) < 0 ||
        packages_wants(&job->packages, &want->what, &job->wants, err) < 0 ||
        (fresh && refresh(job, want, err) < 0) ||
        packages_look(&job->packages, &job->wants, err) < 0)
        return -1;
    if (packages_offers(&job->packages, &job->wants, &job->offers, err) < 0) {
        if (err->code == ERR_CANCELED)
            return -1;
        state_say(run, "%s", err->text);
    }
    VEC_EACH (&job->wants.list, item)
        judge(job, want, item);
    return 0;
}

/* In a real run the index is brought up to date here: without it there is nothing to compare with.
 */
static int latest_check(struct state_run *run, const void *args, struct err *err)
{
    struct job job;

    return look(run, args, true, &job, err);
}

static struct package_request request_of(struct job *job, const struct latest_args *want)
{
    struct package_request request = {
        .action = PACKAGE_INSTALL,
        .fromrepo = want->fromrepo,
        .skip_verify = want->skip_verify,
        .change_held = want->update_holds,
        .recommends = want->recommends == PARAM_IS_TRUE    ? 1
                      : want->recommends == PARAM_IS_FALSE ? -1
                                                           : 0,
    };

    VEC_EACH (&job->unmet.list, item) {
        const struct package_offer *offer = package_offers_find(&job->offers, str_from(item->name));

        packages_request_add(&job->packages, &request, item->name,
                             offer ? packages_pin(&job->packages, item, offer, offer->candidate)
                                   : NULL);
    }
    return request;
}

static struct package_request held_of(struct job *job, enum package_action action)
{
    struct package_request request = { .action = action };

    VEC_EACH (&job->unmet.list, item)
        if (item->found.held && !job->packages.manager->change_held)
            packages_request_add(&job->packages, &request, item->name, NULL);
    return request;
}

static int upgrade(struct job *job, const struct latest_args *want, struct err *err)
{
    const struct package_request request = request_of(job, want);
    const struct package_request let_go = held_of(job, PACKAGE_UNHOLD);
    const struct package_request hold = held_of(job, PACKAGE_HOLD);
    struct err after;
    int rc;

    if (packages_act(&job->packages, &let_go, err) < 0)
        return -1;
    rc = packages_act(&job->packages, &request, err);
    if (packages_act(&job->packages, &hold, &after) < 0 && rc == 0)
        return *err = after, -1;
    return rc;
}

static int latest_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct latest_args *want = args;
    struct packages_undo undo;
    struct err after;
    struct job job;
    int rc;

    buf_clear(&run->text);
    if (look(run, want, run->forced, &job, err) < 0)
        return -1;
    if (job.unmet.list.n == 0) {
        state_unchanged(run);
        return 0;
    }
    if (packages_undo_begin(&job.packages, &job.unmet, &undo, err) < 0)
        return -1;
    rc = upgrade(&job, want, err);
    if (packages_undo_end(&job.packages, &undo, &after) < 0 && rc == 0)
        return *err = after, -1;
    if (rc < 0)
        return -1;
    buf_clear(&run->text);
    state_say(run, "installed/upgraded %s to latest via %s",
              packages_names(&job.packages, &job.unmet), job.packages.manager->name);
    state_detail(run, "package", "%s", packages_names(&job.packages, &job.wants));
    state_detail(run, "manager", "%s", job.packages.manager->name);
    return 0;
}

static int latest_revert(struct state_run *run, const void *args, struct err *err)
{
    struct packages packages;

    (void)args;
    if (packages_open(run, &packages, err) < 0)
        return -1;
    return packages_undo_revert(&packages, err);
}

const struct module module_pkg_latest = {
    .name = "pkg.latest",
    .summary = "packages in the newest version that can be had",
    .details = "The index is refreshed before looking, once for several such states; a dry run "
               "looks at the index as it is. A package that is held stays, unless update_holds is "
               "set. Reverting brings back the versions that were there.",
    .example = "pkgs:\n  - openssl\n  - curl\n",
    .params = latest_params,
    .args_size = sizeof(struct latest_args),
    .lock = PACKAGES_LOCK,
    .validate = latest_validate,
    .check = latest_check,
    .apply = latest_apply,
    .revert = latest_revert,
};
