/* pkg.installed - installs packages, in acceptable versions. */
#include "core/base/err.h"
#include "states/modules/pkg/package_files.h"
#include "states/modules/pkg/packages.h"
#include "states/modules/pkg/packages_index.h"
#include "states/modules/pkg/packages_options.h"
#include "states/modules/pkg/packages_share.h"
#include "states/modules/pkg/packages_undo.h"
#include "states/modules/pkg/packages_verify.h"
#include "states/state/module.h"

#define ARGS struct installed_args

extern const struct module module_pkg_installed;

struct installed_args {
    struct packages_args what;
    const struct value *sources;
    struct packages_options how;
    enum param_tristate refresh, hold;
    int64_t cache_valid_time;
    bool allow_updates, reinstall;
    const struct value *verify;
};

/* clang-format off */
static const struct param installed_params[] = {
    PACKAGES_PARAMS(ARGS, what),
    PACKAGES_VERSION(ARGS, what),
    PARAM("sources", LIST, ARGS, sources, "package files instead, each 'name: source', where the source is a path or a URL. A file on this machine or in the state tree with a different version replaces the installed one", .flags = PARAM_FILLED),
    PARAM("refresh", TRISTATE, ARGS, refresh, "refresh the package index first (default: only if it lacks a package)"),
    PACKAGES_INDEX_PARAM(ARGS, cache_valid_time),
    PARAM("hold", TRISTATE, ARGS, hold, "true: hold the packages at their version; false: release them (default: leave holds alone)"),
    PARAM("allow_updates", BOOL, ARGS, allow_updates, "accept a version newer than 'version'"),
    PACKAGES_OPTIONS(ARGS, how),
    PARAM_IDLE("skip_suggestions", "a package that is not found is an error, without suggestions"),
    PARAM("reinstall", BOOL, ARGS, reinstall, "reinstall installed packages at their version in every run (apt)"),
    PARAM("pkg_verify", ANY, ARGS, verify, "install again what has files that are missing or were changed, other than configuration (apt); or a list: [{ignore_types: [doc]}]", .kind_text = "bool or list"),
    PARAM_REFUSED("verify_options", "pkg_verify compares all that the package manager can compare"),
    PARAM_REFUSED("ignore_types", "write it below pkg_verify"),
    PARAM_REFUSED("resolve_capabilities", "packages are found by name"),
    PARAM_REFUSED("disable_excludes", "the configuration of the manager holds"),
    PARAM_IDLE("report_reboot_exit_codes", "Windows only"),
    { 0 },
};
/* clang-format on */

static bool is_package_list(const struct value *v)
{
    return v && v->kind != VALUE_NULL;
}

static bool has_unused_version(const struct installed_args *want, bool salt)
{
    return salt && want->what.version && is_package_list(want->what.pkgs);
}

/* Salt does not use 'version' with 'pkgs'. */
static struct packages_args choose_packages(const struct installed_args *want, bool salt)
{
    struct packages_args what = want->what;

    if (has_unused_version(want, salt))
        what.version = NULL;
    return what;
}

static int installed_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct installed_args *want = args;
    const struct packages_args what = choose_packages(want, where->source && where->source->salt);

    if (packages_options_validate(&want->how, where, diags) < 0 ||
        packages_verify_validate(want->verify, diags) < 0)
        return -1;
    if (is_package_list(want->sources)) {
        if (is_package_list(want->what.pkgs))
            return value_diag(diags, want->what.pkgs,
                              "'pkgs' and 'sources' are mutually exclusive");
        return package_files_validate(want->sources, diags);
    }
    return packages_validate(&what, where, diags);
}

/* --- planning --------------------------------------------------- */

struct install_job {
    struct packages packages;
    struct packages_wants wants;
    struct packages_wants met;    /* installed packages that are as wanted */
    struct packages_wants absent; /* packages that only_upgrade leaves out */
    struct packages_wants unmet;  /* packages to install or change */
    struct packages_wants holds;  /* packages whose hold differs */
    struct packages_wants again;  /* installed packages to install again */
    bool aims;                    /* some package is requested as 'latest' */
    const char *remark;           /* other complaints of the package manager; NULL */
};

static bool should_be_held(const struct installed_args *want, const struct packages_want *item)
{
    if (want->hold == PARAM_IS_UNSET)
        return item->found.held;
    return want->hold == PARAM_IS_TRUE;
}

/* 'version' means "at least" when newer versions are accepted. */
static void loosen_version(struct packages_wants *wants)
{
    VEC_EACH (&wants->list, want)
        if (wish_exact(&want->wish).p)
            want->wish.conditions[0].test = WISH_GE;
}

static bool is_kept_by_hold(const struct installed_args *want, const struct packages_want *item)
{
    return item->found.state == PACKAGE_INSTALLED && item->found.held && !want->how.update_holds;
}

static void sort_met(struct install_job *job, const struct installed_args *want,
                     const struct packages_want *item)
{
    struct arena *arena = job->packages.run->arena;

    VEC_PUSH_IN(arena, &job->met.list, *item);
    if (item->found.state == PACKAGE_INSTALLED && should_be_held(want, item) != item->found.held)
        VEC_PUSH_IN(arena, &job->holds.list, *item);
}

/* In a dry run, an earlier state may release what is held. */
static int sort_unmet(struct install_job *job, const struct installed_args *want,
                      const struct packages_want *item, struct err *err)
{
    struct arena *arena = job->packages.run->arena;

    if (want->how.only_upgrade && item->found.state < PACKAGE_BROKEN) {
        VEC_PUSH_IN(arena, &job->absent.list, *item);
        return 0;
    }
    if (is_kept_by_hold(want, item) && !job->packages.run->test)
        return err_set(err, ERR_BUSY,
                       "%s is held at %s, but '%s' is wanted (set update_holds: true to change it)",
                       item->name, item->found.version, item->version);
    VEC_PUSH_IN(arena, &job->unmet.list, *item);
    if (want->hold != PARAM_IS_UNSET)
        VEC_PUSH_IN(arena, &job->holds.list, *item);
    return 0;
}

static int sort_installed_packages(struct install_job *job, const struct installed_args *want,
                                   struct err *err)
{
    VEC_EACH (&job->wants.list, item) {
        if (packages_is_met(&job->packages, item))
            sort_met(job, want, item);
        else if (sort_unmet(job, want, item, err) < 0)
            return -1;
    }
    return 0;
}

/* Installed packages that are as wanted, but must be installed again. */
static int find_installed_again(struct install_job *job, const struct installed_args *want,
                                struct err *err)
{
    struct state_run *run = job->packages.run;

    VEC_EACH (&job->wants.list, item) {
        const char *path = NULL;

        if (item->found.state != PACKAGE_INSTALLED || !packages_is_met(&job->packages, item))
            continue;
        if (!want->reinstall && packages_verify_wanted(want->verify) &&
            packages_verify(&job->packages, want->verify, item->name, &path, err) < 0)
            return -1;
        if (want->reinstall)
            state_differs(run, "%s is reinstalled in every run", item->name);
        else if (path)
            state_differs(run, "%s of %s is missing or was changed", path, item->name);
        if (want->reinstall || path)
            VEC_PUSH_IN(run->arena, &job->again.list, *item);
    }
    return 0;
}

static int find_install_work(struct state_run *run, const struct installed_args *want,
                             struct install_job *job, struct err *err)
{
    const struct packages_args what = choose_packages(want, run->salt);

    *job = (struct install_job){ 0 };
    if (packages_open(run, &job->packages, err) < 0)
        return -1;
    if (is_package_list(want->sources)) {
        if (package_files_wants(&job->packages, want->sources, &job->wants, err) < 0)
            return -1;
    } else if (packages_wants(&job->packages, &what, &job->wants, err) < 0) {
        return -1;
    }
    if (want->allow_updates)
        loosen_version(&job->wants);
    if (packages_look(&job->packages, &job->wants, err) < 0 ||
        packages_aim(&job->packages, &job->wants, &job->aims, err) < 0)
        return -1;
    VEC_EACH (&job->wants.list, item)
        if (item->source && package_files_aim(&job->packages, item, err) < 0)
            return -1;
    return sort_installed_packages(job, want, err);
}

static void report_unmet_installs(struct state_run *run, const struct installed_args *want,
                                  const struct packages_want *item)
{
    if (item->found.state == PACKAGE_INSTALLED)
        state_differs(run, "%s version mismatch: got \"%s\", want \"%s\"%s", item->name,
                      item->found.version, item->version,
                      is_kept_by_hold(want, item) ? ", but it is held" : "");
    else if (item->found.state == PACKAGE_BROKEN)
        state_differs(run, "%s is half installed and needs to be installed", item->name);
    else
        state_differs(run, "%s needs to be installed", item->name);
}

static void report_unused(struct state_run *run, const struct installed_args *want)
{
    if (has_unused_version(want, run->salt))
        state_say(run, "'version' is not used with 'pkgs'; write 'name: version' there");
}

static void report_other_installs(struct install_job *job)
{
    struct state_run *run = job->packages.run;

    if (job->wants.list.n == 0)
        state_say(run, "no packages given");
    VEC_EACH (&job->absent.list, item)
        state_say(run, "%s is not installed, and only_upgrade is set", item->name);
    if (!run->differs && job->met.list.n > 0)
        state_say(run, "%s %s", packages_names(&job->packages, &job->met),
                  job->met.list.n == 1 ? "is already installed" : "are already installed");
}

/* --- shared runs ------------------------------------------------------------------------- */

static bool can_share_install(const void *one, const void *other)
{
    const struct installed_args *a = one, *b = other;

    return !is_package_list(a->sources) && !is_package_list(b->sources) &&
           a->refresh == b->refresh && !a->reinstall && !b->reinstall &&
           a->cache_valid_time == b->cache_valid_time && packages_options_fit(&a->how, &b->how);
}

static int find_unmet_installs(struct state_run *run, const void *args,
                               struct packages_wants *ret_unmet, struct err *err)
{
    struct install_job job;

    if (find_install_work(run, args, &job, err) < 0)
        return -1;
    *ret_unmet = job.unmet;
    return 0;
}

/* The latest version needs a fresh index; never refreshed in a dry run. */
static int refresh_and_find(struct state_run *run, const struct installed_args *want,
                            struct install_job *job, struct err *err)
{
    const struct packages_index how = { false, want->cache_valid_time, NULL };

    if (!job->aims || run->test || want->refresh == PARAM_IS_FALSE)
        return 0;
    if (packages_index_refresh(&job->packages, &how, err) == 0)
        return find_install_work(run, want, job, err);
    if (err->code == ERR_CANCELED)
        return -1;
    state_say(run, "%s", err->text);
    return 0;
}

static int installed_check(struct state_run *run, const void *args, struct err *err)
{
    const struct installed_args *want = args;
    const char *gift = packages_share_gift(run);
    struct install_job job;

    if (find_install_work(run, want, &job, err) < 0 || refresh_and_find(run, want, &job, err) < 0)
        return -1;
    if (gift)
        state_differs(run, "%s", gift);
    VEC_EACH (&job.unmet.list, item)
        report_unmet_installs(run, want, item);
    if (find_installed_again(&job, want, err) < 0)
        return -1;
    VEC_EACH (&job.holds.list, item)
        state_differs(run, "%s needs to be %s", item->name,
                      want->hold == PARAM_IS_TRUE ? "held" : "released from its hold");
    report_other_installs(&job);
    report_unused(run, want);
    return 0;
}

/* --- applying --------------------------------------------------- */

static bool is_offer_lacking(const struct packages *packages, const struct packages_wants *unmet,
                             const struct package_offers *offers)
{
    VEC_EACH (&unmet->list, item) {
        const struct package_offer *offer = package_offers_find(offers, str_from(item->name));
        bool good = false;

        for (size_t i = 0; offer && i < offer->versions.n; i++)
            good |=
                wish_holds(&item->wish, str_from(offer->versions.p[i]), packages->manager->compare);
        if (!item->source && !good)
            return true;
    }
    return false;
}

/* Refresh the index as requested. A failure is an error only if a refresh was requested. */
static int find_install_offers(struct packages *packages, const void *args,
                               const struct packages_wants *unmet, struct package_offers *offers,
                               struct err *err)
{
    const struct installed_args *want = args;
    const int64_t valid = want->cache_valid_time;
    struct err why;

    if (want->refresh == PARAM_IS_TRUE &&
        packages_index_refresh(packages, &(struct packages_index){ true, valid, NULL }, err) < 0)
        return -1;
    /* A manager that cannot list versions may still be able to install. */
    if (packages_offers(packages, unmet, offers, err) < 0 && err->code == ERR_CANCELED)
        return -1;
    if (want->refresh != PARAM_IS_UNSET || !is_offer_lacking(packages, unmet, offers))
        return 0;
    if (packages_index_refresh(packages, &(struct packages_index){ false, valid, NULL }, &why) <
        0) {
        if (why.code == ERR_CANCELED)
            return *err = why, -1;
        state_say(packages->run, "%s", why.text);
        return 0;
    }
    if (packages_offers(packages, unmet, offers, err) < 0 && err->code == ERR_CANCELED)
        return -1;
    return 0;
}

static int fill_shared_request(struct packages *packages, const struct installed_args *want,
                               const struct packages_wants *unmet,
                               const struct package_offers *offers, struct package_request *request,
                               struct err *err)
{
    VEC_EACH (&unmet->list, item) {
        struct package_target file;
        const char *version;

        if (item->source) {
            if (package_files_fetch(packages, item, &file, err) < 0)
                return -1;
            VEC_PUSH_IN(packages->run->arena, &request->targets, file);
        } else {
            if (packages_choose(packages, item, offers, &version, err) < 0)
                return -1;
            packages_request_version(packages, request, item, version);
        }
    }
    packages_options_use(&want->how, request);
    return 0;
}

static int install_packages(struct packages *packages, const void *args,
                            const struct packages_wants *unmet, const struct package_offers *offers,
                            struct err *err)
{
    const struct installed_args *want = args;
    struct package_request request = { .action = PACKAGE_INSTALL };
    int rc = fill_shared_request(packages, want, unmet, offers, &request, err);

    if (rc == 0)
        rc = packages_install(packages, unmet, &request, offers, err);
    package_files_done(&request);
    return rc;
}

static const struct packages_share share = {
    .module = &module_pkg_installed,
    .verb = "installed",
    .fits = can_share_install,
    .find = find_unmet_installs,
    .offers = find_install_offers,
    .act = install_packages,
    .is_done = packages_is_met,
};

static int change_installed_holds(struct install_job *job, const struct installed_args *want,
                                  struct err *err)
{
    const struct package_request request = packages_request(
        &job->packages, want->hold == PARAM_IS_TRUE ? PACKAGE_HOLD : PACKAGE_UNHOLD, &job->holds);

    return packages_act(&job->packages, &request, err);
}

static void report_install_result(struct install_job *job, const char *gift)
{
    struct state_run *run = job->packages.run;
    const char *manager = job->packages.manager->name;

    buf_clear(&run->text); /* it is done: drop 'needs to be' */
    if (gift)
        state_say(run, "%s", gift);
    if (job->unmet.list.n > 0)
        state_say(run, "installed %s via %s", packages_names(&job->packages, &job->unmet), manager);
    if (job->again.list.n > 0)
        state_say(run, "reinstalled %s via %s", packages_names(&job->packages, &job->again),
                  manager);
    if (job->remark)
        state_say(run, "%s", job->remark);
    if (job->holds.list.n > 0)
        state_say(run, "changed the hold of %s via %s", packages_names(&job->packages, &job->holds),
                  manager);
    state_detail(run, "package", "%s", packages_names(&job->packages, &job->wants));
    state_detail(run, "manager", "%s", manager);
}

/* In the versions that are installed. */
static int install_again(struct install_job *job, const struct installed_args *want,
                         struct err *err)
{
    struct package_request request = { .action = PACKAGE_INSTALL };
    const char *path;

    if (job->again.list.n == 0)
        return 0;
    VEC_EACH (&job->again.list, item)
        packages_request_version(&job->packages, &request, item, item->found.version);
    packages_options_use(&want->how, &request);
    request.reinstall = true;
    if (packages_act(&job->packages, &request, err) < 0)
        return -1;
    VEC_EACH (&job->again.list, item) {
        if (!packages_verify_wanted(want->verify))
            continue;
        if (packages_verify(&job->packages, want->verify, item->name, &path, err) < 0)
            return -1;
        if (path)
            return err_set(err, ERR_INVALID, "%s of %s still differs after a reinstallation", path,
                           item->name);
    }
    return 0;
}

/* The state whose run of the manager changes packages notes all of the changes. */
static int change_packages(struct install_job *job, const struct installed_args *want,
                           struct err *err)
{
    struct packages_wants named = { 0 };
    struct packages_party party;
    struct packages_undo undo;
    struct err after;
    int rc;

    packages_share_begin(&party, &job->packages, &share, want, &job->unmet);
    VEC_EACH (&job->wants.list, item) /* also packages whose hold changes only */
        VEC_PUSH_IN(job->packages.run->arena, &named.list, *item);
    VEC_EACH (&party.all.list, item)
        VEC_PUSH_IN(job->packages.run->arena, &named.list, *item);
    if (packages_undo_begin(&job->packages, &named, &undo, err) < 0)
        return -1;
    rc = packages_share_act(&party, err);
    job->remark = party.remark;
    if (rc == 0)
        rc = install_again(job, want, err);
    if (rc == 0)
        rc = change_installed_holds(job, want, err);
    if (packages_undo_end(&job->packages, &undo, &after) < 0 && rc == 0)
        return *err = after, -1;
    return rc;
}

static int installed_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct installed_args *want = args;
    const char *gift = packages_share_gift(run);
    struct install_job job;

    if (find_install_work(run, want, &job, err) < 0 || find_installed_again(&job, want, err) < 0)
        return -1;
    if (job.unmet.list.n > 0 || job.holds.list.n > 0 || job.again.list.n > 0) {
        if (change_packages(&job, want, err) < 0)
            return -1;
    } else if (!gift) {
        state_say(run, "already installed");
        state_unchanged(run);
        return 0;
    }
    report_install_result(&job, gift);
    report_unused(run, want);
    return 0;
}

const struct module module_pkg_installed = {
    .name = "pkg.installed",
    .summary = "install packages, in acceptable versions",
    .details = "All packages of a state, and of similar states in the same level where their "
               "options allow it, are installed by one run of the package manager: that of the "
               "machine, or the one that the setting providers.pkg names. Installed packages are "
               "read from the manager's own database, without a process for each package. A revert "
               "removes only what was not installed before, and restores previous versions.",
    .example = "pkgs:\n  - curl\n  - nginx: '>=1.18'\n",
    .params = installed_params,
    .args_size = sizeof(struct installed_args),
    .flags = MODULE_LOCAL | MODULE_DRY_REVERT,
    .lock = PACKAGES_LOCK,
    .validate = installed_validate,
    .check = installed_check,
    .apply = installed_apply,
    .revert = packages_undo_revert,
};
