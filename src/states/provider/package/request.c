#include "states/provider/package/request.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/provider/package/installed.h"
#include "states/provider/package/manager.h"

bool package_request_can(const struct package_manager *manager, enum package_action action)
{
    return manager->actions[action] != NULL;
}

static void add_request_words(struct tool_words *words, const struct tool *tool,
                              const char *const *list)
{
    for (; list && *list; list++)
        tool_add(tool, words, *list);
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

static const char *const *find_request_command(const struct package_manager *manager,
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

static int add_tool_option(struct tool_words *argv, const struct package_manager *manager,
                           const struct tool *tool, const char *word, const char *what,
                           struct err *err)
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
        return err_set(err, ERR_UNSUPPORTED, "%s cannot install from a chosen repository",
                       manager->name);
    if (manager->fromrepo_only)
        tool_add(tool, argv, manager->fromrepo_only);
    tool_add(tool, argv, arena_printf(tool->arena, "%s%s", manager->fromrepo, repo));
    return 0;
}

static int add_request_options(struct tool_words *argv, const struct package_manager *manager,
                               const struct tool *tool, const struct package_request *request,
                               struct err *err)
{
    const char *recommends = request->recommends > 0   ? manager->with_recommends
                             : request->recommends < 0 ? manager->without_recommends
                                                       : NULL;

    if (request->action == PACKAGE_REFRESH && request->list && manager->refresh_list) {
        add_request_words(argv, tool, manager->refresh_list);
        tool_add(tool, argv,
                 arena_printf(tool->arena, "%s%s", manager->refresh_list_mark, request->list));
    }
    if (request->action != PACKAGE_INSTALL)
        return 0;
    if (recommends) /* without support for recommendations, none are installed */
        tool_add(tool, argv, recommends);
    if (request->change_held && manager->change_held)
        tool_add(tool, argv, manager->change_held);
    if (manager->allow_downgrade && has_older(request))
        tool_add(tool, argv, manager->allow_downgrade);
    if (request->skip_verify && add_tool_option(argv, manager, tool, manager->skip_verify,
                                                "skip signature verification", err) < 0)
        return -1;
    if (request->reinstall &&
        add_tool_option(argv, manager, tool, manager->reinstall, "reinstall packages", err) < 0)
        return -1;
    return add_fromrepo(argv, manager, tool, request->fromrepo, err);
}

/* Reject names that a manager would parse as an option, a file or a pattern. */
static int check_package_target(const struct package_manager *manager,
                                const struct package_target *target, struct err *err)
{
    if (target->file)
        return 0;
    if (target->name[0] == '\0' || target->name[0] == '-' ||
        strpbrk(target->name, " \t\n\r/*?[]=<>"))
        return err_set(err, ERR_INVALID, "'%s' is not a valid package name", target->name);
    if (target->version && manager->pin == '\0')
        return err_set(err, ERR_UNSUPPORTED, "%s cannot install a chosen version ('%s' of '%s')",
                       manager->name, target->version, target->name);
    return 0;
}

static const char *const action_words[] = {
    [PACKAGE_INSTALL] = "install packages",  [PACKAGE_REMOVE] = "remove packages",
    [PACKAGE_PURGE] = "purge packages",      [PACKAGE_MAY_ERASE] = "list reverse dependencies",
    [PACKAGE_HOLD] = "hold packages",        [PACKAGE_UNHOLD] = "release held packages",
    [PACKAGE_REFRESH] = "refresh its index",
};

/* A run that was killed is completed before the next one. What this cannot complete, the manager
 * reports itself. */
static int repair_database(const struct package_manager *manager, const struct package_host *host,
                           struct err *err)
{
    if (!manager->repair || !installed_is_torn(manager, host))
        return 0;
    if (package_manager_ask(manager, host, manager->repair, NULL, NULL, err) < 0 &&
        err->code == ERR_CANCELED)
        return -1;
    return 0;
}

static int run_request_once(const struct package_manager *manager, const struct package_host *host,
                            const struct package_request *request, struct err *err)
{
    const char *const *command = find_request_command(manager, request);
    struct tool_words argv = { 0 };

    if (request->targets.n == 0 && request->action != PACKAGE_REFRESH)
        return 0; /* even if the manager does not support it */
    if (!command)
        return err_set(err, ERR_UNSUPPORTED, "%s cannot %s", manager->name,
                       action_words[request->action]);
    add_request_words(&argv, &host->tool, command);
    if (add_request_options(&argv, manager, &host->tool, request, err) < 0)
        return -1;
    VEC_EACH (&request->targets, target) {
        if (check_package_target(manager, target, err) < 0)
            return -1;
        tool_add(&host->tool, &argv, target_word(manager, host->tool.arena, request, target));
    }
    if (request->action != PACKAGE_MAY_ERASE && repair_database(manager, host, err) < 0)
        return -1;
    return package_manager_ask(manager, host, tool_argv(&host->tool, &argv),
                               manager->fine[request->action], NULL, err);
}

int package_request_run(const struct package_manager *manager, const struct package_host *host,
                        const struct package_request *request, struct err *err)
{
    struct package_request older = *request, others = *request;

    if (!manager->downgrade || !has_older(request))
        return run_request_once(manager, host, request, err);
    memset(&older.targets, 0, sizeof(older.targets));
    memset(&others.targets, 0, sizeof(others.targets));
    VEC_EACH (&request->targets, target) {
        if (target->older)
            VEC_PUSH_IN(host->tool.arena, &older.targets, *target);
        else
            VEC_PUSH_IN(host->tool.arena, &others.targets, *target);
    }
    if (run_request_once(manager, host, &others, err) < 0)
        return -1;
    return run_request_once(manager, host, &older, err);
}
