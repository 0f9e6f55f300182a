/* Command, folder and user of a program, after evaluation. */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "kepler/config/config_read.h"
#include "kepler/config/dotenv.h"
#include "kepler/config/resolve_scope.h"
#include "core/sys/account.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/rights.h"

/* Services never join the group whose members may control the daemon. */
#define DAEMON_GROUP  "kepler"
#define ENTRIES_MAX   10000
#define ARGUMENTS_MAX 100000
/* A file is written beside its name, with a longer one. */
#define COPY_NAME_MAX 200

/* --- environment ------------------------------------------------------------------------------ */

/* "a" with "b_x" and "a_b" with "x" would share one file: the longer name gets it. */
static bool belongs_to_other_service(const struct config *config, const char *service,
                                     struct str name)
{
    for (uint32_t i = 0; i < config->service_count; i++) {
        struct str other = str_from(config->services[i].name);

        if (other.n > strlen(service) && str_starts(name, other) && name.p[other.n] == '_')
            return true;
    }
    return false;
}

const char *resolve_env_file_copy(struct arena *arena, const char *folder,
                                  const struct config *config, const char *service,
                                  const char *path)
{
    struct str base = path_basename(path);
    const char *name = arena_printf(arena, "%s_%.*s", service, STR_ARG(base));
    char hash[SHA256_HEX_SIZE];

    if (strlen(name) > COPY_NAME_MAX || belongs_to_other_service(config, service, str_from(name))) {
        sha256_hex(path, strlen(path), hash);
        name = arena_printf(arena, "%s.%s", service, hash);
    }
    return path_join(arena, folder, name);
}

/* The copy of the service's own file that was kept at load, else the file as its owner may read it;
 * a NULL view when there is neither. */
static int read_program_file(struct resolver *r, const char *path, bool kept, struct str *ret,
                             struct err *err)
{
    const char *copies = r->context->env_files;
    struct rights rights;

    *ret = (struct str){ NULL, 0 };
    if (copies && kept) {
        const char *copy =
            resolve_env_file_copy(r->arena, copies, r->config, r->service->name, path);

        if (fs_read(r->arena, copy, RESOLVE_ENV_FILE_MAX, ret, err) < 0)
            return -1;
        if (ret->p)
            return 0;
    }
    if (rights_load(r->arena, r->config->owner.uid, r->config->owner.gid, &rights, err) < 0)
        return -1;
    return rights_read(&rights, r->arena, path, RESOLVE_ENV_FILE_MAX, ret, err);
}

/* A missing file is not an error: optional settings are kept that way. */
static int add_env_file(struct resolver *r, const struct config_program *program,
                        struct environment *full, struct environment *child,
                        struct environment *ret_file)
{
    const struct value *v = program->env_file;
    const char *path;
    struct str text;
    struct err err;

    if (resolve_scope_text(r, v, "env_file", &path) < 0)
        return -1;
    if (!path || !*path)
        return 0;
    path = path_join(r->arena, r->config->folder, path);
    if (read_program_file(r, path, program == &r->service->program, &text, &err) < 0)
        return value_diag(r->diags, v, "'env_file': %s", err.text);
    if (!text.p)
        return 0;
    if (dotenv_parse(path, text, full, ret_file, r->diags) < 0)
        return -1;
    environment_merge(full, ret_file);
    if (child != full)
        environment_merge(child, ret_file);
    script_touch(&r->script);
    return 0;
}

static int set_environment_pair(struct resolver *r, struct str pair, const struct value *where,
                                struct environment *full, struct environment *child)
{
    struct err err;

    if (environment_add(full, pair, &err) < 0 ||
        (child != full && environment_add(child, pair, &err) < 0))
        return value_diag(r->diags, where, "'environment': %s", err.text);
    script_touch(&r->script);
    return 0;
}

/* nil adds nothing, so that an entry may be optional. */
static int add_environment_pair(struct resolver *r, const struct value *item,
                                struct environment *full, struct environment *child)
{
    const char *text;

    if (resolve_scope_text(r, item, "environment", &text) < 0)
        return -1;
    return text ? set_environment_pair(r, str_from(text), item, full, child) : 0;
}

static int add_environment_entry(struct resolver *r, const struct value_pair *pair,
                                 struct environment *full, struct environment *child)
{
    const char *name, *text;

    if (resolve_scope_print(r, &pair->key, "environment", &name) < 0 ||
        resolve_scope_text(r, &pair->value, "environment", &text) < 0)
        return -1;
    text = arena_printf(r->arena, "%s=%s", name ? name : "", text ? text : "");
    return set_environment_pair(r, str_from(text), &pair->value, full, child);
}

/* Entry by entry, since each sees those before it. */
static int resolve_environment(struct resolver *r, const struct value *v, struct environment *full,
                               struct environment *child)
{
    struct value all = *v;
    size_t count;
    int result = 0;

    if (v->kind == VALUE_STR && resolve_scope_eval(r, v, &all) < 0)
        return -1;
    if (all.kind == VALUE_NULL)
        return 0;
    if (all.kind != VALUE_LIST && all.kind != VALUE_MAP)
        return value_diag(r->diags, v,
                          "'environment' must be a list of NAME=value or a map, got %s",
                          value_describe(&all));
    count = all.kind == VALUE_LIST ? all.list->count : all.map->count;
    if (count > ENTRIES_MAX)
        return value_diag(r->diags, v, "'environment' has more than %d entries", ENTRIES_MAX);
    r->evaluated = v->kind == VALUE_STR;
    for (size_t i = 0; i < count; i++)
        if ((all.kind == VALUE_LIST
                 ? add_environment_pair(r, &all.list->items[i], full, child)
                 : add_environment_entry(r, &all.map->pairs[i], full, child)) < 0)
            result = -1;
    r->evaluated = false;
    return result;
}

int resolve_program_env(struct resolver *r, const struct config_program *program,
                        struct environment *full, struct environment *child,
                        struct environment *ret_file)
{
    if (program->env_file && add_env_file(r, program, full, child, ret_file) < 0)
        return -1;
    if (program->environment && resolve_environment(r, program->environment, full, child) < 0)
        return -1;
    return 0;
}

/* --- users ------------------------------------------------------------------------------- */

static int add_group_gid(struct resolver *r, const struct value *v, struct account_gids *gids)
{
    const char *text;
    struct err err;
    gid_t gid;

    if (resolve_scope_print(r, v, "groups", &text) < 0)
        return -1;
    if (!text)
        return 0;
    if (account_parse_group(text, &gid, &err) < 0)
        return value_diag(r->diags, v, "'groups': %s", err.text);
    VEC_PUSH_IN(r->arena, &gids->list, gid);
    return 0;
}

/* Exactly the named groups. */
static int named_groups(struct resolver *r, const struct value *groups, struct account_gids *gids)
{
    if (groups->kind != VALUE_LIST)
        return value_diag(r->diags, groups, "'groups' must be a list of groups, got %s",
                          value_describe(groups));
    for (size_t i = 0; i < groups->list->count; i++)
        if (add_group_gid(r, &groups->list->items[i], gids) < 0)
            return -1;
    return 0;
}

static int choose_groups(struct resolver *r, const struct value *groups, const struct value *where,
                         struct resolve_user *ret)
{
    struct account_gids gids = { VEC_INIT };
    const struct account_group *ours;
    gid_t *kept;
    struct err err;
    size_t n = 0;

    if (groups) {
        if (named_groups(r, groups, &gids) < 0)
            return -1;
    } else if (ret->account) {
        if (account_groups(r->arena, ret->account, &gids, &err) < 0)
            return value_diag(r->diags, where, "%s", err.text);
    }
    if (account_find_group(r->arena, DAEMON_GROUP, &ours, &err) < 0)
        return value_diag(r->diags, where, "%s", err.text);
    kept = ARENA_ARRAY(r->arena, gid_t, gids.list.n + 1);
    VEC_EACH (&gids.list, gid)
        if (!ours || *gid != ours->gid)
            kept[n++] = *gid;
    ret->user.groups = kept;
    ret->user.group_count = n;
    return 0;
}

/* A daemon that is not root can only run things as itself. */
static int check_right(struct resolver *r, const char *user, const struct value *groups,
                       const struct value *where, struct resolve_user *ret)
{
    if (geteuid() == 0)
        return 0;
    if (groups)
        return value_diag(r->diags, groups, "'groups' needs a daemon that runs as root");
    if (ret->user.uid != geteuid() || ret->user.gid != getegid())
        return value_diag(r->diags, where, "cannot run as '%s': the daemon does not run as root",
                          user);
    ret->has_user = false;
    return 0;
}

static bool has_foreign_owner(const struct resolver *r)
{
    return geteuid() == 0 && r->config->owner.uid != 0;
}

static bool has_group(const struct resolve_user *who, gid_t gid)
{
    for (size_t i = 0; i < who->user.group_count; i++)
        if (who->user.groups[i] == gid)
            return true;
    return who->user.gid == gid;
}

/* An owner who is not root may use other users, but not root and its group. */
static int check_not_root(struct resolver *r, const char *user, const struct value *where,
                          const struct resolve_user *who)
{
    if (who->user.uid == 0)
        return value_diag(r->diags, where,
                          "cannot run as '%s': the config belongs to user %u, and its hardening "
                          "level is no-root",
                          user, (unsigned)r->config->owner.uid);
    if (has_group(who, 0))
        return value_diag(r->diags, where,
                          "cannot run in group 0: the config belongs to user %u, and its "
                          "hardening level is no-root",
                          (unsigned)r->config->owner.uid);
    return 0;
}

/* A non-root owner gains nothing through a daemon that runs as root: only their own user and
 * groups. */
static int check_owner_allows(struct resolver *r, const char *user, const struct value *where,
                              const struct resolve_user *who)
{
    const struct config_owner *owner = &r->config->owner;
    struct rights rights;
    struct err err;
    gid_t bad = who->user.gid;
    bool allowed;

    if (!has_foreign_owner(r) || r->config->hardening == HARDENING_NONE)
        return 0;
    if (r->config->hardening == HARDENING_NO_ROOT)
        return check_not_root(r, user, where, who);
    if (who->user.uid != owner->uid)
        return value_diag(r->diags, where,
                          "cannot run as '%s': the config belongs to user %u, and only root may "
                          "run services as another user",
                          user, (unsigned)owner->uid);
    if (rights_load(r->arena, owner->uid, owner->gid, &rights, &err) < 0)
        return value_diag(r->diags, where, "%s", err.text);
    allowed = rights_has_group(&rights, bad);
    for (size_t i = 0; allowed && i < who->user.group_count; i++) {
        bad = who->user.groups[i];
        allowed = rights_has_group(&rights, bad);
    }
    if (allowed)
        return 0;
    return value_diag(r->diags, where,
                      "cannot run in group %u: the config belongs to user %u, who is not in it",
                      (unsigned)bad, (unsigned)owner->uid);
}

/* A numeric user without an account must not inherit HOME from the daemon's caller. */
static const struct account *choose_identity(struct resolver *r, const struct resolve_user *who)
{
    struct account *nameless;

    if (who->account)
        return who->account;
    nameless = ARENA_NEW(r->arena, struct account);
    *nameless = (struct account){
        .name = arena_printf(r->arena, "%u", (unsigned)who->user.uid),
        .home = "/",
        .shell = "/bin/sh",
    };
    return nameless;
}

static int find_program_account(struct resolver *r, const char *user, const struct value *where,
                                struct resolve_user *ret)
{
    struct account_owner owner;
    struct err err;

    if (account_parse_owner(user, &owner, &err) < 0)
        return value_diag(r->diags, where, "'user': %s", err.text);
    if (owner.uid == (uid_t)-1)
        return value_diag(r->diags, where, "'user' must be a name or number before ':', got '%s'",
                          user);
    if (account_find_uid(r->arena, owner.uid, &ret->account, &err) < 0)
        return value_diag(r->diags, where, "'user': %s", err.text);
    ret->user.uid = owner.uid;
    ret->user.gid = owner.gid != (gid_t)-1 ? owner.gid
                    : ret->account         ? ret->account->gid
                                           : (gid_t)owner.uid;
    ret->identity = choose_identity(r, ret);
    return 0;
}

/* A non-root daemon, and no user named: the caller's user and groups. */
static int run_as_daemon(struct resolver *r, const struct value *groups, const struct value *where,
                         struct resolve_user *ret)
{
    struct err err;

    ret->user.uid = geteuid();
    ret->user.gid = getegid();
    if (account_find_uid(r->arena, geteuid(), &ret->account, &err) < 0)
        return value_diag(r->diags, where, "%s", err.text);
    ret->identity = ret->account;
    return check_right(r, "", groups, where, ret);
}

int resolve_program_user(struct resolver *r, const char *user, const struct value *groups,
                         const struct value *where, struct resolve_user *ret)
{
    const struct config_owner *owner = &r->config->owner;

    *ret = (struct resolve_user){ .has_user = true };
    if (!user && owner->uid != 0 && geteuid() != 0)
        return run_as_daemon(r, groups, where, ret);
    if (!user && owner->uid != 0)
        user = arena_printf(r->arena, "%u:%u", (unsigned)owner->uid, (unsigned)owner->gid);
    if (user) {
        if (find_program_account(r, user, where, ret) < 0)
            return -1;
    } else if (groups) {
        ret->user.uid = geteuid();
        ret->user.gid = getegid();
    } else {
        ret->has_user = false;
        return 0;
    }
    if (check_right(r, user ? user : "root", groups, where, ret) < 0)
        return -1;
    if (!ret->has_user)
        return 0;
    if (choose_groups(r, groups, where, ret) < 0)
        return -1;
    return check_owner_allows(r, user, where, ret);
}

/* --- command ----------------------------------------------------------------------------- */

static const char *const *resolve_command(struct resolver *r, const struct config_program *program)
{
    const struct value *v = program->command;
    struct value list;
    const char **argv;

    if (resolve_scope_eval(r, v, &list) < 0)
        return NULL;
    if (list.kind != VALUE_LIST || (list.list->count == 0 && !program->may_be_empty)) {
        (void)value_diag(r->diags, v, "'command' must be a list of strings, got %s",
                         list.kind == VALUE_LIST ? "an empty list" : value_describe(&list));
        return NULL;
    }
    if (list.list->count > ARGUMENTS_MAX) {
        (void)value_diag(r->diags, v, "'command' has more than %d arguments", ARGUMENTS_MAX);
        return NULL;
    }
    argv = ARENA_ARRAY(r->arena, const char *, list.list->count + 1);
    for (size_t i = 0; i < list.list->count; i++) {
        if (resolve_scope_print(r, &list.list->items[i], "command", &argv[i]) < 0)
            return NULL;
        if (!argv[i])
            argv[i] = "";
    }
    return argv;
}

/* The caller's shell as it was captured, else bash where there is one. */
static const char *find_shell(const struct resolver *r)
{
    const char *shell = environment_find(r->kepler_env, STR("SHELL"));

    if (shell && shell[0] == '/')
        return shell;
    return access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
}

static const char *const *read_run(struct resolver *r, const struct value *v)
{
    const char **argv = ARENA_ARRAY(r->arena, const char *, 4);

    if (resolve_scope_text(r, v, "run", &argv[2]) < 0)
        return NULL;
    if (!argv[2] || str_trim(str_from(argv[2])).n == 0) {
        (void)value_diag(r->diags, v, "'run' is empty");
        return NULL;
    }
    argv[0] = find_shell(r);
    argv[1] = "-c";
    return argv;
}

/* --- folder and limits ------------------------------------------------------------------- */

static int read_cwd(struct resolver *r, const struct value *v, const char *otherwise,
                    const char **ret_cwd)
{
    const struct config_owner *owner = &r->config->owner;
    const char *text = NULL;
    struct rights rights;
    struct fs_info info;
    struct err err;

    if (v && resolve_scope_text(r, v, "working_dir", &text) < 0)
        return -1;
    *ret_cwd = text && *text ? path_join(r->arena, r->config->folder, text) : otherwise;
    if (!v)
        return 0;
    if (rights_load(r->arena, owner->uid, owner->gid, &rights, &err) < 0 ||
        rights_stat(&rights, *ret_cwd, &info, &err) < 0)
        return value_diag(r->diags, v, "'working_dir': %s", err.text);
    if (info.kind == FS_NONE)
        return value_diag(r->diags, v, "'working_dir': folder '%s' does not exist", *ret_cwd);
    if (info.kind != FS_FOLDER)
        return value_diag(r->diags, v, "'working_dir': '%s' is not a folder", *ret_cwd);
    return 0;
}

/* Root could raise any limit; others get the daemon's limits, or lower. */
static int check_limit(struct resolver *r, const struct value *where, const char *name,
                       const struct process_limit *limit)
{
    struct rlimit now;

    if (!has_foreign_owner(r) || getrlimit((__rlimit_resource_t)limit->resource, &now) < 0 ||
        now.rlim_max == RLIM_INFINITY || limit->hard <= now.rlim_max)
        return 0;
    return value_diag(r->diags, where,
                      "'limits.%s' may be at most %llu here: the config belongs to user %u, and "
                      "only root may raise a limit",
                      name, (unsigned long long)now.rlim_max, (unsigned)r->config->owner.uid);
}

static int read_limits(struct resolver *r, const struct config_program *program,
                       struct launch_program *ret)
{
    const struct value *where = program->command ? program->command : program->run;
    const struct config_limits *from = &program->limits;
    struct config_limits limits = *from;
    const char *owner = arena_printf(r->arena, "service '%s'", r->service->name);
    struct value evaluated;

    if (from->computed && (resolve_scope_eval(r, from->computed, &evaluated) < 0 ||
                           config_limits_read(r->arena, &evaluated, owner, &limits, r->diags) < 0))
        return -1;

    const struct {
        const char *name;
        int resource;
        int64_t value;
    } wanted[] = {
        { "memory", RLIMIT_AS, limits.memory },
        { "cpu_time", RLIMIT_CPU, limits.cpu_time },
        { "max_fds", RLIMIT_NOFILE, limits.max_fds },
    };
    _Static_assert(ARRAY_LEN(wanted) == LAUNCH_LIMITS_MAX, "there is room for all limits");

    ret->limit_count = 0;
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        uint64_t value = (uint64_t)wanted[i].value;
        struct process_limit limit = { wanted[i].resource, value, value };

        if (wanted[i].value <= 0)
            continue;
        if (check_limit(r, where, wanted[i].name, &limit) < 0)
            return -1;
        ret->limits[ret->limit_count++] = limit;
    }
    return 0;
}

int resolve_program_rest(struct resolver *r, const struct config_program *program,
                         const char *default_cwd, struct launch_program *ret)
{
    int result = 0;

    ret->argv = program->command ? resolve_command(r, program) : read_run(r, program->run);
    if (!ret->argv)
        result = -1;
    if (read_cwd(r, program->working_dir, default_cwd, &ret->cwd) < 0)
        result = -1;
    if (read_limits(r, program, ret) < 0)
        result = -1;
    ret->no_new_privs = program->no_new_privileges;
    return result;
}
