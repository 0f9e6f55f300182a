#include "provider/package_manager.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "sys/process.h"

/* A manager that takes longer hangs. Downloads may be slow. */
#define RUN_TIMEOUT_NS   ((int64_t)3600 * 1000000000)
#define PROGRAM_PATH_MAX 4096
/* How much of what a manager said is told with a failure. */
#define TOLD_MAX 700

extern char **environ;

/* --- finding one ---------------------------------------------------------------------------- */

/* PATH of services is often empty or short, and managers live in sbin on some machines. */
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const char *search_path(void)
{
    const char *path = getenv("PATH");

    return path && path[0] ? path : DEFAULT_PATH;
}

static bool is_program(const char *name)
{
    struct str rest = str_from(search_path());

    while (rest.p) {
        AUTO_BUF struct buf path = BUF_INIT(PROGRAM_PATH_MAX);
        struct str folder = str_cut(&rest, ':');

        if (folder.n == 0)
            continue;
        buf_printf(&path, "%.*s/%s", STR_ARG(folder), name);
        if (!path.full && access(buf_text(&path), X_OK) == 0)
            return true;
    }
    return false;
}

static bool is_there(const struct package_manager *manager)
{
    for (const char *const *program = manager->programs; *program; program++)
        if (!is_program(*program))
            return false;
    return true;
}

static bool has_word(const char *words, const char *word)
{
    struct str rest = str_from(words);

    while (rest.p)
        if (str_is(str_cut(&rest, ' '), word))
            return true;
    return false;
}

static void add_programs(const struct package_manager *manager, struct buf *looked)
{
    for (const char *const *program = manager->programs; *program; program++)
        buf_printf(looked, "%s'%s'", looked->n > 0 ? ", " : "", *program);
}

static bool may_be(const struct package_manager *manager, const char *choice, const char *family,
                   bool known)
{
    if (choice)
        return strcmp(manager->name, choice) == 0;
    return !known || has_word(manager->families, family);
}

static bool is_known_family(const char *family)
{
    for (const struct package_manager *const *m = package_managers; family && *m; m++)
        if (has_word((*m)->families, family))
            return true;
    return false;
}

static int not_found(const char *choice, const char *family, const struct buf *looked,
                     struct err *err)
{
    if (looked->n == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "no package manager is called '%s' (apt, dnf, yum, zypper, apk, pacman)",
                       choice);
    return err_set(err, ERR_NOT_FOUND,
                   "no package manager found for %s '%s': looked for %s in PATH '%s'",
                   choice ? "provider" : "os.family",
                   choice   ? choice
                   : family ? family
                            : "unknown",
                   buf_text(looked), search_path());
}

int package_manager_find(const char *choice, const char *family,
                         const struct package_manager **ret_manager, struct err *err)
{
    AUTO_BUF struct buf looked = BUF_INIT(PROGRAM_PATH_MAX);
    const bool known = is_known_family(family);

    for (const struct package_manager *const *m = package_managers; *m; m++) {
        if (!may_be(*m, choice, family, known))
            continue;
        if (is_there(*m)) {
            *ret_manager = *m;
            return 0;
        }
        add_programs(*m, &looked);
    }
    return not_found(choice, family, &looked, err);
}

/* --- running --------------------------------------------------------------------------------- */

struct words {
    VEC(const char *) list;
};

static void add_words(struct words *words, struct arena *arena, const char *const *list)
{
    for (; list && *list; list++)
        VEC_PUSH_IN(arena, &words->list, *list);
}

static void add_word(struct words *words, struct arena *arena, const char *word)
{
    VEC_PUSH_IN(arena, &words->list, word);
}

/* Ours, but what the manager prints is in English, and it asks nothing. */
static const char *const *make_env(const struct package_manager *manager, struct arena *arena)
{
    struct words env = { 0 };

    add_words(&env, arena, manager->env);
    add_word(&env, arena, "LC_ALL=C");
    for (char *const *pair = environ; *pair; pair++) {
        const struct str name = str_slice(str_from(*pair), 0, strcspn(*pair, "=") + 1);
        bool replaced = str_is(name, "LC_ALL=");

        for (const char *const *ours = manager->env; ours && *ours; ours++)
            replaced |= str_starts(str_from(*ours), name);
        if (!replaced)
            add_word(&env, arena, *pair);
    }
    add_word(&env, arena, NULL);
    return env.list.p;
}

/* The end of what was said: that is where managers tell what went wrong. */
static struct str told(const struct process_result *result)
{
    struct str text = str_trim(result->err.n > 0 ? result->err : result->out);

    return text.n > TOLD_MAX ? str_from_offset(text, text.n - TOLD_MAX) : text;
}

int package_manager_ask(const struct package_manager *manager, const struct package_host *host,
                        const char *const *argv, int also, struct str *ret_output, struct err *err)
{
    const struct process_spec spec = { .argv = argv, .env = make_env(manager, host->arena) };
    AUTO_BUF struct buf status = BUF_INIT(BUF_NO_LIMIT);
    struct process_result result;

    if (host->run(host->user, &spec, RUN_TIMEOUT_NS, &result, err) < 0)
        return err_wrap(err, "run '%s'", argv[0]);
    if (result.timed_out)
        return err_set(err, ERR_TIMEOUT, "'%s' did not end within an hour", argv[0]);
    if (!process_status_ok(result.status) && (also == 0 || result.status.code != also)) {
        process_status_print(result.status, &status);
        return err_set(err, ERR_INVALID, "%s: %s: %.*s", argv[0], buf_text(&status),
                       STR_ARG(told(&result)));
    }
    if (ret_output)
        *ret_output = result.out;
    return 0;
}

static const char *target_word(const struct package_manager *manager, struct arena *arena,
                               const struct package_request *request,
                               const struct package_target *target)
{
    const char *name = target->name;

    if (target->file)
        return target->file;
    if (request->action != PACKAGE_INSTALL)
        return name;
    if (request->fromrepo && manager->repo_in_name)
        name = arena_printf(arena, "%s/%s", request->fromrepo, name);
    if (target->version)
        name = arena_printf(arena, "%s%c%s", name, manager->pin, target->version);
    return name;
}

static bool has_older(const struct package_request *request)
{
    VEC_EACH (&request->targets, target)
        if (target->older)
            return true;
    return false;
}

static const char *const *command_of(const struct package_manager *manager,
                                     const struct package_request *request)
{
    if (request->action != PACKAGE_INSTALL)
        return manager->actions[request->action];
    if (request->targets.n > 0 && request->targets.p[0].file && manager->install_file)
        return manager->install_file;
    if (manager->downgrade && has_older(request))
        return manager->downgrade;
    return manager->actions[PACKAGE_INSTALL];
}

static int add_option(struct words *argv, const struct package_manager *manager,
                      struct arena *arena, const char *word, const char *what, struct err *err)
{
    if (!word)
        return err_set(err, ERR_UNSUPPORTED, "%s cannot %s", manager->name, what);
    add_word(argv, arena, word);
    return 0;
}

static int add_fromrepo(struct words *argv, const struct package_manager *manager,
                        struct arena *arena, const char *repo, struct err *err)
{
    if (!repo || manager->repo_in_name)
        return 0;
    if (!manager->fromrepo)
        return err_set(err, ERR_UNSUPPORTED, "%s cannot choose a repository", manager->name);
    if (manager->fromrepo_only)
        add_word(argv, arena, manager->fromrepo_only);
    add_word(argv, arena, arena_printf(arena, "%s%s", manager->fromrepo, repo));
    return 0;
}

static int add_options(struct words *argv, const struct package_manager *manager,
                       struct arena *arena, const struct package_request *request, struct err *err)
{
    const char *recommends = request->recommends > 0   ? manager->with_recommends
                             : request->recommends < 0 ? manager->without_recommends
                                                       : NULL;

    if (request->action != PACKAGE_INSTALL)
        return 0;
    if (recommends) /* a manager without recommendations installs none */
        add_word(argv, arena, recommends);
    if (request->change_held && manager->change_held)
        add_word(argv, arena, manager->change_held);
    if (manager->allow_downgrade && has_older(request))
        add_word(argv, arena, manager->allow_downgrade);
    if (request->skip_verify && add_option(argv, manager, arena, manager->skip_verify,
                                           "skip the check of signatures", err) < 0)
        return -1;
    return add_fromrepo(argv, manager, arena, request->fromrepo, err);
}

/* A name that a manager would take for an option, a file or a pattern is none. */
static int check_target(const struct package_manager *manager, const struct package_target *target,
                        struct err *err)
{
    if (target->file)
        return 0;
    if (target->name[0] == '\0' || target->name[0] == '-' ||
        strpbrk(target->name, " \t\n\r/*?[]=<>"))
        return err_set(err, ERR_INVALID, "'%s' is no name of a package", target->name);
    if (target->version && manager->pin == '\0')
        return err_set(err, ERR_UNSUPPORTED, "%s cannot install a chosen version ('%s' of '%s')",
                       manager->name, target->version, target->name);
    return 0;
}

static const char *const action_words[] = {
    [PACKAGE_INSTALL] = "install packages",
    [PACKAGE_REMOVE] = "remove packages",
    [PACKAGE_PURGE] = "purge packages",
    [PACKAGE_MAY_ERASE] = "look at what depends on packages",
    [PACKAGE_HOLD] = "hold packages",
    [PACKAGE_UNHOLD] = "let held packages go",
    [PACKAGE_REFRESH] = "refresh its index",
};

static int run_once(const struct package_manager *manager, const struct package_host *host,
                    const struct package_request *request, struct err *err)
{
    const char *const *command = command_of(manager, request);
    struct words argv = { 0 };

    if (!command)
        return err_set(err, ERR_UNSUPPORTED, "%s cannot %s", manager->name,
                       action_words[request->action]);
    if (request->targets.n == 0 && request->action != PACKAGE_REFRESH)
        return 0;
    add_words(&argv, host->arena, command);
    if (add_options(&argv, manager, host->arena, request, err) < 0)
        return -1;
    VEC_EACH (&request->targets, target) {
        if (check_target(manager, target, err) < 0)
            return -1;
        add_word(&argv, host->arena, target_word(manager, host->arena, request, target));
    }
    add_word(&argv, host->arena, NULL);
    return package_manager_ask(manager, host, argv.list.p, 0, NULL, err);
}

int package_manager_run(const struct package_manager *manager, const struct package_host *host,
                        const struct package_request *request, struct err *err)
{
    struct package_request older = *request, others = *request;

    if (!manager->downgrade || !has_older(request))
        return run_once(manager, host, request, err);
    memset(&older.targets, 0, sizeof(older.targets));
    memset(&others.targets, 0, sizeof(others.targets));
    VEC_EACH (&request->targets, target) {
        if (target->older)
            VEC_PUSH_IN(host->arena, &older.targets, *target);
        else
            VEC_PUSH_IN(host->arena, &others.targets, *target);
    }
    if (run_once(manager, host, &others, err) < 0)
        return -1;
    return run_once(manager, host, &older, err);
}

/* --- offers ----------------------------------------------------------------------------------- */

struct package_offer *package_offers_find(const struct package_offers *offers, struct str name)
{
    return map_find(&offers->by_name, name);
}

void package_offer_add(struct package_offer *offer, struct arena *arena, struct str version)
{
    VEC_EACH (&offer->versions, known)
        if (str_is(version, *known))
            return;
    VEC_PUSH_IN(arena, &offer->versions, arena_str(arena, version).p);
}

static const char *newest(const struct package_manager *manager, const struct package_offer *offer)
{
    const char *best = NULL;

    VEC_EACH (&offer->versions, version)
        if (!best || manager->compare(str_from(*version), str_from(best)) > 0)
            best = *version;
    return best;
}

int package_manager_offers(const struct package_manager *manager, const struct package_host *host,
                           const char *const *names, struct package_offers *ret_offers,
                           struct err *err)
{
    struct package_offers offers = { .by_name = MAP_INIT_IN(host->arena) };

    *ret_offers = (struct package_offers){ .by_name = MAP_INIT_IN(host->arena) };
    for (size_t i = 0; names[i]; i++) {
        struct package_offer *offer = ARENA_NEW(host->arena, struct package_offer);

        offer->name = names[i];
        map_set(&offers.by_name, str_from(names[i]), offer);
    }
    if (map_count(&offers.by_name) == 0)
        return 0;
    if (manager->offers(host, names, &offers, err) < 0)
        return err_wrap(err, "look up what %s offers", manager->name);
    MAP_EACH (&offers.by_name, entry) {
        struct package_offer *offer = entry->value;

        if (!offer->candidate)
            offer->candidate = newest(manager, offer);
        if (offer->candidate)
            map_set(&ret_offers->by_name, entry->key, offer);
    }
    return 0;
}
