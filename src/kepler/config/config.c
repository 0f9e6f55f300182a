#include "kepler/config/config.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/data/yaml.h"
#include "language/lua/expr.h"
#include "language/lua/sandbox.h"
#include "kepler/config/config_read.h"
#include "kepler/config/environment.h"
#include "kepler/config/requirement.h"
#include "kepler/config/script.h"
#include "core/sys/path.h"

#define MS          INT64_C(1000000)
#define TIMEOUT_MAX (INT64_C(365) * 86400 * 1000 * MS)
#define OUTPUT_MIN  1
#define OUTPUT_MAX  (INT64_C(1) << 30)
#define TREE_DEPTH  200 /* more than YAML allows */
#define ENTRIES_MAX 10000

struct root_args {
    const struct value *version, *lua, *kepler, *services;
};

#define ARGS struct root_args
const struct param config_root_params[] = {
    PARAM("version", ANY, ARGS, version, "the versions of kepler that can read the file",
          .kind_text = "version range"),
    PARAM("lua", ANY, ARGS, lua, "code that runs before all expressions", .kind_text = "Lua"),
    PARAM("kepler", ANY, ARGS, kepler, "settings of the whole file", .kind_text = "map"),
    PARAM("services", ANY, ARGS, services, "the services", .kind_text = "map"),
    { 0 },
};
#undef ARGS

enum storage { STORAGE_LOCAL, STORAGE_NFS };

struct kepler_args {
    bool default_inherit_env;
    enum storage storage;
    int64_t timeout, output_max_size;
    const char *zester_data;
    const struct value *autostart, *logs, *acl, *monitor;
};

#define ARGS struct kepler_args
const struct param config_kepler_params[] = {
    PARAM("default_inherit_env", BOOL, ARGS, default_inherit_env,
          "default for inherit_env of services", .default_text = "true"),
    PARAM("storage", CHOICE, ARGS, storage, "file system of the state folder",
          .choices = "local|nfs", .default_text = "local"),
    PARAM("timeout", DURATION, ARGS, timeout, "default timeout of dependencies",
          PARAM_RANGE(MS, TIMEOUT_MAX)),
    PARAM("output_max_size", SIZE, ARGS, output_max_size, "maximum size of outputs in bytes",
          .default_text = "1MB", PARAM_RANGE(OUTPUT_MIN, OUTPUT_MAX)),
    PARAM("zester_data", PATH, ARGS, zester_data,
          "data folder of zester, for states in 'depends_on'", .kind_text = "DIR"),
    PARAM("autostart", ANY, ARGS, autostart, "start with the daemon", .kind_text = "bool or map"),
    PARAM("logs", ANY, ARGS, logs, "how lines are stored", .kind_text = "map"),
    PARAM("acl", ANY, ARGS, acl, "who else may use the config", .kind_text = "map"),
    PARAM("monitor", ANY, ARGS, monitor, "metrics of services", .kind_text = "map"),
    { 0 },
};
#undef ARGS

struct autostart_args {
    const struct value *environment;
};

#define ARGS struct autostart_args
const struct param config_autostart_params[] = {
    PARAM("environment", LIST, ARGS, environment, "names to keep and NAME=value",
          .flags = PARAM_REQUIRED),
    { 0 },
};
#undef ARGS

/* --- what scripts see at load ---------------------------------------------------------------- */

struct loading {
    struct config_reader reader;
    struct config *config;
    const struct config_source *source;
    struct environment *kepler_env;
    struct script script;
    struct map *names;
};

static int provide_config_globals(void *user, struct sandbox *sandbox, struct err *err)
{
    struct loading *l = user;
    struct arena *arena = l->reader.arena;
    struct value env = config_vars(l->config, l->kepler_env, arena);
    struct value_map *kepler = value_map_new(arena, 2), *owner = value_map_new(arena, 2);
    struct value v = value_map(kepler), o = value_map(owner);

    value_map_set(arena, kepler, value_text("env"), env);
    value_map_set(arena, kepler, value_text("flags"), *l->config->flags);
    value_map_set(arena, owner, value_text("uid"), value_int(l->config->owner.uid));
    value_map_set(arena, owner, value_text("gid"), value_int(l->config->owner.gid));
    if (l->config->autostart)
        sandbox_guard(sandbox, &env, "declare it in 'kepler.autostart.environment'");
    if (sandbox_set(sandbox, "kepler", &v, err) < 0)
        return -1;
    return sandbox_set(sandbox, "owner", &o, err);
}

/* --- kepler env -------------------------------------------------------------------------- */

/* A bare name is copied from the caller; NAME=value may have expressions, which see the entries
 * before it. */
static int declare_variable(struct loading *l, const struct value *item)
{
    struct diags *diags = l->reader.diags;
    const char *inherited;
    struct value v;
    struct err err;

    if (script_eval(&l->script, item, l->reader.arena, &v, diags) < 0)
        return -1;
    if (v.kind != VALUE_STR)
        return value_diag(diags, item, "'environment' must be NAME or NAME=value, got %s",
                          value_describe(&v));
    script_touch(&l->script);
    if (environment_is_name(v.s)) {
        VEC_PUSH_IN(l->reader.arena, &l->config->declared, v.s);
        if (l->source->kepler_env)
            return 0;
        inherited = l->source->cli_env ? environment_find(l->source->cli_env, v.s) : NULL;
        if (inherited)
            environment_set(l->kepler_env, v.s, str_from(inherited));
        return 0;
    }
    if (!l->source->kepler_env && environment_add(l->kepler_env, v.s, &err) < 0)
        return value_diag(diags, item, "%s", err.text);
    return 0;
}

static int declare_all(struct loading *l, const struct value *list)
{
    int result = 0;

    if (list->list->count > ENTRIES_MAX)
        return value_diag(l->reader.diags, list, "'environment' has more than %d entries",
                          ENTRIES_MAX);
    for (size_t i = 0; i < list->list->count; i++)
        if (declare_variable(l, &list->list->items[i]) < 0)
            result = -1;
    return result;
}

/* With autostart only declared variables are kept, since they go to disk. */
static int read_autostart(struct loading *l, const struct value *v)
{
    struct params_policy policy = config_policy("'kepler.autostart'");
    struct autostart_args args = { 0 };

    if (!v)
        return 0;
    if (v->kind == VALUE_BOOL) {
        l->config->autostart = v->b;
        return 0;
    }
    if (v->kind != VALUE_MAP)
        return value_diag(l->reader.diags, v,
                          "'autostart' must be true, false or a map with 'environment', got %s",
                          value_describe(v));
    l->config->autostart = true;
    if (params_decode(l->reader.arena, config_autostart_params, &policy, v, &args,
                      l->reader.diags) < 0)
        return -1;
    l->config->kept = args.environment;
    return declare_all(l, args.environment);
}

static void capture_environment(struct loading *l)
{
    if (!l->source->kepler_env && !l->config->autostart && l->source->cli_env)
        environment_capture(l->kepler_env, l->source->cli_env);
    script_touch(&l->script);
}

/* --- sections of the whole file ---------------------------------------------------------- */

static int read_required_version(struct loading *l, const struct value *v)
{
    struct diags *diags = l->reader.diags;
    bool holds;
    struct err err;

    if (!v)
        return 0;
    if (v->kind != VALUE_STR) {
        (void)value_diag(diags, v, "'version' must be text, got %s", value_describe(v));
        diag_hint(diags, "put it in quotes: \">=0.15\"");
        return -1;
    }
    if (requirement_check(v->s, STR(CONFIG_VERSION), &holds, &err) < 0)
        return value_diag(diags, v, "'version': %s", err.text);
    if (!holds)
        return value_diag(diags, v, "config requires kepler '%.*s', this is " CONFIG_VERSION,
                          STR_ARG(v->s));
    return 0;
}

static int read_logs(struct loading *l, const struct value *v)
{
    struct config_reader *r = &l->reader;
    struct value evaluated = value_null();

    if (v && script_eval(&l->script, v, r->arena, &evaluated, r->diags) < 0)
        return -1;
    return config_logs_read_global(r->arena, &evaluated, &l->config->logs, r->diags);
}

static bool is_section(const struct value_pair *pair, const char *name)
{
    return value_is(&pair->key, VALUE_STR) && str_is(pair->key.s, name);
}

/* Evaluates computed settings once, except for the environment, which expressions see, and for logs
 * and rules, which have their own readers. */
static int eval_settings(struct loading *l, const struct value *v, struct value *ret)
{
    struct config_reader *r = &l->reader;
    struct value_map *map;
    int result = 0;

    *ret = v ? *v : value_null();
    if (!v || v->kind != VALUE_MAP || !expr_is_dynamic(v))
        return 0;
    map = value_map_new(r->arena, v->map->count);
    for (size_t i = 0; i < v->map->count; i++) {
        const struct value_pair *pair = &v->map->pairs[i];
        const bool later =
            is_section(pair, "autostart") || is_section(pair, "logs") || is_section(pair, "acl");
        struct value evaluated = pair->value;

        if (!later && script_eval(&l->script, &pair->value, r->arena, &evaluated, r->diags) < 0)
            result = -1;
        value_map_set(r->arena, map, pair->key, evaluated);
    }
    *ret = value_at(value_map(map), v);
    return result;
}

static int read_kepler(struct loading *l, const struct value *v)
{
    struct params_policy policy = config_policy("'kepler'");
    struct config_reader *r = &l->reader;
    struct kepler_args args = { 0 };
    struct value settings;
    int result = 0;

    if (read_autostart(l, config_given(v ? value_get(v, "autostart") : NULL)) < 0)
        result = -1;
    capture_environment(l);
    if (eval_settings(l, v, &settings) < 0)
        return -1;
    if (params_decode(r->arena, config_kepler_params, &policy, v ? &settings : NULL, &args,
                      r->diags) < 0)
        result = -1;
    l->config->has_kepler = v != NULL;
    l->config->default_inherit_env = args.default_inherit_env;
    l->config->output_max_size = args.output_max_size;
    l->config->zester_data = args.zester_data;
    l->config->logs.sync = args.storage == STORAGE_NFS;
    r->edge_timeout = l->config->timeout = args.timeout;
    if (config_acl_read(r, config_given(args.acl)) < 0)
        result = -1;
    if (config_given(args.monitor) &&
        config_monitor_read(r->arena, args.monitor, &l->config->monitor, r->diags) < 0)
        result = -1;
    if (read_logs(l, config_given(args.logs)) < 0)
        result = -1;
    return result;
}

static int read_lua(struct loading *l, const struct value *v)
{
    if (!v)
        return 0;
    if (v->kind != VALUE_STR)
        return value_diag(l->reader.diags, v, "'lua' must be code as text, got %s",
                          value_describe(v));
    l->config->lua = v;
    l->script.chunk = v;
    return 0;
}

/* --- services ---------------------------------------------------------------------------- */

static int check_service_name(const struct value *key, struct diags *diags)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";

    if (key->kind != VALUE_STR) {
        (void)value_diag(diags, key, "a service name must be text, not %s", value_describe(key));
        diag_hint(diags, "put it in quotes");
        return -1;
    }
    if (key->s.n > CONFIG_NAME_MAX)
        return value_diag(diags, key, "a service name exceeds the limit of %d characters",
                          CONFIG_NAME_MAX);
    if (key->s.n > 0 && strspn(key->s.p, allowed) == key->s.n)
        return 0;
    (void)value_diag(diags, key, "'%.*s' is not a valid service name", STR_ARG(key->s));
    diag_hint(diags, "use a to z, 0 to 9, '_' and '-'");
    return -1;
}

static int name_services(struct loading *l, const struct value *v)
{
    struct config *config = l->config;
    int result = 0;

    if (v->map->count > CONFIG_SERVICES_MAX)
        return value_diag(l->reader.diags, v, "more than the limit of %d services",
                          CONFIG_SERVICES_MAX);
    config->services = ARENA_ARRAY(l->reader.arena, struct config_service, v->map->count);
    config->service_count = (uint32_t)v->map->count;
    for (uint32_t i = 0; i < config->service_count; i++) {
        const struct value *key = &v->map->pairs[i].key;

        config->services[i].name = key->kind == VALUE_STR ? key->s.p : "?";
        config->services[i].at = value_place(key);
        if (check_service_name(key, l->reader.diags) < 0)
            result = -1;
        else
            (void)map_set(l->names, key->s, (void *)((uintptr_t)i + 1));
    }
    return result;
}

static int read_services(struct loading *l, const struct value *v)
{
    int result;

    if (!v)
        return config_check_graph(&l->reader);
    if (v->kind != VALUE_MAP || value_tag(v))
        return value_diag(l->reader.diags, v, "'services' must be a map, got %s",
                          value_describe(v));
    result = name_services(l, v);
    for (uint32_t i = 0; i < l->config->service_count; i++)
        if (config_service_read(&l->reader, &v->map->pairs[i].value, &l->config->services[i]) < 0)
            result = -1;
    return config_check_graph(&l->reader) < 0 ? -1 : result;
}

/* --- the file ---------------------------------------------------------------------------- */

/* Tags other than !lua mean nothing here. Recurses as deep as YAML allows. */
static int check_yaml_tags(const struct value *v, int depth, struct diags *diags)
{
    const char *tag = value_tag(v);
    int result = 0;

    if (tag && strcmp(tag, "!lua") != 0)
        return value_diag(diags, v, "unknown tag '%s' (only '!lua' is supported)", tag);
    if (depth > TREE_DEPTH)
        return value_diag(diags, v, "nested deeper than the limit of %d levels", TREE_DEPTH);
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        if (check_yaml_tags(&v->list->items[i], depth + 1, diags) < 0)
            result = -1;
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        if (check_yaml_tags(&v->map->pairs[i].value, depth + 1, diags) < 0)
            result = -1;
    return result;
}

/* Keys that begin with "x-" are the user's own, as in Compose: a place for anchors. */
static const char *const *own_keys(struct arena *arena, const struct value *document)
{
    const size_t count = value_is(document, VALUE_MAP) ? document->map->count : 0;
    const char **keys = ARENA_ARRAY(arena, const char *, count + 1);
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        const struct value *key = &document->map->pairs[i].key;

        if (key->kind == VALUE_STR && str_starts(key->s, STR("x-")))
            keys[n++] = key->s.p;
    }
    return keys;
}

static int read_root(struct loading *l, const struct value *document)
{
    struct params_policy policy = config_policy(NULL);
    struct root_args args = { 0 };
    int result = check_yaml_tags(document, 0, l->reader.diags);

    policy.allowed = own_keys(l->reader.arena, document);
    if (params_decode(l->reader.arena, config_root_params, &policy, document, &args,
                      l->reader.diags) < 0)
        result = -1;
    if (read_required_version(l, config_given(args.version)) < 0)
        result = -1;
    if (read_lua(l, config_given(args.lua)) < 0)
        result = -1;
    if (read_kepler(l, config_given(args.kepler)) < 0)
        result = -1;
    if (l->config->lua && !l->script.sandbox &&
        script_start(&l->script, l->config->lua, l->reader.diags) < 0)
        result = -1;
    if (read_services(l, config_given(args.services)) < 0)
        result = -1;
    return result;
}

static int parse_config_text(struct arena *arena, const char *path, struct str text,
                             struct value *ret, struct diags *diags)
{
    static const struct yaml_options options = { .dialect = YAML_DIALECT_1_2,
                                                 .size_max = CONFIG_FILE_MAX,
                                                 .tags = yaml_all_tags }; /* check_tags */

    return yaml_parse(arena, path, text, &options, ret, diags);
}

static struct config *new_config(struct arena *arena, const struct config_source *source)
{
    struct config *config = ARENA_NEW(arena, struct config);
    struct value *flags = ARENA_NEW(arena, struct value);

    *flags = source->flags ? value_copy(arena, source->flags) : value_map(value_map_new(arena, 0));
    config->path = arena_strdup(arena, source->path);
    config->folder = path_dirname(arena, source->path);
    config->owner = source->owner;
    config->hardening = source->hardening;
    config->ceiling = source->ceiling;
    config->flags = flags;
    return config;
}

/* One line each: for logs and for stderr. */
static void keep_warnings(struct arena *arena, struct diags *warned, struct config *config)
{
    diags_sort(warned, 0);
    VEC_EACH (&warned->list, one) {
        AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

        place_print(one->at, &out);
        buf_printf(&out, ": %s", one->text);
        if (one->hint)
            buf_printf(&out, " (%s)", one->hint);
        VEC_PUSH_IN(arena, &config->warnings, arena_strdup(arena, buf_text(&out)));
    }
}

int config_load(struct arena *arena, const struct config_source *source, const struct config **ret,
                struct diags *diags)
{
    struct config *config = new_config(arena, source);
    struct diags warned = DIAGS_INIT(arena);
    struct loading l = {
        .reader = { .arena = arena, .diags = diags, .config = config, .warned = &warned },
        .config = config,
        .source = source,
        .kepler_env = environment_copy(arena, NULL),
        .names = ARENA_NEW(arena, struct map),
    };
    size_t before = diags->list.n;
    struct value document;
    int result;

    if (source->text.n > CONFIG_FILE_MAX)
        return diag_add(diags, (struct place){ .file = config->path },
                        "the file exceeds the limit of %zu MiB", CONFIG_FILE_MAX >> 20);
    config->text = arena_str(arena, source->text);
    config->kepler_env = l.kepler_env;
    script_init(&l.script, config, provide_config_globals, &l);
    l.reader.script = &l.script;
    *l.names = (struct map)MAP_INIT_IN(arena);
    l.reader.names = config->names = l.names;
    if (source->kepler_env)
        environment_merge(l.kepler_env, source->kepler_env);
    result = parse_config_text(arena, config->path, config->text, &document, diags);
    if (result == 0)
        result = read_root(&l, &document);
    script_done(&l.script);
    diags_sort(diags, before);
    keep_warnings(arena, &warned, config);
    if (result < 0 && diags->list.n == before && diags->dropped == 0)
        (void)diag_add(diags, (struct place){ config->path, 1, 1 },
                       "refused for a reason that was not reported: this is a bug in kepler");
    if (result == 0)
        *ret = config;
    return result;
}

int config_check_code(struct arena *arena, const struct config_source *source, struct diags *diags)
{
    struct sandbox *sandbox;
    const struct value *services;
    struct value document;
    int result;

    if (parse_config_text(arena, source->path, source->text, &document, diags) < 0)
        return -1;
    services = value_get(&document, "services");
    if (!services || !expr_is_dynamic(services))
        return 0;
    sandbox = sandbox_new(NULL);
    result = expr_check(sandbox, services, diags);
    sandbox_free(sandbox);
    diags_sort(diags, 0);
    return result;
}

struct value config_vars(const struct config *config, const struct environment *env,
                         struct arena *arena)
{
    struct value vars = environment_value(env, arena);

    VEC_EACH (&config->declared, name)
        if (!environment_find(env, *name))
            value_map_set(arena, vars.map, value_str(*name), value_null());
    return vars;
}

bool config_is_limited(const struct config_service *service)
{
    return service->start_limit_ends && service->start_limit_count > 0;
}

int64_t config_find(const struct config *config, const char *name)
{
    return (int64_t)(uintptr_t)map_find(config->names, str_from(name)) - 1;
}
