#include "provider/package_manager.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/suggest.h"
#include "sys/process.h"

/* A manager that takes longer hangs. Downloads may be slow. */
#define RUN_TIMEOUT_NS ((int64_t)3600 * 1000000000)
#define LOOKED_MAX     4096
#define QUESTION_MAX   ((size_t)16 << 10)

/* --- finding one ---------------------------------------------------------------------------- */

static bool is_there(const struct package_manager *manager, struct arena *arena)
{
    for (const char *const *program = manager->programs; *program; program++)
        if (!tool_find(arena, *program))
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
    AUTO_ARENA struct arena arena = ARENA_INIT;

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
                   buf_text(looked), tool_path(&arena));
}

static int look_for(struct arena *arena, const char *choice, const char *family,
                    const struct package_manager **ret_manager, struct err *err)
{
    AUTO_BUF struct buf looked = BUF_INIT(LOOKED_MAX);
    const bool known = is_known_family(family);

    for (const struct package_manager *const *m = package_managers; *m; m++) {
        if (!may_be(*m, choice, family, known))
            continue;
        if (is_there(*m, arena)) {
            *ret_manager = *m;
            return 0;
        }
        add_programs(*m, &looked);
    }
    return not_found(choice, family, &looked, err);
}

/* What was found stays found: a thousand states ask, and programs do not move. */
static struct {
    pthread_mutex_t mutex;
    struct buf question;
    const struct package_manager *answer;
} found = { .mutex = PTHREAD_MUTEX_INITIALIZER, .question = BUF_INIT(QUESTION_MAX) };

int package_manager_find(struct arena *arena, const char *choice, const char *family,
                         const struct package_manager **ret_manager, struct err *err)
{
    AUTO_BUF struct buf question = BUF_INIT(QUESTION_MAX);
    const char *path = getenv("PATH");
    int rc = 0;

    buf_printf(&question, "%s\n%s\n%s", choice ? choice : "", family ? family : "",
               path ? path : "");
    (void)pthread_mutex_lock(&found.mutex);
    if (found.answer && !question.full && str_eq(buf_view(&question), buf_view(&found.question))) {
        *ret_manager = found.answer;
    } else {
        rc = look_for(arena, choice, family, ret_manager, err);
        found.answer = rc == 0 ? *ret_manager : NULL;
        buf_clear(&found.question);
        buf_add_str(&found.question, buf_view(&question));
    }
    (void)pthread_mutex_unlock(&found.mutex);
    return rc;
}

/* --- running --------------------------------------------------------------------------------- */

static void add_words(struct tool_words *words, const struct tool *tool, const char *const *list)
{
    for (; list && *list; list++)
        tool_add(tool, words, *list);
}

static bool is_fine(struct process_status status, const int *fine)
{
    if (process_status_ok(status))
        return true;
    for (int i = 0; fine && i < PACKAGE_FINE_MAX; i++)
        if (fine[i] != 0 && status.code == fine[i])
            return true;
    return false;
}

/* Lines of a terminal end in a carriage return too. */
static void add_reasons(struct arena *arena, struct str reasons, struct str *said)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_add_str(&text, *said);
    for (size_t i = 0; i < reasons.n; i++)
        if (reasons.p[i] != '\r')
            buf_add_char(&text, reasons.p[i]);
    *said = buf_copy(&text, arena);
}

int package_manager_ask(const struct package_manager *manager, const struct package_host *host,
                        const char *const *argv, const int *fine, struct str *ret_output,
                        struct err *err)
{
    const struct tool_options options = { .env = manager->env, .timeout = RUN_TIMEOUT_NS };
    struct process_result result;

    if (tool_try(&host->tool, argv, &options, &result, err) < 0)
        return -1;
    if (!is_fine(result.status, fine)) {
        if (manager->reasons)
            add_reasons(host->tool.arena, manager->reasons(result.out), &result.err);
        return tool_fail(argv, &result, err);
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

static int add_option(struct tool_words *argv, const struct package_manager *manager,
                      const struct tool *tool, const char *word, const char *what, struct err *err)
{
    if (!word)
        return err_set(err, ERR_UNSUPPORTED, "%s cannot %s", manager->name, what);
    tool_add(tool, argv, word);
    return 0;
}

static int add_fromrepo(struct tool_words *argv, const struct package_manager *manager,
                        const struct tool *tool, const char *repo, struct err *err)
{
    if (!repo || manager->repo_in_name)
        return 0;
    if (!manager->fromrepo)
        return err_set(err, ERR_UNSUPPORTED, "%s cannot choose a repository", manager->name);
    if (manager->fromrepo_only)
        tool_add(tool, argv, manager->fromrepo_only);
    tool_add(tool, argv, arena_printf(tool->arena, "%s%s", manager->fromrepo, repo));
    return 0;
}

static int add_options(struct tool_words *argv, const struct package_manager *manager,
                       const struct tool *tool, const struct package_request *request,
                       struct err *err)
{
    const char *recommends = request->recommends > 0   ? manager->with_recommends
                             : request->recommends < 0 ? manager->without_recommends
                                                       : NULL;

    if (request->action == PACKAGE_REFRESH && request->list && manager->refresh_list) {
        add_words(argv, tool, manager->refresh_list);
        tool_add(tool, argv,
                 arena_printf(tool->arena, "%s%s", manager->refresh_list_mark, request->list));
    }
    if (request->action != PACKAGE_INSTALL)
        return 0;
    if (recommends) /* a manager without recommendations installs none */
        tool_add(tool, argv, recommends);
    if (request->change_held && manager->change_held)
        tool_add(tool, argv, manager->change_held);
    if (manager->allow_downgrade && has_older(request))
        tool_add(tool, argv, manager->allow_downgrade);
    if (request->skip_verify && add_option(argv, manager, tool, manager->skip_verify,
                                           "skip the check of signatures", err) < 0)
        return -1;
    return add_fromrepo(argv, manager, tool, request->fromrepo, err);
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
    struct tool_words argv = { 0 };

    if (request->targets.n == 0 && request->action != PACKAGE_REFRESH)
        return 0; /* also when it is a thing that this manager cannot do */
    if (!command)
        return err_set(err, ERR_UNSUPPORTED, "%s cannot %s", manager->name,
                       action_words[request->action]);
    add_words(&argv, &host->tool, command);
    if (add_options(&argv, manager, &host->tool, request, err) < 0)
        return -1;
    VEC_EACH (&request->targets, target) {
        if (check_target(manager, target, err) < 0)
            return -1;
        tool_add(&host->tool, &argv, target_word(manager, host->tool.arena, request, target));
    }
    return package_manager_ask(manager, host, tool_argv(&host->tool, &argv),
                               manager->fine[request->action], NULL, err);
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
            VEC_PUSH_IN(host->tool.arena, &older.targets, *target);
        else
            VEC_PUSH_IN(host->tool.arena, &others.targets, *target);
    }
    if (run_once(manager, host, &others, err) < 0)
        return -1;
    return run_once(manager, host, &older, err);
}

/* --- offers ----------------------------------------------------- */

struct str package_manager_suggest(const struct package_manager *manager,
                                   const struct package_host *host, const char *name)
{
    struct suggest best;
    struct err ignored; /* nobody can tell */
    struct str names;

    suggest_init(&best, str_from(name));
    if (manager->names &&
        package_manager_ask(manager, host, manager->names, NULL, &names, &ignored) == 0)
        while (names.p) {
            const struct str one = str_trim(str_cut(&names, '\n'));

            if (one.n > 0)
                suggest_offer(&best, one);
        }
    return suggest_best(&best);
}

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
    struct package_offers offers = { .by_name = MAP_INIT_IN(host->tool.arena) };

    *ret_offers = (struct package_offers){ .by_name = MAP_INIT_IN(host->tool.arena) };
    for (size_t i = 0; names[i]; i++) {
        struct package_offer *offer = ARENA_NEW(host->tool.arena, struct package_offer);

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
