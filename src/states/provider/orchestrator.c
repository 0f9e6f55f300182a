#include "states/provider/orchestrator.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "kepler/control/exchange.h"
#include "kepler/control/home.h"
#include "core/data/value.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/path.h"

/* A stop waits for the grace periods of all stopping services. */
#define TIMEOUT_NS (600 * CLOCK_SECOND)
/* In the folder of each config; kepler/daemon/history_file.h. */
#define HISTORY_FILE "history.log"

/* --- the daemon ------------------------------------------------------------------------------ */

bool orchestrator_is_here(struct arena *arena)
{
    AUTO_FD int fd = -1;
    struct home home;
    struct err ignored;

    return home_find_client(arena, &home, &ignored) == 0 && home_connect(&home, &fd, &ignored) == 0;
}

static bool is_orchestrator_reply(const struct message *answer, const char *name)
{
    return strcmp(answer->name, name) == 0;
}

/* A refusal of the daemon is an answer, too. */
static int query_daemon(const struct tool *tool, int kind, const void *args, struct message *ret,
                        struct err *err)
{
    struct home home;
    const struct exchange exchange = { tool->arena, &home, tool->cancel,
                                       tool->timeout > 0 ? tool->timeout : TIMEOUT_NS };

    if (home_find_client(tool->arena, &home, err) < 0)
        return -1;
    if (exchange_ask(&exchange, (enum request_kind)kind, args, ret, err) < 0)
        return err_wrap(err, "kepler");
    return 0;
}

static int report_orchestrator_refusal(const struct message *answer, struct err *err)
{
    return err_set(err, ERR_INVALID, "kepler: %s",
                   message_text(answer, "message", "the daemon gave no reason"));
}

int orchestrator_ask(const struct tool *tool, int kind, const void *args, struct message *ret,
                     struct err *err)
{
    if (query_daemon(tool, kind, args, ret, err) < 0)
        return -1;
    return is_orchestrator_reply(ret, MESSAGE_OK) ? 0 : report_orchestrator_refusal(ret, err);
}

struct param_strs orchestrator_environment(struct arena *arena)
{
    VEC(const char *) list = VEC_INIT;

    for (char **one = environ; *one; one++)
        if (strchr(*one, '='))
            VEC_PUSH_IN(arena, &list, *one);
    return (struct param_strs){ list.n, list.p };
}

/* --- finding a service ----------------------------------------------------------------------- */

const char *orchestrator_path(struct arena *arena, const char *path)
{
    AUTO_FREE char *real = realpath(path, NULL);
    AUTO_FREE char *folder = real ? NULL : realpath(path_dirname(arena, path), NULL);
    const struct str name = path_basename(path);

    if (real)
        return arena_strdup(arena, real);
    if (folder)
        return path_join(arena, folder, arena_strndup(arena, name.p, name.n));
    return path_normalise(arena, path);
}

static struct str drop_suffix(struct str name)
{
    static const char *const suffixes[] = { ".yaml", ".yml" };

    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        if (str_ends(name, str_from(suffixes[i])))
            return str_slice(name, 0, name.n - strlen(suffixes[i]));
    return name;
}

/* /srv/web/kepler.yaml and /etc/services/web.yaml are both "web". */
static struct str name_config(struct arena *arena, const char *path)
{
    const struct str name = drop_suffix(path_basename(path));

    return str_is(name, "kepler") ? path_basename(path_dirname(arena, path)) : name;
}

/* The parts of a service name. */
struct parts {
    const char *config; /* canonical path; NULL: not given */
    struct str project; /* short name; a NULL view: not given */
    const char *service;
};

static struct parts parse_service_name(struct arena *arena, const char *name)
{
    const char *colon = name[0] == '/' ? strrchr(name, ':') : NULL;
    const char *slash = strrchr(name, '/');

    if (colon)
        return (struct parts){
            .config = orchestrator_path(arena, arena_strndup(arena, name, (size_t)(colon - name))),
            .service = colon + 1,
        };
    if (slash && slash > name)
        return (struct parts){ .project = { name, (size_t)(slash - name) }, .service = slash + 1 };
    return (struct parts){ .service = name };
}

static int report_several(const struct orchestrator_service *found, const char *other,
                          struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "kepler has a service '%s' in '%s' and in '%s': choose one with 'config', or as "
                   "'%s:%s'",
                   found->service, found->config, other, found->config, found->service);
}

/* Search all configs that the daemon knows. */
static int search_configs(const struct tool *tool, const struct value *configs, struct str project,
                          struct orchestrator_service *found, struct err *err)
{
    if (!configs || !value_is(configs, VALUE_LIST))
        return 0;
    for (size_t i = 0; i < configs->list->count; i++) {
        const struct value *config = &configs->list->items[i], *path, *services, *status;

        path = value_get(config, "config_path");
        services = value_get(config, "services");
        status = services ? value_get(services, found->service) : NULL;
        if (!status || !path || !value_is_textual(path) ||
            (project.p && !str_eq(name_config(tool->arena, path->s.p), project)))
            continue;
        if (found->config)
            return report_several(found, path->s.p, err);
        found->config = path->s.p;
        found->status = status;
    }
    return 0;
}

int orchestrator_find(const struct tool *tool, const char *name, struct orchestrator_service *ret,
                      struct err *err)
{
    const struct parts parts = parse_service_name(tool->arena, name);
    const struct request_ask args = { .config = parts.config };
    const struct value *services;
    struct message answer;

    *ret = (struct orchestrator_service){ .config = parts.config, .service = parts.service };
    if (query_daemon(tool, REQUEST_STATUS, &args, &answer, err) < 0)
        return -1;
    if (parts.config && is_orchestrator_reply(&answer, MESSAGE_UNKNOWN))
        return 0;
    if (!is_orchestrator_reply(&answer, MESSAGE_OK))
        return report_orchestrator_refusal(&answer, err);
    if (!parts.config)
        return search_configs(tool, value_get(&answer.body, "configs"), parts.project, ret, err);
    services = value_get(&answer.body, "services");
    ret->status = services ? value_get(services, ret->service) : NULL;
    return 0;
}

int orchestrator_list(const struct tool *tool, struct orchestrator_services *ret, struct err *err)
{
    const struct request_ask args = { 0 };
    const struct value *configs;
    struct message answer;

    if (orchestrator_ask(tool, REQUEST_STATUS, &args, &answer, err) < 0)
        return -1;
    configs = value_get(&answer.body, "configs");
    for (size_t i = 0; value_is(configs, VALUE_LIST) && i < configs->list->count; i++) {
        const char *path = value_get_text(&configs->list->items[i], "config_path");
        const struct value *services = value_get(&configs->list->items[i], "services");

        for (size_t k = 0; path && value_is(services, VALUE_MAP) && k < services->map->count; k++) {
            const struct value_pair *pair = &services->map->pairs[k];
            const struct orchestrator_service one = { path, pair->key.s.p, &pair->value };

            VEC_PUSH_IN(tool->arena, &ret->list, one);
        }
    }
    return 0;
}

/* --- history --------------------------------------------------------------------------------- */

static bool read_service_change(const char *service, const struct value *entry,
                                struct orchestrator_change *ret)
{
    const struct value *wall = value_get(entry, "wall"), *number = value_get(entry, "number");

    *ret = (struct orchestrator_change){
        .service = service,
        .from = value_get_text(entry, "from"),
        .to = value_get_text(entry, "to"),
        .cause = value_get_text(entry, "cause"),
        .wall = value_is(wall, VALUE_INT) ? wall->i : 0,
        .number = value_is(number, VALUE_INT) ? number->i : 0,
    };
    return ret->from && ret->to && ret->cause;
}

int orchestrator_why(const struct tool *tool, const char *name,
                     struct orchestrator_service *ret_service, struct value *ret_why,
                     struct err *err)
{
    const struct value *services;
    struct request_ask ask = { 0 };
    struct message answer;

    if (orchestrator_find(tool, name, ret_service, err) < 0)
        return -1;
    if (!ret_service->status)
        return err_set(err, ERR_NOT_FOUND, "kepler has no service '%.256s'", name);
    ask.config = ret_service->config;
    ask.services = (struct param_strs){ 1, &ret_service->service };
    if (orchestrator_ask(tool, REQUEST_WHY, &ask, &answer, err) < 0)
        return -1;
    services = value_get(&answer.body, "services");
    if (!services || !value_is(services, VALUE_LIST) || services->list->count == 0)
        return err_set(err, ERR_NOT_FOUND, "kepler has no service '%.256s'", name);
    *ret_why = services->list->items[0];
    return 0;
}

int orchestrator_history(const struct tool *tool, const char *config, struct param_strs services,
                         struct orchestrator_changes *ret, struct err *err)
{
    const struct request_ask args = { .config = config, .services = services };
    const struct value *told;
    struct message answer;

    if (query_daemon(tool, REQUEST_WHY, &args, &answer, err) < 0)
        return -1;
    told = is_orchestrator_reply(&answer, MESSAGE_OK) ? value_get(&answer.body, "services") : NULL;
    for (size_t i = 0; value_is(told, VALUE_LIST) && i < told->list->count; i++) {
        const char *service = value_get_text(&told->list->items[i], "service");
        const struct value *history = value_get(&told->list->items[i], "history");
        struct orchestrator_change change;

        for (size_t k = value_is(history, VALUE_LIST) ? history->list->count : 0; k-- > 0;)
            if (service && read_service_change(service, &history->list->items[k], &change))
                VEC_PUSH_IN(tool->arena, &ret->list, change);
    }
    return 0;
}

const char *orchestrator_history_files(struct arena *arena)
{
    struct home home;
    struct err ignored;

    if (home_find_client(arena, &home, &ignored) < 0)
        return NULL;
    return path_join(arena, home.configs, "*/" HISTORY_FILE);
}

/* --- waiting --------------------------------------------------------------------------------- */

struct str orchestrator_condition(int condition)
{
    struct str rest = STR(ORCHESTRATOR_CONDITIONS), word = str_cut(&rest, '|');

    while (condition-- > 0)
        word = str_cut(&rest, '|');
    return word;
}

/* Join the texts of a list; NULL: none. */
static const char *join_reply_texts(struct arena *arena, const struct value *list)
{
    const char *all = NULL;

    if (!list || !value_is(list, VALUE_LIST))
        return NULL;
    for (size_t i = 0; i < list->list->count; i++) {
        const struct value *one = &list->list->items[i];

        if (value_is_textual(one))
            all = all ? arena_printf(arena, "%s; %s", all, one->s.p) : one->s.p;
    }
    return all;
}

static int ask_condition(const struct tool *tool, const struct orchestrator_wait *wait,
                         struct message *ret, struct err *err)
{
    struct tool patient = *tool;
    const struct request_wait args = {
        .config = wait->config,
        .services = wait->services,
        .condition = arena_printf(tool->arena, "service_%.*s",
                                  STR_ARG(orchestrator_condition(wait->condition))),
        .now = wait->timeout == 0,
    };

    if (wait->timeout > 0)
        patient.timeout = wait->timeout;
    return orchestrator_ask(&patient, REQUEST_WAIT, &args, ret, err);
}

int orchestrator_wait(const struct tool *tool, const struct orchestrator_wait *wait,
                      const char **ret_unmet, bool *ret_final, struct err *err)
{
    struct orchestrator_wait again = *wait;
    struct message answer;
    const char *errors;

    if (ask_condition(tool, wait, &answer, err) < 0) {
        if (err->code != ERR_TIMEOUT || wait->timeout == 0)
            return -1;
        again.timeout = 0; /* the daemon knows the reason */
        if (ask_condition(tool, &again, &answer, err) < 0)
            return -1;
    }
    errors = join_reply_texts(tool->arena, value_get(&answer.body, "errors"));
    *ret_unmet =
        errors ? errors : join_reply_texts(tool->arena, value_get(&answer.body, "pending"));
    if (ret_final)
        *ret_final = errors != NULL;
    return 0;
}

/* --- configs --------------------------------------------------------------------------------- */

int orchestrator_read(const struct tool *tool, const char *config, bool with_text,
                      struct orchestrator_config *ret, struct err *err)
{
    const struct request_ask args = { .config = config, .with_text = with_text };
    const struct value *digest, *text;
    struct message answer;

    *ret = (struct orchestrator_config){ 0 };
    if (query_daemon(tool, REQUEST_STATUS, &args, &answer, err) < 0)
        return -1;
    if (is_orchestrator_reply(&answer, MESSAGE_UNKNOWN))
        return 0;
    if (!is_orchestrator_reply(&answer, MESSAGE_OK))
        return report_orchestrator_refusal(&answer, err);
    ret->known = true;
    ret->services = value_get(&answer.body, "services");
    digest = value_get(&answer.body, "digest");
    text = value_get(&answer.body, "text");
    if (digest && value_is_textual(digest))
        ret->digest = digest->s.p;
    if (text && value_is_textual(text))
        ret->text = text->s;
    return 0;
}

int orchestrator_check(const struct tool *tool, const char *config, struct str text,
                       struct err *err)
{
    const struct request_check args = { .config = config,
                                        .text = arena_strndup(tool->arena, text.p, text.n) };
    struct message ignored;

    if (memchr(text.p, '\0', text.n))
        return err_set(err, ERR_INVALID, "%s contains a NUL byte", config);
    return orchestrator_ask(tool, REQUEST_CHECK, &args, &ignored, err);
}

int orchestrator_start(const struct tool *tool, const struct orchestrator_start *start,
                       struct err *err)
{
    const struct request_start args = {
        .config = start->config,
        .services = start->services,
        .environment = orchestrator_environment(tool->arena),
        .text = start->text.p ? arena_strndup(tool->arena, start->text.p, start->text.n) : NULL,
        .lasting = start->anew,
    };
    const char *errors;
    struct message answer;

    if (orchestrator_ask(tool, start->anew ? REQUEST_RUN : REQUEST_START, &args, &answer, err) < 0)
        return -1;
    errors = join_reply_texts(tool->arena, value_get(&answer.body, "errors"));
    return errors ? err_set(err, ERR_INVALID, "kepler: %s", errors) : 0;
}

int orchestrator_stop(const struct tool *tool, const char *config, struct param_strs services,
                      bool forget, struct err *err)
{
    const struct request_stop args = { .config = config, .services = services, .clean = forget };
    struct message ignored;

    return orchestrator_ask(tool, REQUEST_STOP, &args, &ignored, err);
}
