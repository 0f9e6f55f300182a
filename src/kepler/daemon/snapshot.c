#include "kepler/daemon/snapshot.h"

#include "kepler/access/right.h"
#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "kepler/daemon/acl_file.h"
#include "kepler/daemon/history_file.h"
#include "kepler/daemon/state_file.h"
#include "core/data/json.h"
#include "core/data/record.h"
#include "kepler/config/environment.h"
#include "kepler/config/resolve.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/rights.h"
#include "core/sys/tree.h"

#define PATH_TEXT_MAX ((size_t)8192)
#define BASE64_KEY    "base64"

static const struct fs_replace_options private_file = { .attr = { 0600, FS_KEEP, FS_KEEP } };

int snapshot_save_source(const char *folder, const struct config *config, struct err *err)
{
    const struct fs_replace_options how = { .attr = { 0600, FS_KEEP, FS_KEEP },
                                            .sync = FS_NO_SYNC };
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (fs_keep(path_join(&arena, folder, "source_path.txt"), str_from(config->path), &how, err) <
        0)
        return -1;
    return fs_keep(path_join(&arena, folder, "config.yaml"), config->text, &how, err);
}

int snapshot_load_path(struct arena *arena, const char *folder, const char **ret_path,
                       struct err *err)
{
    struct str text;

    if (fs_read(arena, path_join(arena, folder, "source_path.txt"), PATH_TEXT_MAX, &text, err) < 0)
        return -1;
    text = text.p ? str_trim(text) : text;
    *ret_path = text.n > 0 ? arena_strndup(arena, text.p, text.n) : NULL;
    return 0;
}

/* A missing file counts as empty, now and later. A file that the owner cannot read is not copied:
 * the start of its service reports it. */
static int copy_env_file(struct arena *arena, const char *folder, const struct config *config,
                         const struct config_service *service, struct err *err)
{
    const struct value *name = service->program.env_file;
    struct rights rights;
    const char *path;
    struct str text;

    if (!name || !value_is(name, VALUE_STR) || value_tag(name) ||
        str_find(name->s, STR("${{"), 0) != STR_NONE)
        return 0;
    path = path_join(arena, config->folder, name->s.p);
    if (rights_load(arena, config->owner.uid, config->owner.gid, &rights, err) < 0)
        return -1;
    if (rights_read(&rights, arena, path, RESOLVE_ENV_FILE_MAX, &text, err) < 0 || !text.p)
        return 0;
    return fs_replace(resolve_env_file_copy(arena, folder, config, service->name, path), text,
                      &private_file, err);
}

static int copy_env_files(struct arena *arena, const char *folder, const struct config *config,
                          struct err *err)
{
    const char *files = path_join(arena, folder, "env_files");

    if (fs_mkdirs(files, 0700, err) < 0)
        return -1;
    for (uint32_t i = 0; i < config->service_count; i++)
        if (copy_env_file(arena, files, config, &config->services[i], err) < 0)
            return -1;
    return 0;
}

/* --- variables ------------------------------------------------------------------------- */

/* A variable may hold any bytes, and JSON text may not: such a pair is a map with one key. */
static struct value pair_value(struct arena *arena, const char *pair)
{
    struct value_map *map;

    if (utf8_is_valid(str_from(pair)))
        return value_text(pair);
    map = value_map_new(arena, 1);
    value_map_set(arena, map, value_text(BASE64_KEY), value_bytes(str_from(pair)));
    return value_map(map);
}

/* A NULL view when it is nothing that pair_value writes. */
static struct str read_snapshot_pair(struct arena *arena, const struct value *v)
{
    AUTO_BUF struct buf bytes = BUF_INIT(SNAPSHOT_MAX);
    const struct value *coded = value_get(v, BASE64_KEY);
    struct err ignored;

    if (value_is(v, VALUE_STR))
        return v->s;
    if (!coded || !value_is(coded, VALUE_STR) ||
        base64_decode_strict(coded->s, BASE64_STANDARD, &bytes, &ignored) < 0)
        return (struct str){ 0 };
    return buf_copy(&bytes, arena);
}

static struct value env_value(struct arena *arena, const struct environment *env)
{
    const char *const *pair = environment_array(env, arena);
    struct value_list *list = value_list_new(arena, environment_count(env));

    for (; *pair; pair++)
        value_list_push(arena, list, pair_value(arena, *pair));
    return value_list(list);
}

static const struct environment *read_env(struct arena *arena, const struct value *list)
{
    struct environment *env = ARENA_NEW(arena, struct environment);
    struct err ignored; /* invalid pairs were skipped when it was written */

    environment_init(env, arena);
    for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list->count; i++) {
        struct str pair = read_snapshot_pair(arena, &list->list->items[i]);

        if (pair.p)
            (void)environment_add(env, pair, &ignored);
    }
    return env;
}

/* --- snapshots ------------------------------------------------------------------------- */

struct stored {
    struct str config;
    const char *config_path, *config_dir;
    int64_t snapshot_time;
    struct value env, flags;
    uid_t owner_uid;
    gid_t owner_gid;
    enum hardening hardening, token_hardening;
    struct value ceiling; /* rights that tokens may have; null: all */
};

/* clang-format off */
#define ARGS struct stored
static const struct record_field stored_fields[] = {
    RECORD("config",        STRING, ARGS, config,        RECORD_REQUIRED),
    RECORD("config_path",   TEXT,   ARGS, config_path,   RECORD_REQUIRED),
    RECORD("config_dir",    TEXT,   ARGS, config_dir,    0),
    RECORD("snapshot_time", INT,    ARGS, snapshot_time, 0, .fallback = -1),
    RECORD("kepler_env",    ANY,    ARGS, env,           0),
    RECORD("kepler_flags",  ANY,    ARGS, flags,         0),
    RECORD("owner_uid",     INT,    ARGS, owner_uid,     RECORD_REQUIRED),
    RECORD("owner_gid",     INT,    ARGS, owner_gid,     RECORD_REQUIRED),
    RECORD("hardening",     WORD,   ARGS, hardening,     0, .words = hardening_words, .word_count = HARDENINGS, .fallback = HARDENING_STRICT),
    RECORD("permission_ceiling", ANY, ARGS, ceiling,     0),
    RECORD("token_hardening", WORD, ARGS, token_hardening, 0, .words = hardening_words, .word_count = HARDENINGS),
    { 0 },
};
/* clang-format on */
static const struct record_type stored_type = RECORD_TYPE("snapshot", ARGS, stored_fields, 0);

int snapshot_save(const char *folder, const struct config *config, const struct environment *env,
                  const struct value *flags, int64_t time, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(SNAPSHOT_MAX);
    const struct stored stored = {
        .config = config->text,
        .config_path = config->path,
        .config_dir = config->folder,
        .snapshot_time = time,
        .env = env_value(&arena, env),
        .flags = *flags,
        .owner_uid = config->owner.uid,
        .owner_gid = config->owner.gid,
        .hardening = config->hardening,
        .token_hardening = config->ceiling.hardening,
        .ceiling = config->ceiling.withheld
                       ? right_values(&arena, RIGHT_ALL & ~config->ceiling.withheld)
                       : value_null(),
    };
    const struct value whole = record_value(&arena, &stored_type, &stored);

    if (json_print(&text, &whole, JSON_STYLE_PRETTY, err) < 0)
        return err_wrap(err, "store a snapshot of '%s'", config->path);
    buf_add_char(&text, '\n');
    if (copy_env_files(&arena, folder, config, err) < 0)
        return -1;
    return fs_replace(path_join(&arena, folder, SNAPSHOT_FILE), buf_view(&text), &private_file,
                      err);
}

int snapshot_load(struct arena *arena, const char *folder,
                  const struct config_snapshot **ret_snapshot, struct err *err)
{
    struct config_snapshot *snapshot = ARENA_NEW(arena, struct config_snapshot);
    const char *file = path_join(arena, folder, SNAPSHOT_FILE);
    struct stored *stored = ARENA_NEW(arena, struct stored);
    struct value whole;
    struct str bytes;

    *ret_snapshot = NULL;
    if (fs_read(arena, file, SNAPSHOT_MAX, &bytes, err) < 0)
        return -1;
    if (!bytes.p)
        return 0;
    if (json_decode(arena, bytes, &whole, err) < 0 ||
        record_read(arena, &stored_type, 0, &whole, stored, err) < 0)
        return err_wrap(err, "read '%s'", file);
    snapshot->source = (struct config_source){
        .path = stored->config_path,
        .text = stored->config,
        .kepler_env = read_env(arena, &stored->env),
        .flags = value_is(&stored->flags, VALUE_NULL) ? NULL : &stored->flags,
        .owner = { stored->owner_uid, stored->owner_gid },
        .hardening = stored->hardening,
        .ceiling = { value_is(&stored->ceiling, VALUE_NULL)
                         ? 0
                         : RIGHT_ALL & ~right_read(&stored->ceiling),
                     stored->token_hardening },
    };
    snapshot->time = stored->snapshot_time;
    *ret_snapshot = snapshot;
    return 0;
}

int snapshot_remove(const char *folder, struct err *err)
{
    static const char *const files[] = { SNAPSHOT_FILE, "config.yaml",     STATE_FILE,
                                         ACL_FILE,      HISTORY_FILE_FILE, "source_path.txt" };
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (fs_unlink(path_join(&arena, folder, files[i]), err) < 0)
            return -1;
    return tree_remove(path_join(&arena, folder, "env_files"), err);
}
