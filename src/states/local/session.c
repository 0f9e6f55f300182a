#include "states/local/session.h"

#include <string.h>

#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/compile/compile.h"
#include "states/facts/facts.h"
#include "states/local/functions.h"
#include "states/local/plan_cache.h"
#include "states/run/services.h"
#include "states/settings/settings.h"
#include "states/state/accumulators.h"
#include "states/state/outcome.h"
#include "states/state/variables.h"
#include "states/state/secrets.h"
#include "states/compile/builtin.h"
#include "states/compile/host_filters.h"
#include "states/compile/salt.h"
#include "states/compile/tree.h"
#include "core/runs/data_dir.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define SETTINGS_DIR      "/srv/zester/settings"
#define STATES_DIR        "/srv/zester/states"
#define SALT_STATES_DIR   "/srv/salt"
#define SALT_SETTINGS_DIR "/srv/pillar"
#define PACKAGE_LISTS     "/var/lib/dpkg/info"

int session_find_data_dir(struct arena *arena, const char **ret_folder, struct diags *diags)
{
    const char *folder = data_dir_find(arena);

    if (folder) {
        *ret_folder = folder;
        return 0;
    }
    (void)diag_add(diags, (struct place){ 0 }, "no folder for undo data: no home folder found");
    diag_hint(diags, "use --data-dir DIR, or set HOME");
    return -1;
}

/* File names are relative to the root of their tree; users need a path that can be opened. */
static const char *open_path(struct arena *arena, const char *root, const char *file)
{
    const char *path;
    struct fs_info info;
    struct err ignored;

    if (!file || file[0] == '/')
        return file;
    path = path_join(arena, root, file);
    return fs_stat(path, &info, &ignored) == 0 && info.kind == FS_FILE ? path : file;
}

static void open_paths(struct diags *diags, const char *root)
{
    VEC_EACH (&diags->list, diag) {
        diag->at.file = open_path(diags->arena, root, diag->at.file);
        VEC_EACH (&diag->notes, note)
            note->at.file = open_path(diags->arena, root, note->at.file);
    }
}

void session_open_paths(const struct session *session, struct diags *diags)
{
    if (session->tree)
        open_paths(diags, tree_root(session->tree));
}

void session_open_results(const struct session *session, struct arena *arena,
                          struct run_result *result)
{
    VEC_EACH (&result->states, state)
        if (session->tree && state->outcome == OUTCOME_FAILED)
            state->at.file = open_path(arena, tree_root(session->tree), state->at.file);
}

/* --- secrets in mistakes --------------------------------------------------------------- */

static const char *mask_session_text(struct secrets *secrets, struct arena *arena, const char *text)
{
    return text ? arena_str(arena, secrets_masked(secrets, arena, str_from(text))).p : NULL;
}

static void mask_diags(struct secrets *secrets, struct diags *diags)
{
    VEC_EACH (&diags->list, diag) {
        diag->text = mask_session_text(secrets, diags->arena, diag->text);
        diag->hint = mask_session_text(secrets, diags->arena, diag->hint);
        diag->source = secrets_masked(secrets, diags->arena, diag->source);
        VEC_EACH (&diag->notes, note)
            note->text = mask_session_text(secrets, diags->arena, note->text);
    }
}

void session_mask_diags(const struct session *session, struct diags *diags)
{
    mask_diags(session->host.secrets, diags);
}

static bool is_session_folder(const char *path)
{
    struct fs_info info;
    struct err ignored;

    return fs_stat(path, &info, &ignored) == 0 && info.kind == FS_FOLDER;
}

static bool is_missing_path(const char *path)
{
    struct fs_info info;
    struct err ignored;

    return fs_stat(path, &info, &ignored) == 0 && info.kind == FS_NONE;
}

/* The requested one; else ours; else Salt's, if only that exists. */
static const char *find_session_folder(const char *given, const char *ours, const char *salts)
{
    if (given)
        return given;
    return !is_session_folder(ours) && is_session_folder(salts) ? salts : ours;
}

const char *session_find_states(const char *given)
{
    return find_session_folder(given, STATES_DIR, SALT_STATES_DIR);
}

const char *session_find_settings(const char *given)
{
    return find_session_folder(given, SETTINGS_DIR, SALT_SETTINGS_DIR);
}

static int open_session_tree(struct session *session, const struct session_options *options,
                             enum session_need need, struct diags *diags)
{
    const char *root = session_find_states(options->states_dir);
    struct fs_info info;
    struct err err;

    if (need & SESSION_TREELESS)
        return 0;
    if (fs_stat(root, &info, &err) < 0)
        return diag_err(diags, (struct place){ 0 }, &err);
    if (info.kind == FS_FOLDER) {
        session->salt_tree = strcmp(root, SALT_STATES_DIR) == 0 && !options->states_dir;
        session->tree = tree_new(root, &err);
        return session->tree ? 0 : diag_err(diags, (struct place){ 0 }, &err);
    }
    if (!(need & SESSION_TREE) && !options->states_dir)
        return 0;
    if (info.kind == FS_NONE)
        (void)diag_add(diags, (struct place){ 0 }, "states folder '%s' does not exist", root);
    else
        (void)diag_add(diags, (struct place){ 0 }, "states folder '%s' is a %s, not a folder", root,
                       fs_kind_name(info.kind));
    diag_hint(diags, options->states_dir ? "name a folder of state files with --states-dir DIR"
                                         : "create it, or use --states-dir DIR");
    return -1;
}

void session_hide_secrets(const struct session *session, const struct value *v)
{
    secrets_add_marked(session->host.secrets, v);
}

/* Facts are published: all machines can read them. */
static int refuse_secret(const struct state_host *host, const char *key, const struct value *v,
                         struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value shown = value_copy(&arena, v);

    secrets_mask_value(host->secrets, &arena, &shown);
    return value_equal(&shown, v)
               ? 0
               : err_set(err, ERR_INVALID, "'%s' is not set: a fact cannot hold a secret", key);
}

static int set_fact(const struct state_host *host, const char *key, const struct value *v,
                    struct err *err)
{
    if (refuse_secret(host, key, v, err) < 0)
        return -1;
    return facts_set(host->facts_file, str_from(key), v, err);
}

/* The machine may have changed, so given facts are dropped. */
static int reload_session_facts(struct state_host *host, struct err *err)
{
    struct session *session = container_of(host, struct session, host);
    struct diags diags = DIAGS_INIT(&session->arena);
    const struct facts_options about = { .id = session->id, .file = host->facts_file };

    if (facts_collect(&session->arena, &about, &host->facts, &diags) < 0)
        return diags_to_err(&diags, err);
    host->grains = facts_grains(&session->arena, host->facts);
    return 0;
}

/* The custom facts were read before; if the file is invalid now, it is left out. */
static void collect_facts(struct session *session)
{
    struct diags ignored = DIAGS_INIT(&session->facts_arena);
    struct facts_options about = { .id = session->id, .file = session->host.facts_file };
    const struct value *facts;

    if (facts_collect(&session->facts_arena, &about, &facts, &ignored) < 0) {
        about.families = FACTS_ALL & ~(unsigned)FACTS_CUSTOM;
        if (facts_collect(&session->facts_arena, &about, &facts, &ignored) < 0)
            facts = session->early;
    }
    session->learned = (struct host_facts){ facts, facts_grains(&session->facts_arena, facts) };
}

static const struct host_facts *learn_facts(void *user)
{
    struct session *session = user;

    pthread_mutex_lock(&session->lock);
    if (!session->learned.facts)
        collect_facts(session);
    pthread_mutex_unlock(&session->lock);
    return &session->learned;
}

/* Use the given facts; else only the ID, and check that the others can be collected. */
static int init_facts(struct session *session, const struct session_options *options,
                      struct diags *diags)
{
    const struct facts_options about = { .id = options->id,
                                         .file = options->facts_file,
                                         .families = FACTS_ID | FACTS_CUSTOM };
    const struct value *facts = options->facts, *id;

    session->host.facts = facts;
    session->host.learn_facts = learn_facts;
    session->host.facts_user = session;
    if (facts)
        session->host.grains =
            options->grains ? options->grains : facts_grains(&session->arena, facts);
    else if (facts_collect(&session->arena, &about, &facts, diags) < 0)
        return -1;
    session->early = facts;
    id = value_get(facts, "id");
    session->host.peel_id = value_is(id, VALUE_STR) ? id->s.p : "local";
    return 0;
}

static int load_session_settings(struct session *session, const struct session_options *options,
                                 struct diags *diags)
{
    struct builtin_context salt = { .host = &session->host };
    const struct settings_options where = {
        .folder = session_find_settings(options->settings_dir),
        .environment = options->environment,
        .strict_templates = !options->lenient,
        .grains = host_grains(&session->host),
        .subject = { .id = str_from(session->host.peel_id), .facts = host_facts(&session->host) },
        .builtins = host_filters_builtins(&session->arena),
        .salt = salt_dispatch,
        .salt_names = salt_names,
        .salt_user = &salt,
    };

    if (settings_load(&session->arena, &where, &session->host.settings, diags) == 0)
        return 0;
    open_paths(diags, where.folder);
    return -1;
}

/* Use the given settings, else those of the folder, which need not exist. */
static int learn_settings(struct session *session, const struct session_options *options,
                          struct diags *diags)
{
    session->nothing = value_map(value_map_new(&session->arena, 0));
    session->host.settings = options->settings ? options->settings : &session->nothing;
    if (!options->settings &&
        (options->settings_dir || !is_missing_path(SETTINGS_DIR) ||
         !is_missing_path(SALT_SETTINGS_DIR)) &&
        load_session_settings(session, options, diags) < 0)
        return -1;
    session_hide_secrets(session, session->host.settings);
    return 0;
}

static void fill_session(struct session *session, const struct session_options *options)
{
    *session = (struct session){ .arena = ARENA_INIT_LARGE,
                                 .id = options->id,
                                 .lock = PTHREAD_MUTEX_INITIALIZER,
                                 .plan_cache = options->plan_cache,
                                 .facts_version = options->facts_version,
                                 .settings_version = options->settings_version,
                                 .facts_arena = ARENA_INIT };
    session->host = (struct state_host){
        .services = &run_services,
        .environment = options->environment,
        .settings_environment = options->environment,
        .data_dir = options->data_dir,
        .secrets = secrets_new(),
        .variables = variables_new(),
        .accumulators = accumulators_new(),
        .cancel = options->cancel,
        .facts_file = options->facts_file ? options->facts_file : FACTS_FILE,
        .package_lists = PACKAGE_LISTS,
        .strict_params = !options->loose,
        .strict_templates = !options->lenient,
        .test = options->test,
        .is_elsewhere = options->is_elsewhere,
        .parallel = (unsigned)options->parallel,
        .set_fact = set_fact,
        .log = options->log,
        .reload_facts = reload_session_facts,
        .fire = options->fire,
        .fire_user = options->fire_user,
        .send_event = options->send_event,
        .list_functions = options->send_event ? functions_list_agent : functions_list,
        .basket = options->basket,
        .fleet = options->fleet,
        .steps_only = options->steps_only,
    };
}

/* Modules and programs work in folders of their own, so a path must not depend on ours. */
static struct session_options make_absolute(struct arena *arena,
                                            const struct session_options *options)
{
    struct session_options own = *options;
    const char **const paths[] = { &own.states_dir, &own.settings_dir, &own.data_dir };

    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (*paths[i] && **paths[i])
            *paths[i] = path_from_here(arena, *paths[i]);
    return own;
}

int session_init(struct session *session, const struct session_options *given,
                 enum session_need need, struct diags *diags)
{
    struct session_options own;
    const struct session_options *options = &own;

    fill_session(session, given);
    own = make_absolute(&session->arena, given);
    session->host.data_dir = own.data_dir;
    if (!options->data_dir &&
        session_find_data_dir(&session->arena, &session->host.data_dir, diags) < 0)
        return -1;
    /* A machine may be a target of its own orchestration: one run must not wait for the other. */
    if (!options->data_dir && options->fleet)
        session->host.data_dir = path_join(&session->arena, session->host.data_dir, "orchestrate");
    if (open_session_tree(session, options, need, diags) < 0)
        return -1;
    session->host.tree = session->tree; /* before the settings, which may ask for its files */
    return init_facts(session, options, diags) < 0 ? -1 : learn_settings(session, options, diags);
}

int session_compile(struct session *session, const struct compile_wish *wish,
                    const struct plan **ret_plan, struct diags *diags)
{
    const struct plan_cache_request request = { .host = &session->host,
                                                .wish = wish,
                                                .facts = session->facts_version,
                                                .settings = session->settings_version };

    if (session->held || !plan_cache_is_for(session->plan_cache, &request))
        return compile_wish(&session->arena, &session->host, wish, ret_plan, diags);
    return plan_cache_compile(session->plan_cache, &request, &session->held, ret_plan, diags);
}

void session_done(struct session *session)
{
    plan_cache_release(session->held);
    tree_free(session->tree);
    secrets_free(session->host.secrets);
    variables_free(session->host.variables);
    accumulators_free(session->host.accumulators);
    arena_done(&session->facts_arena);
    arena_done(&session->arena);
}
