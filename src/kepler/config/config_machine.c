/* Users, groups, folders and env files that a config names and this machine may lack. */
#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "kepler/config/config.h"
#include "core/data/value.h"
#include "language/lua/expr.h"
#include "core/sys/account.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

struct search {
    struct arena *arena;
    const struct config *config;
    struct diags *diags;
};

/* NULL when it is computed, and known only when the service starts. */
static const char *static_text(const struct search *search, const struct value *v)
{
    if (!v || expr_is_dynamic(v))
        return NULL;
    if (v->kind == VALUE_INT)
        return arena_printf(search->arena, "%lld", (long long)v->i);
    return v->kind == VALUE_STR ? arena_strndup(search->arena, v->s.p, v->s.n) : NULL;
}

static void check_path_exists(const struct search *search, const struct value *v, const char *key,
                              enum fs_kind kind)
{
    const char *text = static_text(search, v), *path;
    struct fs_info info;
    struct err err;

    if (!text || !text[0])
        return;
    path = path_join(search->arena, search->config->folder, text);
    if (fs_stat(path, &info, &err) < 0)
        (void)value_diag(search->diags, v, "'%s': %s", key, err.text);
    else if (info.kind == FS_NONE)
        (void)value_diag(search->diags, v, "'%s': no such %s: '%s'", key, fs_kind_name(kind), path);
    else if (info.kind != kind)
        (void)value_diag(search->diags, v, "'%s': '%s' is a %s, not a %s", key, path,
                         fs_kind_name(info.kind), fs_kind_name(kind));
}

static void check_user(const struct search *search, const struct value *v)
{
    const char *text = static_text(search, v);
    struct account_owner owner;
    struct err err;

    if (text && account_parse_owner(text, &owner, &err) < 0)
        (void)value_diag(search->diags, v, "'user': %s", err.text);
}

static void check_groups_exist(const struct search *search, const struct value *v)
{
    struct err err;
    gid_t gid;

    for (size_t i = 0; v && v->kind == VALUE_LIST && i < v->list->count; i++) {
        const char *text = static_text(search, &v->list->items[i]);

        if (text && account_parse_group(text, &gid, &err) < 0)
            (void)value_diag(search->diags, &v->list->items[i], "'groups': %s", err.text);
    }
}

static void check_program(const struct search *search, const struct config_program *program)
{
    check_path_exists(search, program->env_file, "env_file", FS_FILE);
    check_path_exists(search, program->working_dir, "working_dir", FS_FOLDER);
    check_user(search, program->user);
    check_groups_exist(search, program->groups);
}

/* Rules match by name or number at each request: an unknown name grants nothing. */
static void check_rules(const struct search *search, const struct acl *acl)
{
    struct err err;
    uid_t uid;
    gid_t gid;

    VEC_EACH (&acl->users.list, rule)
        if (account_parse_user(rule->who, &uid, &err) < 0)
            (void)diag_add(search->diags, rule->at, "'kepler.acl.users': %s", err.text);
    VEC_EACH (&acl->groups.list, rule)
        if (account_parse_group(rule->who, &gid, &err) < 0)
            (void)diag_add(search->diags, rule->at, "'kepler.acl.groups': %s", err.text);
}

void config_find_missing(struct arena *arena, const struct config *config, struct diags *diags)
{
    const struct search search = { arena, config, diags };

    if (config->acl)
        check_rules(&search, config->acl);
    for (uint32_t i = 0; i < config->service_count; i++) {
        const struct config_service *service = &config->services[i];

        check_program(&search, &service->program);
        if (service->health.given)
            check_program(&search, &service->health.program);
        for (int phase = 0; phase < HOOK_PHASES; phase++)
            for (size_t step = 0; step < service->hooks[phase].n; step++)
                check_program(&search, &service->hooks[phase].p[step].program);
    }
}
