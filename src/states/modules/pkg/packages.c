#include "states/modules/pkg/packages.h"

#include <string.h>
#include <sys/utsname.h>

#include "core/base/err.h"
#include "states/modules/file/content.h"
#include "states/provider/package/installed.h"
#include "states/modules/cmd/run_tool.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "core/sys/cancel.h"

#define WANTS_MAX   10000
#define TEXT_MAX    4096
#define NAMES_SHOWN 4

/* --- the manager ------------------------------------------------ */

static const char *find_settings_text(const struct value *tree, const char *path)
{
    const struct value *v = value_path(tree, str_from(path), '.');

    return v && v->kind == VALUE_STR && v->s.n > 0 ? v->s.p : NULL;
}

int packages_open(struct state_run *run, struct packages *ret_packages, struct err *err)
{
    *ret_packages = (struct packages){
        .run = run,
        .host = { .tool = run_tool(run), .root = "" },
    };
    return package_manager_find(
        run->arena, find_settings_text(state_settings(run), "providers.pkg"),
        find_settings_text(state_facts(run), "os.family"), &ret_packages->manager, err);
}

/* --- wanted packages -------------------------------------------- */

struct reader {
    struct arena *arena;
    struct packages_wants *wants;
    struct diags *diags;
    const struct value *where;
    bool ignore_epoch;
};

static bool is_same_version_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static int add_want(struct reader *reader, const char *name, const char *version,
                    const struct value *where)
{
    struct packages_want want = { .name = name, .version = version };
    struct err err;

    if (name[0] == '\0' || name[0] == '-' || strpbrk(name, " \t\r\n/=<>*?["))
        return value_diag(reader->diags, where, "'%s' is not a valid package name", name);
    if (version && wish_parse(str_from(version), &want.wish, &err) < 0)
        return value_diag(reader->diags, where, "version of '%s': %s", name, err.text);
    want.wish.ignore_epoch = reader->ignore_epoch;
    VEC_EACH (&reader->wants->list, known)
        if (strcmp(known->name, name) == 0 && is_same_version_text(known->version, version))
            return 0;
    if (reader->wants->list.n >= WANTS_MAX)
        return value_diag(reader->diags, where, "more than the limit of %d packages in one state",
                          WANTS_MAX);
    VEC_PUSH_IN(reader->arena, &reader->wants->list, want);
    return 0;
}

/* As written in the document: 1.10 stays 1.10. */
static const char *print_package_scalar(struct arena *arena, const struct value *v)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    if (v->kind == VALUE_NULL)
        return NULL;
    content_add_scalar(&text, v);
    return text.n > 0 ? buf_copy(&text, arena).p : NULL;
}

static bool is_package_scalar(const struct value *v)
{
    return v->kind != VALUE_LIST && v->kind != VALUE_MAP && v->kind != VALUE_OBJECT;
}

static int read_package_pair(struct reader *reader, const struct value_pair *pair)
{
    const char *name = print_package_scalar(reader->arena, &pair->key);

    if (!name || !is_package_scalar(&pair->value))
        return value_diag(reader->diags, &pair->value,
                          "a package must be 'name' or 'name: version'");
    return add_want(reader, name, print_package_scalar(reader->arena, &pair->value), &pair->key);
}

static int read_package_item(struct reader *reader, const struct value *item)
{
    const char *name;
    int result = 0;

    if (item->kind == VALUE_MAP) {
        for (size_t i = 0; i < item->map->count; i++)
            if (read_package_pair(reader, &item->map->pairs[i]) < 0)
                result = -1;
        return result;
    }
    name = is_package_scalar(item) ? print_package_scalar(reader->arena, item) : NULL;
    if (!name)
        return value_diag(reader->diags, item, "a package must be 'name' or 'name: version'");
    return add_want(reader, name, NULL, item);
}

static int read_package_list(struct reader *reader, const struct value *list)
{
    int result = 0;

    if (list->kind != VALUE_LIST)
        return read_package_item(reader, list);
    for (size_t i = 0; i < list->list->count; i++)
        if (read_package_item(reader, &list->list->items[i]) < 0)
            result = -1;
    return result;
}

static bool has_list(const struct packages_args *args)
{
    return args->pkgs && args->pkgs->kind != VALUE_NULL;
}

static int read_package_args(struct reader *reader, const struct packages_args *args)
{
    reader->ignore_epoch = args->ignore_epoch;
    if (!has_list(args))
        return add_want(reader, args->name, args->version, reader->where);
    if (args->version)
        return value_diag(reader->diags, reader->where,
                          "'version' needs a single package; write 'name: version' in 'pkgs'");
    return read_package_list(reader, args->pkgs);
}

int packages_validate(const struct packages_args *args, const struct value *where,
                      struct diags *diags)
{
    struct packages_wants wants = { 0 };
    struct reader reader = { diags->arena, &wants, diags, where, false };

    return read_package_args(&reader, args);
}

static bool is_package_native(const struct package_db *db, const char *arch)
{
    struct utsname machine;

    if (strcmp(arch, "all") == 0 || strcmp(arch, "noarch") == 0)
        return true;
    if (db->native)
        return strcmp(arch, db->native) == 0;
    return uname(&machine) == 0 && strcmp(arch, machine.machine) == 0;
}

/* "bash:amd64" is bash on an amd64 machine. */
static int normalize_name(struct packages *packages, struct packages_wants *wants, struct err *err)
{
    const struct package_db *db;

    if (packages->manager->arch_mark == '\0')
        return 0;
    if (installed_lock(packages->manager, &packages->host, &db, err) < 0)
        return -1;
    VEC_EACH (&wants->list, want) {
        const char *mark = strrchr(want->name, packages->manager->arch_mark);

        if (mark && mark > want->name && is_package_native(db, mark + 1))
            want->name =
                arena_strndup(packages->run->arena, want->name, (size_t)(mark - want->name));
    }
    installed_unlock();
    return 0;
}

int packages_wants(struct packages *packages, const struct packages_args *args,
                   struct packages_wants *ret_wants, struct err *err)
{
    const struct value nowhere = value_null();
    struct diags diags = DIAGS_INIT(packages->run->arena);
    struct reader reader = { packages->run->arena, ret_wants, &diags, &nowhere, false };

    *ret_wants = (struct packages_wants){ 0 };
    if (read_package_args(&reader, args) < 0)
        return diags_to_err(&diags, err);
    return args->normalize == PARAM_IS_FALSE ? 0 : normalize_name(packages, ret_wants, err);
}

/* --- installed packages ------------------------------------------------------------------ */

static struct package copy_package(struct arena *arena, const struct package *package)
{
    return (struct package){
        .name = arena_strdup(arena, package->name),
        .version = arena_strdup(arena, package->version),
        .arch = arena_strdup(arena, package->arch),
        .state = package->state,
        .held = package->held,
    };
}

static void find_wanted_package(struct packages *packages, const struct package_db *db,
                                struct packages_want *want)
{
    struct arena *arena = packages->run->arena;
    const struct package *found = package_db_find(db, str_from(want->name));
    const struct package *standin;

    want->found = (struct package){ .name = want->name, .version = "", .arch = "" };
    want->standin = NULL;
    if (found)
        want->found = copy_package(arena, found);
    if (want->found.state == PACKAGE_INSTALLED)
        return;
    standin = package_db_find_installed(db, str_from(want->name));
    if (standin) {
        struct package *copy = ARENA_NEW(arena, struct package);

        *copy = copy_package(arena, standin);
        want->standin = copy;
    }
}

int packages_look(struct packages *packages, struct packages_wants *wants, struct err *err)
{
    const struct package_db *db;

    if (installed_lock(packages->manager, &packages->host, &db, err) < 0)
        return -1;
    VEC_EACH (&wants->list, want)
        find_wanted_package(packages, db, want);
    installed_unlock();
    return 0;
}

bool packages_is_met(const struct packages *packages, const struct packages_want *want)
{
    if (want->found.state == PACKAGE_INSTALLED)
        return wish_holds(&want->wish, str_from(want->found.version), packages->manager->compare);
    return want->standin && want->wish.count == 0;
}

int packages_offers(struct packages *packages, const struct packages_wants *wants,
                    struct package_offers *ret_offers, struct err *err)
{
    VEC(const char *) names = VEC_INIT;

    VEC_EACH (&wants->list, want)
        if (!want->source)
            VEC_PUSH_IN(packages->run->arena, &names, want->name);
    VEC_PUSH_IN(packages->run->arena, &names, NULL);
    return package_offers_ask(packages->manager, &packages->host, names.p, ret_offers, err);
}

/* At least the available version: a newer one, or one from elsewhere, is accepted. */
static void set_target(struct packages *packages, struct packages_want *want,
                       const struct package_offer *offer)
{
    want->wish = (struct wish){ 0 };
    want->version = offer ? arena_printf(packages->run->arena, ">=%s", offer->candidate) : NULL;
    if (!offer)
        return;
    want->wish.count = 1;
    want->wish.conditions[0].test = WISH_GE;
    want->wish.conditions[0].version = str_from(offer->candidate);
}

int packages_aim(struct packages *packages, struct packages_wants *wants, bool *ret_any,
                 struct err *err)
{
    struct package_offers offers;
    bool any = false;

    VEC_EACH (&wants->list, want)
        any |= want->version && strcmp(want->version, "latest") == 0;
    *ret_any = any;
    if (!any)
        return 0;
    if (packages_offers(packages, wants, &offers, err) < 0)
        return -1;
    VEC_EACH (&wants->list, want)
        if (want->version && strcmp(want->version, "latest") == 0)
            set_target(packages, want, package_offers_find(&offers, str_from(want->name)));
    return 0;
}

/* --- acting ------------------------------------------------------------------------------ */

void packages_cleanup_begin(struct packages_cleanup *cleanup, const struct packages *packages)
{
    *cleanup = (struct packages_cleanup){ *packages, cancel_heed(NULL) };
    cleanup->packages.host.tool.cancel = NULL;
}

void packages_cleanup_end(const struct packages_cleanup *cleanup)
{
    (void)cancel_heed(cleanup->heeded);
}

int packages_act(struct packages *packages, const struct package_request *request, struct err *err)
{
    int rc = package_request_run(packages->manager, &packages->host, request, err);

    installed_forget();
    return rc;
}

/* All held packages. */
static int find_held(struct packages *packages, struct packages_wants *ret, struct err *err)
{
    struct arena *arena = packages->run->arena;
    const struct package_db *db;

    *ret = (struct packages_wants){ 0 };
    if (installed_lock(packages->manager, &packages->host, &db, err) < 0)
        return -1;
    VEC_EACH (&db->list, package)
        if ((*package)->held)
            VEC_PUSH_IN(arena, &ret->list,
                        ((struct packages_want){ .name = package_db_key(arena, db, *package) }));
    installed_unlock();
    return 0;
}

/* Those that are still installed and no longer held. */
static int hold_again(struct packages *packages, struct packages_wants *held, struct err *err)
{
    struct package_request request = { .action = PACKAGE_HOLD };

    if (packages_look(packages, held, err) < 0)
        return -1;
    VEC_EACH (&held->list, item)
        if (item->found.state >= PACKAGE_BROKEN && !item->found.held)
            packages_request_add(packages, &request, item->name, NULL);
    return packages_act(packages, &request, err);
}

/* With a manager option; it drops the holds of everything it changes, dependencies too. */
static int install_over_holds(struct packages *packages, const struct package_request *request,
                              struct err *err)
{
    struct packages_cleanup cleanup;
    struct packages_wants held;
    struct err after;
    int rc, held_rc;

    if (find_held(packages, &held, err) < 0)
        return -1;
    rc = packages_act(packages, request, err);
    packages_cleanup_begin(&cleanup, packages);
    held_rc = hold_again(&cleanup.packages, &held, &after);
    packages_cleanup_end(&cleanup);
    if (held_rc < 0 && rc == 0)
        return *err = after, -1;
    return rc;
}

static struct package_request make_hold_request(struct packages *packages,
                                                enum package_action action,
                                                const struct packages_wants *unmet)
{
    struct package_request request = { .action = action };

    VEC_EACH (&unmet->list, item)
        if (item->found.held)
            packages_request_add(packages, &request, item->name, NULL);
    return request;
}

/* Without a manager option: release the holds first. */
static int install_released(struct packages *packages, const struct packages_wants *unmet,
                            const struct package_request *request, struct err *err)
{
    const struct package_request let_go = make_hold_request(packages, PACKAGE_UNHOLD, unmet);
    const struct package_request hold = make_hold_request(packages, PACKAGE_HOLD, unmet);
    struct packages_cleanup cleanup;
    struct err after;
    int rc = packages_act(packages, &let_go, err), held_rc;

    if (rc == 0)
        rc = packages_act(packages, request, err);
    packages_cleanup_begin(&cleanup, packages);
    held_rc = packages_act(&cleanup.packages, &hold, &after);
    packages_cleanup_end(&cleanup);
    if (held_rc < 0 && rc == 0)
        return *err = after, -1;
    return rc;
}

/* Held packages may change, and are held again afterwards. */
static int install_held(struct packages *packages, const struct packages_wants *unmet,
                        const struct package_request *request, struct err *err)
{
    return packages->manager->change_held ? install_over_holds(packages, request, err)
                                          : install_released(packages, unmet, request, err);
}

/* The failure may be due to a misspelt name. */
static int suggest_names(struct packages *packages, const struct packages_wants *unmet,
                         const struct package_offers *offers, struct err *err)
{
    AUTO_BUF struct buf hint = BUF_INIT(BUF_NO_LIMIT);

    if (err->code == ERR_CANCELED)
        return -1;
    VEC_EACH (&unmet->list, item) {
        struct str near;

        if (item->source || package_offers_find(offers, str_from(item->name)))
            continue;
        near = package_offers_suggest(packages->manager, &packages->host, item->name);
        if (near.p && unmet->list.n == 1)
            buf_printf(&hint, "'%.*s'", STR_ARG(near));
        else if (near.p)
            buf_printf(&hint, "%s'%.*s' for '%s'", hint.n > 0 ? ", " : "", STR_ARG(near),
                       item->name);
    }
    if (hint.n == 0)
        return -1;
    return err_set(err, err->code, "%s (did you mean %s?)",
                   arena_strdup(packages->run->arena, err->text), buf_text(&hint));
}

int packages_install(struct packages *packages, const struct packages_wants *unmet,
                     const struct package_request *request, const struct package_offers *offers,
                     struct err *err)
{
    const int rc = request->change_held ? install_held(packages, unmet, request, err)
                                        : packages_act(packages, request, err);

    return rc < 0 ? suggest_names(packages, unmet, offers, err) : 0;
}

const char *packages_pin(const struct packages *packages, const struct packages_want *want,
                         const struct package_offer *offer, const char *version)
{
    bool there = want->found.state == PACKAGE_INSTALLED;

    if (strcmp(version, offer->candidate) != 0)
        return version;
    if (there && packages->manager->pin_to_upgrade)
        return version;
    if (there && packages->manager->compare(str_from(version), str_from(want->found.version)) < 0)
        return version;
    return NULL;
}

/* The best acceptable version: the candidate, which follows the machine's preferences, else the
 * newest. NULL: none. */
static const char *find_best(const struct packages *packages, const struct packages_want *item,
                             const struct package_offer *offer)
{
    version_compare_fn compare = packages->manager->compare;
    const char *best = NULL;

    if (wish_holds(&item->wish, str_from(offer->candidate), compare))
        return offer->candidate;
    VEC_EACH (&offer->versions, version)
        if (wish_holds(&item->wish, str_from(*version), compare) &&
            (!best || compare(str_from(*version), str_from(best)) > 0))
            best = *version;
    return best;
}

int packages_choose(struct packages *packages, const struct packages_want *item,
                    const struct package_offers *offers, const char **ret, struct err *err)
{
    const struct package_offer *offer = package_offers_find(offers, str_from(item->name));
    const struct str exact = wish_exact(&item->wish);
    const char *best;

    *ret = exact.p ? arena_str(packages->run->arena, exact).p : NULL;
    if (exact.p || item->wish.count == 0)
        return 0;
    best = offer ? find_best(packages, item, offer) : NULL;
    if (!best)
        return err_set(err, ERR_NOT_FOUND, "no version of '%s' satisfies '%s' (%s offers %s)",
                       item->name, item->version, packages->manager->name,
                       offer ? offer->candidate : "none");
    *ret = packages_pin(packages, item, offer, best);
    return 0;
}

void packages_request_add(struct packages *packages, struct package_request *request,
                          const char *name, const char *version)
{
    const struct package_target target = { .name = name, .version = version };

    VEC_PUSH_IN(packages->run->arena, &request->targets, target);
}

void packages_request_version(struct packages *packages, struct package_request *request,
                              const struct packages_want *want, const char *version)
{
    const struct package_target target = {
        .name = want->name,
        .version = version,
        .older = version && want->found.state == PACKAGE_INSTALLED &&
                 packages->manager->compare(str_from(version), str_from(want->found.version)) < 0,
    };

    VEC_PUSH_IN(packages->run->arena, &request->targets, target);
}

struct package_request packages_request(struct packages *packages, enum package_action action,
                                        const struct packages_wants *wants)
{
    struct package_request request = { .action = action };

    VEC_EACH (&wants->list, want)
        packages_request_add(packages, &request, want->name, NULL);
    return request;
}

const char *packages_names(struct packages *packages, const struct packages_wants *wants)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < wants->list.n && i < NAMES_SHOWN; i++)
        buf_printf(&text, "%s%s", i > 0 ? ", " : "", wants->list.p[i].name);
    if (wants->list.n > NAMES_SHOWN)
        buf_printf(&text, " and %zu more", wants->list.n - NAMES_SHOWN);
    return buf_copy(&text, packages->run->arena).p;
}
