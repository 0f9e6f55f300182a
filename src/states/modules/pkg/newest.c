#include "states/modules/pkg/newest.h"

#include "core/base/err.h"
#include "states/modules/pkg/packages.h"
#include "states/modules/pkg/packages_index.h"
#include "states/modules/pkg/packages_options.h"
#include "states/modules/pkg/packages_share.h"
#include "states/state/module.h"

extern const struct module module_pkg_latest;

/* --- planning --------------------------------------------------- */

/* The state of one package. */
enum verdict {
    MISSING,
    MAY_BE_MISSING, /* only_upgrade */
    UNKNOWN,        /* not available */
    NEWEST,
    HELD,
    OLD,
};

struct upgrade_job {
    struct packages packages;
    struct packages_wants wants, unmet;
    struct package_offers offers;
    const char *trouble; /* why the available versions are unknown; NULL */
};

/* An index that cannot be refreshed is used as it is, and the result reports it. */
static int refresh_newest_index(struct state_run *run, const struct newest_args *want,
                                struct err *err)
{
    const struct packages_index how = { want->refresh == PARAM_IS_TRUE, want->cache_valid_time,
                                        NULL };
    struct packages packages;

    if (run->test || want->refresh == PARAM_IS_FALSE)
        return 0;
    if (packages_open(run, &packages, err) < 0)
        return -1;
    if (packages_index_refresh(&packages, &how, err) == 0)
        return 0;
    if (err->code == ERR_CANCELED)
        return -1;
    state_say(run, "%s", err->text);
    return 0;
}

static enum verdict judge_package(const struct upgrade_job *job, const struct newest_args *want,
                                  const struct packages_want *item)
{
    const struct package_offer *offer = package_offers_find(&job->offers, str_from(item->name));

    if (item->found.state != PACKAGE_INSTALLED)
        return want->how.only_upgrade && item->found.state < PACKAGE_BROKEN ? MAY_BE_MISSING
                                                                            : MISSING;
    if (!offer)
        return UNKNOWN;
    if (job->packages.manager->compare(str_from(offer->candidate), str_from(item->found.version)) <=
        0)
        return NEWEST;
    return item->found.held && !want->how.update_holds ? HELD : OLD;
}

static void add_older_package(struct upgrade_job *job, const struct packages_want *item,
                              enum verdict verdict)
{
    const struct package_offer *offer = package_offers_find(&job->offers, str_from(item->name));
    struct packages_want want = *item;

    if (verdict == OLD) {
        want.version = offer->candidate;
        want.wish.count = 1;
        want.wish.conditions[0].test = WISH_GE;
        want.wish.conditions[0].version = str_from(offer->candidate);
    }
    VEC_PUSH_IN(job->packages.run->arena, &job->unmet.list, want);
}

static int find_upgrade_work(struct state_run *run, const struct newest_args *want,
                             struct upgrade_job *job, struct err *err)
{
    *job = (struct upgrade_job){ 0 };
    if (packages_open(run, &job->packages, err) < 0 ||
        packages_wants(&job->packages, &want->what, &job->wants, err) < 0 ||
        packages_look(&job->packages, &job->wants, err) < 0)
        return -1;
    if (packages_offers(&job->packages, &job->wants, &job->offers, err) < 0) {
        if (err->code == ERR_CANCELED)
            return -1;
        job->trouble = arena_strdup(run->arena, err->text);
    }
    VEC_EACH (&job->wants.list, item) {
        const enum verdict verdict = judge_package(job, want, item);

        if (verdict == MISSING || verdict == OLD)
            add_older_package(job, item, verdict);
    }
    return 0;
}

static void report_package(struct upgrade_job *job, const struct newest_args *want,
                           const struct packages_want *item)
{
    const struct package_offer *offer = package_offers_find(&job->offers, str_from(item->name));
    struct state_run *run = job->packages.run;

    switch (judge_package(job, want, item)) {
    case MISSING: state_differs(run, "%s is not installed", item->name); break;
    case MAY_BE_MISSING:
        state_say(run, "%s is not installed, and only_upgrade is set", item->name);
        break;
    case UNKNOWN:
        if (!want->quiet)
            state_say(run, "%s is installed (upgradability unknown)", item->name);
        break;
    case NEWEST:
        if (!want->quiet)
            state_say(run, "%s is at the latest version", item->name);
        break;
    case HELD:
        state_say(run, "%s has a newer version %s available, but is held at %s", item->name,
                  offer->candidate, item->found.version);
        break;
    case OLD:
        state_differs(run, "%s has a newer version available: %s -> %s", item->name,
                      item->found.version, offer->candidate);
        break;
    }
}

static void report_packages(struct upgrade_job *job, const struct newest_args *want)
{
    if (job->trouble)
        state_say(job->packages.run, "%s", job->trouble);
    VEC_EACH (&job->wants.list, item)
        report_package(job, want, item);
}

/* Refresh the index here in a real run: the comparison needs it.
 */
int newest_check(struct state_run *run, const void *args, struct err *err)
{
    const char *gift = packages_share_gift(run);
    struct upgrade_job job;

    if (refresh_newest_index(run, args, err) < 0 || find_upgrade_work(run, args, &job, err) < 0)
        return -1;
    if (gift)
        state_differs(run, "%s", gift);
    report_packages(&job, args);
    return 0;
}

/* --- applying --------------------------------------------------- */

static bool can_share_upgrade(const void *one, const void *other)
{
    const struct newest_args *a = one, *b = other;

    return packages_options_fit(&a->how, &b->how);
}

static int find_older_packages(struct state_run *run, const void *args,
                               struct packages_wants *ret_unmet, struct err *err)
{
    struct upgrade_job job;

    if (find_upgrade_work(run, args, &job, err) < 0)
        return -1;
    *ret_unmet = job.unmet;
    return 0;
}

static int find_newest_offers(struct packages *packages, const void *args,
                              const struct packages_wants *unmet, struct package_offers *ret,
                              struct err *err)
{
    (void)args;
    /* A manager that cannot list versions may still be able to install. */
    return packages_offers(packages, unmet, ret, err) < 0 && err->code == ERR_CANCELED ? -1 : 0;
}

static int upgrade_packages(struct packages *packages, const void *args,
                            const struct packages_wants *unmet, const struct package_offers *offers,
                            struct err *err)
{
    const struct newest_args *want = args;
    struct package_request request = { .action = PACKAGE_INSTALL };

    packages_options_use(&want->how, &request);
    VEC_EACH (&unmet->list, item) {
        const struct package_offer *offer = package_offers_find(offers, str_from(item->name));

        packages_request_add(packages, &request, item->name,
                             offer ? packages_pin(packages, item, offer, offer->candidate) : NULL);
    }
    return packages_install(packages, unmet, &request, offers, err);
}

static const struct packages_share share = {
    .module = &module_pkg_latest,
    .verb = "installed/upgraded",
    .fits = can_share_upgrade,
    .find = find_older_packages,
    .offers = find_newest_offers,
    .act = upgrade_packages,
    .is_done = packages_is_met,
};

int newest_apply(struct state_run *run, const void *args, struct err *err)
{
    const char *gift = packages_share_gift(run), *remark = NULL;
    struct upgrade_job job;

    if ((run->forced && refresh_newest_index(run, args, err) < 0) ||
        find_upgrade_work(run, args, &job, err) < 0)
        return -1;
    if (job.unmet.list.n > 0) {
        if (packages_share_change(&job.packages, &share, args, &job.unmet, &remark, err) < 0)
            return -1;
    } else if (!gift) {
        buf_clear(&run->text);
        report_packages(&job, args);
        state_unchanged(run);
        return 0;
    }
    buf_clear(&run->text);
    if (gift)
        state_say(run, "%s", gift);
    if (job.unmet.list.n > 0)
        state_say(run, "installed/upgraded %s to latest via %s",
                  packages_names(&job.packages, &job.unmet), job.packages.manager->name);
    if (remark)
        state_say(run, "%s", remark);
    state_detail(run, "package", "%s", packages_names(&job.packages, &job.wants));
    state_detail(run, "manager", "%s", job.packages.manager->name);
    return 0;
}
