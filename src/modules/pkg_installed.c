/* pkg.installed - packages that are there, in versions that will do. */
#include <string.h>

#include "base/err.h"
#include "modules/package_files.h"
#include "modules/packages.h"
#include "modules/packages_undo.h"
#include "state/module.h"

#define ARGS struct installed_args

extern const struct module module_pkg_installed;

struct installed_args {
    struct packages_args what;
    const struct value *sources;
    enum param_tristate refresh, hold, recommends;
    bool update_holds, skip_verify, only_upgrade, allow_updates;
    const char *fromrepo;
};

/* clang-format off */
static const struct param installed_params[] = {
    PACKAGES_PARAMS(ARGS, what),
    PACKAGES_VERSION(ARGS, what),
    PARAM("sources", LIST, ARGS, sources, "package files instead, each 'name: source'; the source is a path or an URL", .flags = PARAM_FILLED),
    PARAM("refresh", TRISTATE, ARGS, refresh, "refresh the index before; without: only when it lacks a package"),
    PARAM("hold", TRISTATE, ARGS, hold, "true: keep the packages at their version; false: let them go; without: as they are"),
    PARAM("update_holds", BOOL, ARGS, update_holds, "also change packages that are held; they are held again"),
    PARAM("fromrepo", STR, ARGS, fromrepo, "take them from this repository; for apt: a release", .flags = PARAM_FILLED),
    PARAM("skip_verify", BOOL, ARGS, skip_verify, "do not check signatures"),
    PARAM("install_recommends", TRISTATE, ARGS, recommends, "with packages that they recommend; without: as the manager is configured"),
    PARAM("only_upgrade", BOOL, ARGS, only_upgrade, "packages that are not there stay away"),
    PARAM("allow_updates", BOOL, ARGS, allow_updates, "a newer version than that of 'version' will do"),
    { 0 },
};
/* clang-format on */

static int installed_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct installed_args *want = args;

    if (want->fromrepo && (want->fromrepo[0] == '-' || strpbrk(want->fromrepo, " \t\r\n")))
        return value_diag(diags, where, "'%s' is no name of a repository", want->fromrepo);
    if (want->sources && want->sources->kind != VALUE_NULL)
        return package_files_validate(want->sources, diags);
    return packages_validate(&want->what, where, diags);
}

/* --- what there is to do ---------------------------------------- */

struct job {
    struct packages packages;
    struct packages_wants wants;
    struct packages_wants unmet; /* those that have to be installed or changed */
    struct packages_wants holds; /* those whose hold is not as it should be */
};

static bool should_be_held(const struct installed_args *want, const struct packages_want *item)
{
    if (want->hold == PARAM_IS_UNSET)
        return item->found.held;
    return want->hold == PARAM_IS_TRUE;
}

/* 'version' means "at least" when newer ones will do. */
static void loosen(struct packages_wants *wants)
{
    VEC_EACH (&wants->list, want)
        if (wish_exact(&want->wish).p)
            want->wish.conditions[0].test = WISH_GE;
}

static int sort_out(struct job *job, const struct installed_args *want, struct err *err)
{
    struct arena *arena = job->packages.run->arena;

    VEC_EACH (&job->wants.list, item) {
        bool there = item->found.state == PACKAGE_INSTALLED;

        if (packages_is_met(&job->packages, item)) {
            if (there && should_be_held(want, item) != item->found.held)
                VEC_PUSH_IN(arena, &job->holds.list, *item);
            continue;
        }
        if (want->only_upgrade && item->found.state < PACKAGE_BROKEN)
            continue;
        if (there && item->found.held && !want->update_holds)
            return err_set(err, ERR_BUSY,
                           "%s is held at %s, and '%s' is wanted ('update_holds: true' changes it)",
                           item->name, item->found.version, item->version);
        VEC_PUSH_IN(arena, &job->unmet.list, *item);
        if (want->hold != PARAM_IS_UNSET)
            VEC_PUSH_IN(arena, &job->holds.list, *item);
    }
    return 0;
}

static int look(struct state_run *run, const struct installed_args *want, struct job *job,
                struct err *err)
{
    *job = (struct job){ 0 };
    if (packages_open(run, &job->packages, err) < 0)
        return -1;
    if (want->sources && want->sources->kind != VALUE_NULL) {
        if (package_files_wants(&job->packages, want->sources, &job->wants, err) < 0)
            return -1;
    } else if (packages_wants(&job->packages, &want->what, &job->wants, err) < 0) {
        return -1;
    }
    if (want->allow_updates)
        loosen(&job->wants);
    if (packages_look(&job->packages, &job->wants, err) < 0)
        return -1;
    return sort_out(job, want, err);
}

static void tell_unmet(struct state_run *run, const struct packages_want *item)
{
    if (item->found.state == PACKAGE_INSTALLED)
        state_differs(run, "%s version mismatch: got \"%s\", want \"%s\"", item->name,
                      item->found.version, item->version);
    else if (item->found.state == PACKAGE_BROKEN)
        state_differs(run, "%s is half installed and needs to be installed", item->name);
    else
        state_differs(run, "%s needs to be installed", item->name);
}

/* --- together with others ----------------------------------------------------------------------
 */

/* What another state of the level left for one: it is installed already. */
struct gift {
    const char *text; /* NULL: nothing, the state had its turn */
};

static const struct gift *find_gift(const struct state_run *run)
{
    const struct gift *gift = run->group ? map_find(&run->group->left, str_from(run->name)) : NULL;

    return gift && gift->text ? gift : NULL;
}

static void leave(struct state_run *run, const char *name, const char *text)
{
    struct arena *arena = &run->group->arena;
    struct gift *gift = ARENA_NEW(arena, struct gift);

    gift->text = text ? arena_strdup(arena, text) : NULL;
    map_set(&run->group->left, str_from(arena_strdup(arena, name)), gift);
}

static bool is_list(const struct value *v)
{
    return v && v->kind != VALUE_NULL;
}

/* One command line can serve both. */
static bool can_share(const struct installed_args *a, const struct installed_args *b)
{
    return !is_list(a->sources) && !is_list(b->sources) && a->refresh == b->refresh &&
           a->recommends == b->recommends && a->update_holds == b->update_holds &&
           a->skip_verify == b->skip_verify && !a->fromrepo == !b->fromrepo &&
           (!a->fromrepo || strcmp(a->fromrepo, b->fromrepo) == 0);
}

static const struct packages_want *find_want(const struct packages_wants *wants, const char *name)
{
    VEC_EACH (&wants->list, want)
        if (strcmp(want->name, name) == 0)
            return want;
    return NULL;
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* False when the two want different versions of something. */
static bool add_unmet(struct state_run *run, struct packages_wants *all,
                      const struct packages_wants *more)
{
    VEC_EACH (&more->list, want) {
        const struct packages_want *known = find_want(all, want->name);

        if (known && !is_same_text(known->version, want->version))
            return false;
    }
    VEC_EACH (&more->list, want)
        if (!find_want(all, want->name))
            VEC_PUSH_IN(run->arena, &all->list, *want);
    return true;
}

struct sharer {
    const char *name, *packages;
};

struct sharers {
    VEC(struct sharer) list;
};

/* What other states of the level lack and one run of the manager can bring as well. */
static void gather(struct job *job, const struct installed_args *want, struct packages_wants *all,
                   struct sharers *sharers)
{
    struct state_run *run = job->packages.run;

    VEC_EACH (&run->group->peers, peer) {
        struct err ignored; /* its own turn will tell */
        struct job other;

        if (peer->module != &module_pkg_installed || strcmp(peer->name, run->name) == 0 ||
            map_has(&run->group->left, str_from(peer->name)) || !can_share(want, peer->args) ||
            look(run, peer->args, &other, &ignored) < 0 || other.unmet.list.n == 0 ||
            !add_unmet(run, all, &other.unmet))
            continue;
        VEC_PUSH_IN(run->arena, &sharers->list,
                    (struct sharer){ peer->name, packages_names(&other.packages, &other.unmet) });
    }
}

static int installed_check(struct state_run *run, const void *args, struct err *err)
{
    const struct installed_args *want = args;
    const struct gift *gift = find_gift(run);
    struct job job;

    if (look(run, want, &job, err) < 0)
        return -1;
    if (gift)
        state_differs(run, "%s", gift->text);
    VEC_EACH (&job.unmet.list, item)
        tell_unmet(run, item);
    VEC_EACH (&job.holds.list, item)
        state_differs(run, "%s needs to be %s", item->name,
                      want->hold == PARAM_IS_TRUE ? "held" : "released from its hold");
    if (!run->differs)
        state_say(run, "%s %s", packages_names(&job.packages, &job.wants),
                  job.wants.list.n == 1 ? "is already installed" : "are already installed");
    return 0;
}

/* --- doing it --------------------------------------------------- */

static bool lacks_one(const struct job *job, const struct package_offers *offers)
{
    VEC_EACH (&job->unmet.list, item) {
        const struct package_offer *offer = package_offers_find(offers, str_from(item->name));
        bool good = false;

        for (size_t i = 0; offer && i < offer->versions.n; i++)
            good |= wish_holds(&item->wish, str_from(offer->versions.p[i]),
                               job->packages.manager->compare);
        if (!item->source && !good)
            return true;
    }
    return false;
}

/* The index as the state wants it. One that cannot be had is an error for those who asked. */
static int find_offers(struct job *job, const struct installed_args *want,
                       struct package_offers *offers, struct err *err)
{
    struct packages *packages = &job->packages;
    struct err why;

    if (want->refresh == PARAM_IS_TRUE && packages_refresh(packages, true, err) < 0)
        return -1;
    /* A manager that cannot tell may still be able to install. */
    if (packages_offers(packages, &job->unmet, offers, err) < 0 && err->code == ERR_CANCELED)
        return -1;
    if (want->refresh != PARAM_IS_UNSET || !lacks_one(job, offers))
        return 0;
    if (packages_refresh(packages, false, &why) < 0) {
        if (why.code == ERR_CANCELED)
            return *err = why, -1;
        state_say(packages->run, "%s", why.text);
        return 0;
    }
    if (packages_offers(packages, &job->unmet, offers, err) < 0 && err->code == ERR_CANCELED)
        return -1;
    return 0;
}

static int fill_request(struct job *job, const struct installed_args *want,
                        const struct package_offers *offers, struct package_request *request,
                        struct err *err)
{
    VEC_EACH (&job->unmet.list, item) {
        struct package_target file = { .name = item->name };
        const char *version;

        if (item->source) {
            if (package_files_fetch(&job->packages, item, &file.file, err) < 0)
                return -1;
            VEC_PUSH_IN(job->packages.run->arena, &request->targets, file);
        } else {
            if (packages_choose(&job->packages, item, offers, &version, err) < 0)
                return -1;
            packages_request_version(&job->packages, request, item, version);
        }
    }
    request->fromrepo = want->fromrepo;
    request->skip_verify = want->skip_verify;
    request->change_held = want->update_holds;
    request->recommends = want->recommends == PARAM_IS_TRUE    ? 1
                          : want->recommends == PARAM_IS_FALSE ? -1
                                                               : 0;
    return 0;
}

/* Held ones that may change: managers without a word for it let go first. */
static int hold_again(struct job *job, const struct installed_args *want,
                      enum package_action action, struct err *err)
{
    struct package_request request = { .action = action };

    if (!want->update_holds || job->packages.manager->change_held)
        return 0;
    VEC_EACH (&job->unmet.list, item)
        if (item->found.held)
            packages_request_add(&job->packages, &request, item->name, NULL);
    return packages_act(&job->packages, &request, err);
}

static int install(struct job *job, const struct installed_args *want, struct err *err)
{
    struct package_request request = { .action = PACKAGE_INSTALL };
    struct package_offers offers = { 0 };
    int rc;

    if (job->unmet.list.n == 0)
        return 0;
    if (find_offers(job, want, &offers, err) < 0)
        return -1;
    rc = fill_request(job, want, &offers, &request, err);
    if (rc == 0 && hold_again(job, want, PACKAGE_UNHOLD, err) == 0) {
        struct err after;

        rc = packages_act(&job->packages, &request, err);
        if (hold_again(job, want, PACKAGE_HOLD, &after) < 0 && rc == 0)
            rc = (*err = after, -1);
    }
    package_files_done(&request);
    return rc;
}

/* The manager said that it did it; believe what is there. */
static int verify(struct job *job, struct err *err)
{
    if (packages_look(&job->packages, &job->unmet, err) < 0)
        return -1;
    VEC_EACH (&job->unmet.list, item)
        if (!packages_is_met(&job->packages, item))
            return err_set(err, ERR_INVALID, "%s ran, but '%s' is %s%s%s",
                           job->packages.manager->name, item->name,
                           package_state_word(item->found.state),
                           item->found.version[0] ? " at " : "", item->found.version);
    return 0;
}

static int change_holds(struct job *job, const struct installed_args *want, struct err *err)
{
    const struct package_request request = packages_request(
        &job->packages, want->hold == PARAM_IS_TRUE ? PACKAGE_HOLD : PACKAGE_UNHOLD, &job->holds);

    return packages_act(&job->packages, &request, err);
}

/* All that the states of this level lack at once; when that does not work, what this one lacks:
 * nobody fails for the package of another. */
static int install_shared(struct job *job, struct job *all, const struct sharers *sharers,
                          const struct installed_args *want, struct err *err)
{
    struct state_run *run = job->packages.run;

    if (sharers->list.n > 0) {
        if (install(all, want, err) == 0 && verify(all, err) == 0) {
            VEC_EACH (&sharers->list, sharer)
                leave(run, sharer->name,
                      arena_printf(run->arena, "installed %s via %s, together with %s",
                                   sharer->packages, job->packages.manager->name, run->name));
            return 0;
        }
        if (err->code == ERR_CANCELED)
            return -1;
    }
    return install(job, want, err);
}

static void report(struct job *job, const struct gift *gift)
{
    struct state_run *run = job->packages.run;
    const char *manager = job->packages.manager->name;

    buf_clear(&run->text); /* it was done: no need to say that it has to be */
    if (gift)
        state_say(run, "%s", gift->text);
    if (job->unmet.list.n > 0)
        state_say(run, "installed %s via %s", packages_names(&job->packages, &job->unmet), manager);
    if (job->holds.list.n > 0)
        state_say(run, "changed the hold of %s via %s", packages_names(&job->packages, &job->holds),
                  manager);
    state_detail(run, "package", "%s", packages_names(&job->packages, &job->wants));
    state_detail(run, "manager", "%s", manager);
}

/* Everything that changes is noted by the state whose run of the manager changes it. */
static int change(struct job *job, const struct installed_args *want, struct err *err)
{
    struct state_run *run = job->packages.run;
    struct job all = *job;
    struct sharers sharers = { .list = VEC_INIT };
    struct packages_undo undo;
    struct err after;
    int rc;

    all.unmet = all.wants = (struct packages_wants){ .list = VEC_INIT };
    (void)add_unmet(run, &all.unmet, &job->unmet);
    if (run->group && job->unmet.list.n > 0 && !is_list(want->sources))
        gather(job, want, &all.unmet, &sharers);
    (void)add_unmet(run, &all.wants, &job->wants);
    (void)add_unmet(run, &all.wants, &all.unmet);
    if (packages_undo_begin(&job->packages, &all.wants, &undo, err) < 0)
        return -1;
    rc = install_shared(job, &all, &sharers, want, err);
    if (rc == 0 && (verify(job, err) < 0 || change_holds(job, want, err) < 0))
        rc = -1;
    if (packages_undo_end(&job->packages, &undo, &after) < 0 && rc == 0)
        return *err = after, -1;
    return rc;
}

static int installed_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct installed_args *want = args;
    const struct gift *gift = find_gift(run);
    struct job job;

    if (look(run, want, &job, err) < 0)
        return -1;
    if (run->group)
        leave(run, run->name, NULL);
    if (job.unmet.list.n == 0 && job.holds.list.n == 0) {
        if (!gift) {
            state_say(run, "already installed");
            state_unchanged(run);
            return 0;
        }
    } else if (change(&job, want, err) < 0) {
        return -1;
    }
    report(&job, gift);
    return 0;
}

static int installed_revert(struct state_run *run, const void *args, struct err *err)
{
    struct packages packages;

    (void)args;
    if (packages_open(run, &packages, err) < 0)
        return -1;
    return packages_undo_revert(&packages, err);
}

const struct module module_pkg_installed = {
    .name = "pkg.installed",
    .summary = "packages that are there, in versions that will do",
    .details = "All packages of a state, and of other such states of the level where their options "
               "allow it, are installed by one run of the package manager (apt, dnf, "
               "yum, zypper, apk, pacman; the setting providers.pkg chooses another one than that "
               "of the machine). What is there is read from the manager's own lists, without a "
               "process for each package. Reverting removes only what was not there before, and "
               "brings back the versions that were.",
    .example = "pkgs:\n  - curl\n  - nginx: '>=1.18'\n",
    .params = installed_params,
    .args_size = sizeof(struct installed_args),
    .lock = PACKAGES_LOCK,
    .validate = installed_validate,
    .check = installed_check,
    .apply = installed_apply,
    .revert = installed_revert,
};
