#include "states/modules/pkg/packages_share.h"

#include <string.h>

#include "core/base/err.h"
#include "states/modules/pkg/packages_undo.h"
#include "states/provider/package/installed.h"
#include "states/state/module.h"

/* --- gifts ----------------------------------------------------------------------------------- */

struct gift {
    const char *text; /* NULL: nothing, the state has already run */
};

const char *packages_share_gift(const struct state_run *run)
{
    const struct gift *gift = run->group ? map_find(&run->group->left, str_from(run->name)) : NULL;

    return gift ? gift->text : NULL;
}

static void leave_gift(struct state_run *run, const char *name, const char *text)
{
    struct arena *arena = &run->group->arena;
    struct gift *gift = ARENA_NEW(arena, struct gift);

    gift->text = text ? arena_strdup(arena, text) : NULL;
    map_set(&run->group->left, str_from(arena_strdup(arena, name)), gift);
}

/* --- participants ----------------------------------------------------------------------------- */

static const struct packages_want *find_want(const struct packages_wants *wants, const char *name)
{
    VEC_EACH (&wants->list, want)
        if (strcmp(want->name, name) == 0)
            return want;
    return NULL;
}

static bool is_same_option(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* False when the two want different versions of a package. */
static bool add_shared_package(struct arena *arena, struct packages_wants *all,
                               const struct packages_wants *more)
{
    VEC_EACH (&more->list, want) {
        const struct packages_want *known = find_want(all, want->name);

        if (known && !is_same_option(known->version, want->version))
            return false;
    }
    VEC_EACH (&more->list, want)
        if (!find_want(all, want->name))
            VEC_PUSH_IN(arena, &all->list, *want);
    return true;
}

static void gather_states(struct packages_party *party)
{
    struct state_run *run = party->packages->run;

    VEC_EACH (&run->group->peers, peer) {
        struct packages_sharer other = { .name = peer->name };
        struct err ignored; /* its own run will report it */

        if (peer->module != party->share->module || strcmp(peer->name, run->name) == 0 ||
            map_has(&run->group->left, str_from(peer->name)) ||
            !party->share->fits(party->args, peer->args) ||
            party->share->find(run, peer->args, &other.unmet, &ignored) < 0 ||
            other.unmet.list.n == 0 || !add_shared_package(run->arena, &party->all, &other.unmet))
            continue;
        VEC_PUSH_IN(run->arena, &party->others, other);
    }
}

void packages_share_begin(struct packages_party *party, struct packages *packages,
                          const struct packages_share *share, const void *args,
                          const struct packages_wants *own)
{
    struct state_run *run = packages->run;

    *party = (struct packages_party){
        .packages = packages,
        .share = share,
        .args = args,
        .own = *own,
    };
    (void)add_shared_package(run->arena, &party->all, own);
    if (!run->group)
        return;
    leave_gift(run, run->name, NULL);
    if (own->list.n > 0 && share->fits(args, args))
        gather_states(party);
}

/* --- applying --------------------------------------------------------------------------------- */

static bool can_be_had(const struct package_offers *offers, const struct packages_wants *wants)
{
    VEC_EACH (&wants->list, want)
        if (!want->source && !package_offers_find(offers, str_from(want->name)))
            return false;
    return true;
}

/* An unknown package would fail the whole run. */
static void drop_unavailable(struct packages_party *party, const struct package_offers *offers)
{
    struct arena *arena = party->packages->run->arena;
    struct packages_party stay = *party;

    memset(&stay.all, 0, sizeof(stay.all));
    memset(&stay.others, 0, sizeof(stay.others));
    (void)add_shared_package(arena, &stay.all, &party->own);
    VEC_EACH (&party->others, other)
        if (can_be_had(offers, &other->unmet) &&
            add_shared_package(arena, &stay.all, &other->unmet))
            VEC_PUSH_IN(arena, &stay.others, *other);
    *party = stay;
}

static bool is_shared_work_done(struct packages_party *party, struct packages_wants *wants)
{
    struct err ignored; /* on errors, assume it is not done */

    if (packages_look(party->packages, wants, &ignored) < 0)
        return false;
    VEC_EACH (&wants->list, want)
        if (!party->share->is_done(party->packages, want))
            return false;
    return true;
}

/* Even after a failed run, some of it may be done. True if something is not. */
static bool leave_gifts(struct packages_party *party)
{
    struct packages *packages = party->packages;
    bool left_over = false;

    VEC_EACH (&party->others, other) {
        if (!is_shared_work_done(party, &other->unmet)) {
            left_over = true;
            continue;
        }
        leave_gift(packages->run, other->name,
                   arena_printf(packages->run->arena, "%s %s via %s, together with %s",
                                party->share->verb, packages_names(packages, &other->unmet),
                                packages->manager->name, packages->run->name));
    }
    return left_over;
}

static size_t count_broken(struct packages *packages)
{
    const struct package_db *db;
    struct err ignored; /* the next check will report it */
    size_t count = 0;

    if (installed_lock(packages->manager, &packages->host, &db, &ignored) < 0)
        return 0;
    VEC_EACH (&db->list, package)
        count += (*package)->state == PACKAGE_BROKEN;
    installed_unlock();
    return count;
}

/* A manager also fails for packages that were broken before. */
static int change_alone(struct packages_party *party, const struct package_offers *offers,
                        struct err *err)
{
    const size_t broken = count_broken(party->packages);

    if (party->share->act(party->packages, party->args, &party->own, offers, err) == 0)
        return 0;
    if (err->code == ERR_CANCELED || !is_shared_work_done(party, &party->own) ||
        count_broken(party->packages) > broken)
        return -1;
    party->remark = arena_strdup(party->packages->run->arena, err->text);
    return 0;
}

/* The manager reported success; verify it. */
static int verify_packages(struct packages_party *party, struct err *err)
{
    struct packages *packages = party->packages;

    if (packages_look(packages, &party->own, err) < 0)
        return -1;
    VEC_EACH (&party->own.list, want)
        if (!party->share->is_done(packages, want))
            return err_set(err, ERR_INVALID, "%s ran, but '%s' is %s%s%s", packages->manager->name,
                           want->name, package_state_word(want->found.state),
                           want->found.version[0] ? " at " : "", want->found.version);
    return 0;
}

/* 1: part of this state is still to do. */
static int change_together(struct packages_party *party, const struct package_offers *offers,
                           struct err *err)
{
    bool left_over;
    int rc;

    VEC_EACH (&party->others, other)
        if (state_acts_for(party->packages->run, other->name, err) < 0)
            return -1;
    rc = party->share->act(party->packages, party->args, &party->all, offers, err);
    if (rc < 0 && err->code == ERR_CANCELED)
        return -1;
    left_over = leave_gifts(party);
    /* If all named packages are fine, it broke something else: report that. */
    return is_shared_work_done(party, &party->own) && (rc == 0 || left_over) ? 0 : 1;
}

int packages_share_act(struct packages_party *party, struct err *err)
{
    struct package_offers offers = { 0 };
    int rc = 1;

    if (party->own.list.n == 0)
        return 0;
    if (party->share->offers &&
        party->share->offers(party->packages, party->args, &party->all, &offers, err) < 0)
        return -1;
    if (party->share->offers)
        drop_unavailable(party, &offers);
    if (party->others.n > 0)
        rc = change_together(party, &offers, err);
    if (rc == 1)
        rc = change_alone(party, &offers, err);
    return rc < 0 ? -1 : verify_packages(party, err);
}

int packages_share_change(struct packages *packages, const struct packages_share *share,
                          const void *args, const struct packages_wants *own,
                          const char **ret_remark, struct err *err)
{
    struct packages_party party;
    struct packages_undo undo;
    struct err after;
    int rc;

    packages_share_begin(&party, packages, share, args, own);
    if (packages_undo_begin(packages, &party.all, &undo, err) < 0)
        return -1;
    rc = packages_share_act(&party, err);
    if (packages_undo_end(packages, &undo, &after) < 0 && rc == 0)
        return *err = after, -1;
    *ret_remark = party.remark;
    return rc;
}
