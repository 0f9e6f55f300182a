#include "states/modules/file/attrs.h"

#include <string.h>
#include <sys/stat.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "states/state/module.h"
#include "core/sys/account.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/site.h"

#define MODE_KEEP "keep"

/* --- cache of accounts -------------------------------------------------------------- */

#define CACHE_SIZE     8
#define CACHE_NAME_MAX 64
/* Accounts may come from sources other than the files. */
#define CACHE_AGE_MAX (5 * CLOCK_SECOND)

struct cached {
    char name[CACHE_NAME_MAX + 1];
    uint32_t id;
    int64_t read_at;
    struct timespec file_time; /* mtime of the account file at that time */
    ino_t file_inode;
};

struct cache {
    const char *file;
    int (*parse)(const char *text, uint32_t *ret_id, struct err *err);
    struct cached entries[CACHE_SIZE];
    size_t next;
};

static _Thread_local struct cache users = { .file = "/etc/passwd", .parse = account_parse_user };
static _Thread_local struct cache groups = { .file = "/etc/group", .parse = account_parse_group };

static bool is_fresh(const struct cached *entry, const struct stat *st)
{
    return entry->file_inode == st->st_ino && entry->file_time.tv_sec == st->st_mtim.tv_sec &&
           entry->file_time.tv_nsec == st->st_mtim.tv_nsec &&
           clock_now() - entry->read_at < CACHE_AGE_MAX;
}

static void cache_account(struct cache *cache, const char *name, uint32_t id, const struct stat *st)
{
    struct cached *entry = &cache->entries[cache->next++ % CACHE_SIZE];

    memcpy(entry->name, name, strlen(name) + 1);
    entry->id = id;
    entry->read_at = clock_now();
    entry->file_time = st->st_mtim;
    entry->file_inode = st->st_ino;
}

static int look_up_account(struct cache *cache, const char *name, uint32_t *ret_id, struct err *err)
{
    struct stat st;
    const bool usable = strlen(name) <= CACHE_NAME_MAX && stat(cache->file, &st) == 0;

    for (size_t i = 0; usable && i < CACHE_SIZE; i++)
        if (strcmp(cache->entries[i].name, name) == 0 && is_fresh(&cache->entries[i], &st)) {
            *ret_id = cache->entries[i].id;
            return 0;
        }
    if (cache->parse(name, ret_id, err) < 0)
        return -1;
    if (usable && name[0])
        cache_account(cache, name, *ret_id, &st);
    return 0;
}

/* In a dry run, an earlier state may create the account. */
static int find_cached_account(struct state_run *run, struct cache *cache, const char *name,
                               uint32_t *ret, struct err *err)
{
    if (look_up_account(cache, name, ret, err) == 0)
        return 0;
    if (!run->test || err->code != ERR_NOT_FOUND)
        return -1;
    if (!strstr(buf_text(&run->text), err->text))
        state_differs(run, "%s yet", err->text);
    return 0;
}

int attrs_find_user(struct state_run *run, const char *name, uid_t *ret, struct err *err)
{
    return find_cached_account(run, &users, name, ret, err);
}

int attrs_find_group(struct state_run *run, const char *name, gid_t *ret, struct err *err)
{
    return find_cached_account(run, &groups, name, ret, err);
}

/* --- parameters ---------------------------------------------------------------------- */

struct mode_args {
    mode_t mode;
};

static bool is_keep(const struct value *mode)
{
    return mode->kind == VALUE_STR && str_is(mode->s, MODE_KEEP);
}

static int decode_mode(const struct value *mode, mode_t *ret, struct diags *diags)
{
    static const struct param param[] = {
        PARAM("mode", MODE, struct mode_args, mode, "permissions"),
        { 0 },
    };
    static const struct params_policy policy = { 0 };
    struct mode_args args = { 0 };

    if (params_decode_one(diags->arena, param, &policy, mode, &args, diags) < 0)
        return -1;
    *ret = args.mode;
    return 0;
}

int attrs_validate(const struct value *mode, bool keep, struct diags *diags)
{
    mode_t ignored;

    if (!mode || mode->kind == VALUE_NULL || (keep && is_keep(mode)))
        return 0;
    return decode_mode(mode, &ignored, diags);
}

static int read_attrs_mode(struct state_run *run, const struct value *mode, struct attrs *attrs,
                           struct err *err)
{
    struct diags diags = DIAGS_INIT(run->arena);

    if (!mode || mode->kind == VALUE_NULL)
        return 0;
    if (is_keep(mode)) {
        attrs->keep_mode = true;
        return 0;
    }
    if (decode_mode(mode, &attrs->want.mode, &diags) < 0)
        return diags_to_err(&diags, err);
    return 0;
}

int attrs_read(struct state_run *run, const struct value *mode, const char *user, const char *group,
               struct attrs *ret, struct err *err)
{
    *ret = (struct attrs){ .want = CHANGE_KEEP, .user = user, .group = group };
    if (read_attrs_mode(run, mode, ret, err) < 0)
        return -1;
    if (user && attrs_find_user(run, user, &ret->want.uid, err) < 0)
        return -1;
    return group ? attrs_find_group(run, group, &ret->want.gid, err) : 0;
}

/* --- comparing ------------------------------------------------------------------------ */

static bool is_mode_other(const struct attrs *attrs, const struct fs_info *info)
{
    return attrs->want.mode != CHANGE_KEEP_MODE && attrs->want.mode != info->mode &&
           info->kind != FS_LINK;
}

static bool is_owner_other(const struct attrs *attrs, const struct fs_info *info)
{
    return (attrs->want.uid != CHANGE_KEEP_ID && attrs->want.uid != info->uid) ||
           (attrs->want.gid != CHANGE_KEEP_ID && attrs->want.gid != info->gid);
}

bool attrs_differ(const struct attrs *attrs, const struct fs_info *info)
{
    return is_mode_other(attrs, info) || is_owner_other(attrs, info);
}

void attrs_check(struct state_run *run, const char *path, const struct attrs *attrs,
                 const struct fs_info *info)
{
    if (is_mode_other(attrs, info)) {
        state_differs(run, "mode %04o != %04o for %s", (unsigned)info->mode,
                      (unsigned)attrs->want.mode, path);
        state_made(run, "mode %04o -> %04o for %s", (unsigned)info->mode,
                   (unsigned)attrs->want.mode, path);
    }
    if (attrs->want.uid != CHANGE_KEEP_ID && attrs->want.uid != info->uid) {
        state_differs(run, "owner uid %u != %u (%s) for %s", (unsigned)info->uid,
                      (unsigned)attrs->want.uid, attrs->user, path);
        state_made(run, "owner uid %u -> %u (%s) for %s", (unsigned)info->uid,
                   (unsigned)attrs->want.uid, attrs->user, path);
    }
    if (attrs->want.gid != CHANGE_KEEP_ID && attrs->want.gid != info->gid) {
        state_differs(run, "group gid %u != %u (%s) for %s", (unsigned)info->gid,
                      (unsigned)attrs->want.gid, attrs->group, path);
        state_made(run, "group gid %u -> %u (%s) for %s", (unsigned)info->gid,
                   (unsigned)attrs->want.gid, attrs->group, path);
    }
}

/* The current mode; the kernel clears the set-id bits when the owner changes. */
static mode_t compute_mode(const struct attrs *attrs, const struct fs_info *info)
{
    mode_t mode = info->mode;

    if (attrs->want.uid != CHANGE_KEEP_ID && attrs->want.uid != info->uid)
        mode &= ~(mode_t)S_ISUID;
    if (attrs->want.gid != CHANGE_KEEP_ID && attrs->want.gid != info->gid &&
        info->kind != FS_FOLDER)
        mode &= ~(mode_t)S_ISGID;
    return mode;
}

int attrs_apply(struct state_run *run, struct site *site, const struct attrs *attrs,
                struct err *err)
{
    struct change_attr attr = attrs->want;

    if (!attrs_differ(attrs, &site->info))
        return 0;
    if (attr.mode == CHANGE_KEEP_MODE)
        attr.mode = compute_mode(attrs, &site->info);
    return change_attr_at(run, site, &attr, err);
}
