#include "kepler/daemon/loading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kepler/access/right.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/client.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/call_access.h"
#include "kepler/daemon/project.h"
#include "kepler/daemon/state_file.h"
#include "kepler/config/config.h"
#include "kepler/config/environment.h"
#include "core/sys/account.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/rights.h"

#define FD_PATH_SIZE 32

/* --- what the caller brings ----------------------------------------------------------------- */

static const struct environment *caller_env(struct arena *arena, const struct param_strs *pairs)
{
    struct environment *env = ARENA_NEW(arena, struct environment);
    struct err ignored; /* an environment may contain entries that are not pairs */

    environment_init(env, arena);
    for (size_t i = 0; i < pairs->n; i++)
        (void)environment_add(env, str_from(pairs->p[i]), &ignored);
    return env;
}

static const struct value *caller_flags(struct arena *arena, const struct param_strs *pairs)
{
    struct value *flags = ARENA_NEW(arena, struct value);

    *flags = value_map(value_map_new(arena, pairs->n));
    for (size_t i = 0; i < pairs->n; i++) {
        struct str rest = str_from(pairs->p[i]), key = str_cut(&rest, '=');

        if (rest.p)
            value_map_set(arena, flags->map, value_text(arena_strndup(arena, key.p, key.n)),
                          value_text(arena_strndup(arena, rest.p, rest.n)));
    }
    return flags;
}

/* The caller's environment is private unless they are the owner: another user's config keeps its
 * own, or begins with PATH. Only root may set the search path for others. */
static const struct environment *lent_env(struct call *call, const struct environment *callers)
{
    struct environment *env = environment_copy(&call->arena, NULL);
    const char *path =
        call->client->peer.uid == 0 ? environment_find(callers, STR("PATH")) : getenv("PATH");

    if (call->project)
        environment_merge(env, call->project->env);
    else if (path)
        environment_set(env, STR("PATH"), str_from(path));
    return env;
}

/* --- the file ------------------------------------------------------------------------------- */

/* The copy that was taken when it was read. */
struct file {
    const char *path; /* canonical */
    struct str text;
    struct fs_info info;
};

/* Others see it in lists: strip control sequences. */
static bool is_showable(const char *path)
{
    struct str rest = str_from(path);

    while (rest.n > 0) {
        size_t length = utf8_length_at(rest);

        if (utf8_is_control(str_slice(rest, 0, length)))
            return false;
        rest = str_from_offset(rest, length);
    }
    return true;
}

static int read_as(const struct config_owner *who, const char *path, struct arena *arena,
                   struct file *ret_file, struct err *err)
{
    char link[FD_PATH_SIZE];
    struct file file = { 0 };
    struct rights rights;
    AUTO_FD int fd = -1;

    if (rights_load(arena, who->uid, who->gid, &rights, err) < 0 ||
        rights_open(&rights, path, &fd, err) < 0)
        return -1;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (fs_stat(link, &file.info, err) < 0 || fs_readlink(arena, link, &file.path, err) < 0)
        return -1;
    if (file.info.kind != FS_FILE)
        return err_set(err, ERR_INVALID, "read '%s': it is a %s, not a file", path,
                       fs_kind_name(file.info.kind));
    if (!file.path)
        return err_set(err, ERR_NOT_FOUND, "read '%s': it has no name", path);
    if (!is_showable(file.path))
        return err_set(err, ERR_INVALID,
                       "read the config: its path contains control characters or invalid UTF-8");
    if (fs_read_fd(arena, fd, path, CONFIG_FILE_MAX, &file.text, err) < 0)
        return -1;
    *ret_file = file;
    return 0;
}

/* For the owner; does not follow a name that leads elsewhere by now. */
static int reread_config(struct call *call, const struct config_owner *owner, struct file *file,
                         struct err *err)
{
    struct file again;

    if (read_as(owner, file->path, &call->arena, &again, err) < 0)
        return -1;
    if (strcmp(again.path, file->path) != 0)
        return err_set(err, ERR_INVALID, "read '%s': it was replaced in the meantime: try again",
                       file->path);
    *file = again;
    return 0;
}

/* A config loaded by root runs as root, whoever wrote it. */
static void warn_root(struct call *call, const struct file *file)
{
    const struct fs_info *info = &file->info;
    const char *who = NULL;

    if (info->uid != 0)
        who = account_describe(&call->arena, info->uid);
    else if (info->mode & S_IWOTH)
        who = "everybody";
    else if ((info->mode & S_IWGRP) && info->gid != 0)
        who = arena_printf(&call->arena, "group %u", info->gid);
    if (who)
        call->warning = arena_printf(
            &call->arena,
            "'%s' can be changed by %s, but its services run as root unless they set 'user'",
            file->path, who);
}

/* --- the owner ------------------------------------------------------------------------------ */

/* The owner of a config that is not loaded, from its data on disk; root if unknown. */
static void stored_owner(struct call *call, const char *path, struct config_owner *owner)
{
    const char *folder = home_config(&call->arena, &call->daemon->home, path);
    const struct state_file *record = NULL;
    struct fs_info info;
    struct err ignored;

    if (state_file_load(&call->arena, folder, &record, &ignored) == 0 && record)
        *owner = (struct config_owner){ record->owner_uid, record->owner_gid };
    else if (fs_lstat(folder, &info, &ignored) < 0 || info.kind != FS_NONE)
        *owner = (struct config_owner){ 0, 0 };
}

/* Its owner, else the caller. -1: refused. */
static int find_config_owner(struct call *call, const char *path, struct config_owner *owner)
{
    *owner = (struct config_owner){ call->client->peer.uid, call->client->peer.gid };
    if (call->project)
        *owner = call->project->config->owner;
    else
        stored_owner(call, path, owner);
    if (call_access_allows(call, path))
        return 0;
    call_refuse_foreign(call, path, owner->uid);
    return -1;
}

/* The level of the config and the rights withheld from its tokens: at least those of the daemon and
 * of the caller's token, and of the owner's load, when another user loads it again. */
static int set_source_limits(struct call *call, bool lent, struct config_source *source,
                             struct err *err)
{
    const struct request_start *args = call->args;
    const struct config *before = lent && call->project ? call->project->config : NULL;
    const struct acl_caller *caller = &call->caller;
    enum hardening level = before ? before->hardening : HARDENING_CONFIG;

    if (args->hardening && hardening_parse(str_from(args->hardening), &level, err) < 0)
        return -1;
    if (before)
        source->ceiling = before->ceiling;
    if (caller->kind == ACL_TOKEN) {
        level = hardening_max(level, caller->floor);
        source->ceiling.withheld |= RIGHT_ALL & ~caller->rights;
        source->ceiling.hardening = hardening_max(source->ceiling.hardening, caller->floor);
    }
    source->hardening = hardening_max(level, call->daemon->hardening);
    return 0;
}

int loading_check_level(struct call *call, struct err *err)
{
    const struct request_start *args = call->args;
    const struct config *config = call->project->config;
    enum hardening level;

    if (!args->hardening)
        return 0;
    if (hardening_parse(str_from(args->hardening), &level, err) < 0)
        return -1;
    if (level > config->hardening)
        return err_set(err, ERR_BUSY,
                       "'%s' is loaded with hardening level %s: 'kepler run' and 'kepler recreate' "
                       "load it with another",
                       config->path, hardening_name(config->hardening));
    if (level < config->hardening && config->hardening > call->daemon->hardening)
        call->warning =
            arena_printf(&call->arena,
                         "'%s' is loaded with hardening level %s, which stays until 'kepler run' "
                         "or 'kepler recreate'",
                         config->path, hardening_name(config->hardening));
    return 0;
}

int loading_read(struct call *call)
{
    const struct request_start *args = call->args;
    const struct unixsock_peer *peer = &call->client->peer;
    const struct config_owner caller = { peer->uid, peer->gid };
    struct config_source *source = ARENA_NEW(&call->arena, struct config_source);
    struct config_owner owner;
    struct file file;
    bool lent;
    struct err err;

    if (read_as(&caller, args->config, &call->arena, &file, &err) < 0) {
        call_fail(call, &err);
        return -1;
    }
    if (call_find_project(call, file.path) < 0 || find_config_owner(call, file.path, &owner) < 0)
        return -1;
    lent = geteuid() == 0 && owner.uid != caller.uid;
    if (lent && reread_config(call, &owner, &file, &err) < 0) {
        call_fail(call, &err);
        return -1;
    }
    if (geteuid() == 0 && caller.uid == 0 && !lent)
        warn_root(call, &file);
    source->path = file.path;
    source->text = args->text ? str_from(args->text) : file.text;
    source->owner = lent ? owner : caller;
    source->cli_env = caller_env(&call->arena, &args->environment);
    if (lent)
        source->cli_env = lent_env(call, source->cli_env);
    source->flags = caller_flags(&call->arena, &args->flags);
    if (set_source_limits(call, lent, source, &err) < 0) {
        call_fail(call, &err);
        return -1;
    }
    call->source = source;
    return 0;
}

bool loading_is_stale(struct call *call)
{
    const struct config *config = call->project->config;
    struct file file;
    struct err ignored;

    return read_as(&config->owner, config->path, &call->arena, &file, &ignored) == 0 &&
           !str_eq(file.text, config->text);
}
