/* kepler.running - installs a config of the orchestrator, and keeps its services up. */
#include <string.h>

#include "core/base/err.h"
#include "core/base/sha256.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/file/attrs.h"
#include "states/modules/file/content.h"
#include "states/modules/file/desired_file.h"
#include "states/modules/kepler/waits.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define ARGS struct running_args

/* A larger config is refused by the daemon. */
#define TEXT_MAX ((size_t)16 << 20)

struct running_args {
    const char *name;
    struct content_args content;
    const struct value *mode;
    const char *user, *group;
    bool makedirs;
    struct param_strs services;
    int condition;
    int64_t timeout;
};

/* clang-format off */
static const struct param running_params[] = {
    PARAM("name", PATH, ARGS, name, "the config", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "config,path"),
    PARAM("source", ANY, ARGS, content.source, "where the config comes from: a path in the state tree or on this machine, or a URL; or a list, of which the first that exists is used (default: the file that is there)"),
    PARAM("source_hash", STR, ARGS, content.trust.hash, "hash of the source: sha256=... (or sha512, sha1, md5), or a file of checksums"),
    PARAM("skip_verify", BOOL, ARGS, content.trust.skip_verify, "accept a download without a hash"),
    PARAM("contents", ANY, ARGS, content.contents, "the config itself: text, or a list of lines"),
    PARAM("template", ANY, ARGS, content.template, "render the config: true or 'jinja'"),
    PARAM("context", MAP, ARGS, content.context, "variables for the template"),
    PARAM("defaults", MAP, ARGS, content.defaults, "variables that 'context' does not set"),
    PARAM("mode", ANY, ARGS, mode, "permissions of an installed config; new files: 0644"),
    PARAM("user", STR, ARGS, user, "its owner: a name or number"),
    PARAM("group", STR, ARGS, group, "its group: a name or number"),
    PARAM("makedirs", BOOL, ARGS, makedirs, "create missing parent folders, with the owner of the file"),
    PARAM("services", STRS, ARGS, services, "services that must be up (default: all)"),
    PARAM("condition", CHOICE, ARGS, condition, "what to wait for", .choices = "started|healthy|completed_successfully", .default_text = "started"),
    PARAM("timeout", DURATION, ARGS, timeout, "how long to wait for it", .default_text = WAITS_TIMEOUT),
    { 0 },
};
/* clang-format on */

static int running_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct running_args *want = args;
    int result = content_validate(&want->content, where, diags);

    if (attrs_validate(want->mode, false, diags) < 0)
        result = -1;
    if (want->timeout == 0)
        result = value_diag(diags, value_point(where, "timeout"), "'timeout' must not be 0");
    return result;
}

enum kepler_action { ACTION_NONE, ACTION_START, ACTION_ANEW };
static const char *const action_words[] = { "none", "started", "restarted" };

/* The state on this machine. */
struct work {
    struct state_run *run;
    const struct running_args *want;
    struct tool tool;
    const char *path; /* canonical */
    bool managed;     /* the config comes with the state */
    struct desired_file wanted;
    struct str text; /* a NULL view: there is no file */
    struct orchestrator_config before;
    bool outdated;            /* another text is loaded */
    VEC(const char *) fallen; /* services that are not up, of those that should be */
    enum kepler_action action;
};

/* --- what is there ---------------------------------------------------------------------------- */

static int load_text(struct work *work, struct err *err)
{
    const struct running_args *want = work->want;
    struct content_args args = want->content;
    struct content content;

    args.path = want->name;
    if (content_get(work->run, &args, &content, err) < 0)
        return -1;
    work->managed = content.given;
    work->text = content.text;
    if (!content.given)
        return fs_read(work->run->arena, want->name, TEXT_MAX, &work->text, err);
    work->wanted = (struct desired_file){
        .path = want->name, .has_content = true, .content = content.text, .makedirs = want->makedirs
    };
    return attrs_read(work->run, want->mode, want->user, want->group, &work->wanted.attrs, err);
}

static const char *get_kepler_text(const struct value *map, const char *key)
{
    const struct value *found = value_is(map, VALUE_MAP) ? value_get(map, key) : NULL;

    return found && value_is_textual(found) ? found->s.p : "";
}

/* Does a service have to be started? One that is through has done its part unless the state names
 * it and waits for something else. */
static bool is_fallen(const struct work *work, const struct value *status)
{
    const enum waits_standing standing = waits_standing(status);

    if (standing == WAITS_THROUGH && work->want->services.n > 0)
        return strcmp(get_kepler_text(status, "status"), "exited") != 0 ||
               !str_is(orchestrator_condition(work->want->condition), "completed_successfully");
    return standing == WAITS_DOWN;
}

static bool is_service_meant(const struct running_args *want, const char *service)
{
    for (size_t i = 0; i < want->services.n; i++)
        if (strcmp(want->services.p[i], service) == 0)
            return true;
    return want->services.n == 0;
}

static void find_fallen_service(struct work *work)
{
    const struct value *services = work->before.services;

    if (!work->before.digest || !services || !value_is(services, VALUE_MAP))
        return;
    for (size_t i = 0; i < services->map->count; i++) {
        const struct value_pair *pair = &services->map->pairs[i];

        if (is_service_meant(work->want, pair->key.s.p) && is_fallen(work, &pair->value))
            VEC_PUSH_IN(work->run->arena, &work->fallen, pair->key.s.p);
    }
}

static enum kepler_action choose_action(const struct work *work)
{
    if (!work->before.digest)
        return ACTION_START;
    if (work->outdated || work->run->forced)
        return ACTION_ANEW;
    return work->fallen.n > 0 ? ACTION_START : ACTION_NONE;
}

static int read_kepler_daemon(struct work *work, bool with_text, struct err *err)
{
    char digest[SHA256_HEX_SIZE];

    work->path = orchestrator_path(work->run->arena, work->want->name);
    if (orchestrator_read(&work->tool, work->path, with_text, &work->before, err) < 0)
        return -1;
    if (!work->text.p) {
        work->action = ACTION_START;
        return 0;
    }
    sha256_hex(work->text.p, work->text.n, digest);
    work->outdated = work->before.digest && strcmp(work->before.digest, digest) != 0;
    find_fallen_service(work);
    work->action = choose_action(work);
    return orchestrator_check(&work->tool, work->path, work->text, err);
}

/* --- check ------------------------------------------------------------------------------------ */

static void tell_action(const struct work *work)
{
    struct state_run *run = work->run;
    const char *name = work->want->name;

    if (work->action == ACTION_NONE)
        return;
    if (!work->before.digest) {
        state_differs(run, "%s is not running", name);
        state_made(run, "started %s", name);
    } else if (work->action == ACTION_ANEW) {
        if (work->outdated)
            state_differs(run, "%s runs with another config", name);
        else
            state_differs(run, "%s needs to be restarted", name);
        state_made(run, "restarted %s", name);
    } else {
        VEC_EACH (&work->fallen, service) {
            state_differs(run, "service '%s' of %s is %s", *service, name,
                          get_kepler_text(value_get(work->before.services, *service), "status"));
            state_made(run, "started service '%s' of %s", *service, name);
        }
    }
}

static struct orchestrator_wait wait_of(const struct work *work)
{
    return (struct orchestrator_wait){ .config = work->path,
                                       .services = work->want->services,
                                       .condition = work->want->condition,
                                       .timeout = work->want->timeout };
}

static int check_daemon(struct work *work, struct err *err)
{
    const struct orchestrator_wait wait = wait_of(work);

    if (!work->text.p && !work->run->test)
        return err_set(err, ERR_NOT_FOUND,
                       "%s does not exist: set 'source' or 'contents', or require the state that "
                       "makes it",
                       work->want->name);
    tell_action(work);
    if (work->action != ACTION_NONE)
        return 0;
    return waits_check(work->run, &work->tool, &wait, work->want->name, err);
}

static struct work begin_kepler_work(struct state_run *run, const void *args)
{
    return (struct work){ .run = run, .want = args, .tool = run_tool(run) };
}

static int running_check(struct state_run *run, const void *args, struct err *err)
{
    struct work work = begin_kepler_work(run, args);

    if (load_text(&work, err) < 0 ||
        (work.managed && desired_file_check(run, &work.wanted, err) < 0))
        return -1;
    if (read_kepler_daemon(&work, false, err) == 0)
        return check_daemon(&work, err);
    if (!run->test || err->code != ERR_NOT_FOUND)
        return -1;
    /* An earlier state of the run may start it. */
    state_differs(run, "no kepler daemon is running, which %s needs", work.want->name);
    return 0;
}

/* --- apply ------------------------------------------------------------------------------------ */

static void put_kepler_value(struct state_run *run, struct value_map *map, const char *key,
                             struct value v)
{
    value_map_set(run->arena, map, value_text(key), v);
}

/* For revert: what ran, or what is started. */
static int note_before(struct work *work, struct err *err)
{
    struct state_run *run = work->run;
    struct value_list *fallen = value_list_new(run->arena, work->fallen.n);
    struct value_map *map = value_map_new(run->arena, 3);

    if (work->outdated)
        return state_note(run, "before", waits_describe(run, &work->before), err);
    if (work->action == ACTION_ANEW)
        return 0; /* the same runs again */
    VEC_EACH (&work->fallen, service)
        value_list_push(run->arena, fallen, value_text(*service));
    put_kepler_value(run, map, "known", value_bool(work->before.known));
    put_kepler_value(run, map, "loaded", value_bool(work->before.digest != NULL));
    put_kepler_value(run, map, "services", value_list(fallen));
    return state_note(run, "started", value_map(map), err);
}

static int start_kepler_services(struct work *work, struct err *err)
{
    const struct orchestrator_start start = {
        .config = work->path,
        .services = work->want->services,
        .text = work->text, /* the checked text, even if the file has changed since */
        .anew = work->action == ACTION_ANEW,
    };

    if (work->action == ACTION_NONE)
        return 0;
    if (note_before(work, err) < 0 || orchestrator_start(&work->tool, &start, err) < 0)
        return -1;
    state_say(work->run, "%s %s", action_words[work->action], work->want->name);
    return 0;
}

/* Returns whether anything was written. */
static int install_config(struct work *work, bool *ret_written, struct err *err)
{
    enum desired_file_done done = DESIRED_FILE_NOTHING;

    if (work->managed && desired_file_apply(work->run, &work->wanted, &done, err) < 0)
        return -1;
    *ret_written = done != DESIRED_FILE_NOTHING;
    return *ret_written ? desired_file_report(work->run, &work->wanted, done, err) : 0;
}

static int running_apply(struct state_run *run, const void *args, struct err *err)
{
    struct work work = begin_kepler_work(run, args);
    struct orchestrator_wait wait;
    bool written;

    if (load_text(&work, err) < 0 || read_kepler_daemon(&work, true, err) < 0 ||
        install_config(&work, &written, err) < 0 || start_kepler_services(&work, err) < 0)
        return -1;
    if (work.action == ACTION_NONE && !written)
        state_unchanged(run);
    state_detail(run, "config", "%s", work.path);
    state_detail(run, "action", "%s", action_words[work.action]);
    wait = wait_of(&work);
    return waits_until(run, &work.tool, &wait, work.want->name, err);
}

/* --- revert ----------------------------------------------------------------------------------- */

static bool get_flag(const struct value *map, const char *key)
{
    const struct value *found = value_get(map, key);

    return found && value_is_true(found);
}

static int stop_started(const struct work *work, const struct value *started, struct err *err)
{
    const struct param_strs all = { 0, NULL };
    const struct param_strs services =
        get_flag(started, "loaded") ? waits_texts(work->run->arena, value_get(started, "services"))
                                    : all;

    state_say(work->run, "stopped %s (revert)", work->want->name);
    return orchestrator_stop(&work->tool, work->path, services, !get_flag(started, "known"), err);
}

static int running_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct value *before = state_noted(run, "before"), *started = state_noted(run, "started");
    struct work work = begin_kepler_work(run, args);

    work.path = orchestrator_path(run->arena, work.want->name);
    if (started)
        return stop_started(&work, started, err);
    if (!before) {
        state_unchanged(run);
        return 0;
    }
    if (waits_restore(run, &work.tool, work.path, before, err) < 0)
        return -1;
    state_say(run, "restarted %s with its earlier config (revert)", work.want->name);
    return 0;
}

const struct module module_kepler_running = {
    .name = "kepler.running",
    .summary = "ensure that the services of a kepler config are running",
    .details =
        "The config is installed as file.managed does it, or is the file that is there. It is "
        "validated by the daemon before anything changes. A config that is not loaded is started; "
        "one that runs with another text, or whose watched state changed, is stopped and started "
        "anew, as 'kepler run' does. Services that have failed or were stopped are started again; "
        "those that have completed or were skipped are left alone unless 'services' names them. "
        "Then the state waits for the condition, which is, without 'services', that of each "
        "service as far as it applies: one without a health check is healthy when it is up.",
    .example = "name: /srv/web/kepler.yaml\nsource: zester://web/kepler.yaml\ncondition: healthy\n",
    .params = running_params,
    .args_size = sizeof(struct running_args),
    .validate = running_validate,
    .check = running_check,
    .apply = running_apply,
    .revert = running_revert,
};
