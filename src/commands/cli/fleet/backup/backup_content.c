#include "commands/cli/fleet/backup/backup_content.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/account.h"
#include "core/sys/fd.h"
#include "core/sys/path.h"
#include "core/sys/site.h"
#include "core/sys/tree.h"

#define PIECE ((size_t)128 << 10)

/* Where 'zester-master setup' and 'zester nats-auth init' write it. */
static const char *const usual_nats_confs[] = { "/etc/zester/nats-server.conf",
                                                "/etc/nats/nats-server.conf" };

/* --- what ----------------------------------------------------------------------------- */

/* Keys of items of lists and maps in the configuration that name a file. */
static const char *const file_keys[] = { "token_file", "ssh_key", "ca", "file", "path" };

static void add_root(struct arena *arena, struct backup_content *content, const char *path)
{
    if (!path || path[0] != '/')
        return;
    VEC_EACH (&content->roots, root)
        if (str_eq(str_from(*root), str_from(path)))
            return;
    VEC_PUSH_IN(arena, &content->roots, path);
}

static void add_named_files(struct arena *arena, struct backup_content *content,
                            const struct value *item)
{
    for (size_t i = 0; i < ARRAY_LEN(file_keys); i++)
        add_root(arena, content, value_get_text(item, file_keys[i]));
}

/* `api.tokens`, `export` and `gitfs.remotes` are lists of maps, `secret_backends` a map of them. */
static void add_files_of(struct arena *arena, struct backup_content *content,
                         const struct value *items)
{
    if (value_is(items, VALUE_LIST))
        for (size_t i = 0; i < items->list->count; i++)
            add_named_files(arena, content, &items->list->items[i]);
    if (value_is(items, VALUE_MAP))
        for (size_t i = 0; i < items->map->count; i++)
            add_named_files(arena, content, &items->map->pairs[i].value);
}

static const char *find_nats_conf(const char *given)
{
    for (size_t i = 0; !given && i < ARRAY_LEN(usual_nats_confs); i++)
        if (access(usual_nats_confs[i], F_OK) == 0)
            return usual_nats_confs[i];
    return given ? given : "";
}

static int read_master_conf(struct arena *arena, const char *file, struct master_conf *ret,
                            struct err *err)
{
    const struct daemon_line line = { .file = file, .given = value_map(value_map_new(arena, 1)) };
    struct diags diags = DIAGS_INIT(arena);

    return daemon_conf_read(&master_daemon_conf, &line, arena, ret, &diags, &diags) < 0
               ? diags_to_err(&diags, err)
               : 0;
}

/* The configuration comes last: a master does not start before everything else is there. */
static void list_roots(struct arena *arena, const struct backup_want *want,
                       struct backup_content *content)
{
    const struct master_conf *conf = &content->conf;
    const char *const named[] = { conf->states_dir,    conf->settings_dir,    conf->reactor_dir,
                                  conf->nats_ca,       conf->enroll_tls_cert, conf->enroll_tls_key,
                                  conf->gitfs_ssh_key, conf->ca_dir,          conf->auth_dir };

    for (size_t i = 0; i < ARRAY_LEN(named); i++)
        add_root(arena, content, named[i]);
    add_files_of(arena, content, conf->api_token_list);
    add_files_of(arena, content, conf->exports);
    add_files_of(arena, content, conf->gitfs_remotes);
    add_files_of(arena, content, conf->secret_backends);
    for (size_t i = 0; i < want->include.n; i++)
        add_root(arena, content, want->include.p[i]);
    add_root(arena, content, content->nats_conf);
    add_root(arena, content, content->conf_file);
}

int backup_content_find(struct arena *arena, const struct backup_want *want,
                        struct backup_content *ret, struct err *err)
{
    const char *file = want->config ? want->config : master_daemon_conf.file;

    *ret = (struct backup_content){ .nats_conf = find_nats_conf(want->nats_conf) };
    if (access(file, F_OK) < 0)
        return err_set(err, ERR_NOT_FOUND,
                       "'%s' does not exist: a backup is made on a machine with a master", file);
    ret->conf_file = path_absolute(arena, file);
    if (read_master_conf(arena, file, &ret->conf, err) < 0)
        return -1;
    list_roots(arena, want, ret);
    return 0;
}

/* --- into the archive ----------------------------------------------------------------- */

struct content_walk {
    struct backup_content *content;
    struct archive_writer *writer;
};

static int name_owner(struct arena *arena, const struct fs_info *info, struct archive_part *part,
                      struct err *err)
{
    const struct account *user;
    const struct account_group *group;

    if (account_find_uid(arena, info->uid, &user, err) < 0 ||
        account_find_gid(arena, info->gid, &group, err) < 0)
        return -1;
    part->mode = info->mode;
    part->uid = info->uid;
    part->gid = info->gid;
    part->user = user ? user->name : "";
    part->group = group ? group->name : "";
    return 0;
}

static int write_content(struct archive_writer *writer, int fd, const char *path, struct err *err)
{
    AUTO_FREE char *piece = mem_alloc(PIECE);
    size_t n;

    do {
        if (fd_read(fd, piece, PIECE, &n, err) < 0)
            return err_wrap(err, "read '%s'", path);
        if (archive_data(writer, str_bytes(piece, n), err) < 0)
            return -1;
    } while (n == PIECE);
    return 0;
}

static int write_file_part(struct content_walk *walk, struct site *site, struct archive_part *part,
                           struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_FD int fd = -1;

    if (site_open(site, &fd, err) < 0)
        return -1;
    if (fd < 0) /* it vanished */
        return 0;
    if (name_owner(&arena, &site->info, part, err) < 0 ||
        archive_part(walk->writer, part, err) < 0 ||
        write_content(walk->writer, fd, part->name, err) < 0)
        return -1;
    walk->content->files++;
    return archive_end(walk->writer, err);
}

static int write_other_part(struct content_walk *walk, const struct site *site,
                            struct archive_part *part, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    part->target = "";
    if (part->kind == ARCHIVE_LINK &&
        (site_readlink(&arena, site, &part->target, err) < 0 || !part->target))
        return part->target ? -1 : 0;
    if (name_owner(&arena, &site->info, part, err) < 0 || archive_part(walk->writer, part, err) < 0)
        return -1;
    return archive_end(walk->writer, err);
}

static int on_content(void *self, enum tree_step step, const struct tree_entry *entry,
                      struct err *err)
{
    struct content_walk *walk = self;
    AUTO_SITE struct site site = SITE_INIT;
    struct archive_part part = { .name = entry->path };

    if (step == TREE_LEAVE || fs_is_temp_name(entry->name))
        return 0;
    tree_site(entry, &site);
    switch (entry->info.kind) {
    case FS_FILE: part.kind = ARCHIVE_FILE; return write_file_part(walk, &site, &part, err);
    case FS_FOLDER: part.kind = ARCHIVE_FOLDER; break;
    case FS_LINK: part.kind = ARCHIVE_LINK; break;
    default: return 0; /* a socket or a fifo has no content */
    }
    return write_other_part(walk, &site, &part, err);
}

static bool is_within_another(const struct backup_content *content, const char *path)
{
    VEC_EACH (&content->roots, root)
        if (path_is_inside(path, *root))
            return true;
    return false;
}

int backup_content_write(struct backup_content *content, struct archive_writer *writer,
                         struct err *err)
{
    struct content_walk walk = { content, writer };
    struct fs_info info;

    VEC_EACH (&content->roots, root) {
        if (fs_lstat(*root, &info, err) < 0)
            return -1;
        if (info.kind != FS_NONE && !is_within_another(content, *root) &&
            tree_walk(*root, on_content, &walk, err) < 0)
            return -1;
    }
    return 0;
}
