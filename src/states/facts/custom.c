#include "states/facts/custom.h"

#include <errno.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "core/data/yaml_print.h"
#include "states/facts/facts.h"
#include "core/sys/fs.h"
#include "core/sys/lock.h"
#include "core/sys/path.h"

#define FILE_MODE   0644
#define FOLDER_MODE 0755
/* Beside the file, as /etc/.pwd.lock is. */
#define LOCK_NAME ".facts.lock"

/* The file of the machine may be for root alone; its other users do without. */
static bool is_kept_from_us(const char *path, const struct err *err)
{
    return err->code == ERR_SYSTEM && err->errnum == EACCES && strcmp(path, FACTS_FILE) == 0;
}

int custom_read(struct arena *arena, const char *path, struct value *ret_map, struct diags *diags)
{
    struct value map = value_map(value_map_new(arena, 0)), doc;
    struct place at = { path, 0, 0 };
    struct str text;
    struct err err;

    text = (struct str){ NULL, 0 };
    if (fs_read(arena, path, CUSTOM_FILE_MAX, &text, &err) < 0 && !is_kept_from_us(path, &err))
        return diag_err(diags, at, &err);
    if (text.p) {
        if (yaml_parse(arena, path, text, NULL, &doc, diags) < 0)
            return -1;
        if (doc.kind == VALUE_MAP)
            map = doc;
        else if (doc.kind != VALUE_NULL)
            return value_diag(diags, &doc, "facts must be a map, got %s", value_describe(&doc));
    }
    *ret_map = map;
    return 0;
}

/* The fact as a map in a map in a map, to be merged. */
static int nest_fact(struct arena *arena, struct str key, const struct value *value,
                     struct value *ret, struct err *err)
{
    struct value_map *outer = value_map_new(arena, 1), *map = outer;
    struct str rest = key;
    size_t depth = 0;

    while (rest.p) {
        struct str part = str_cut(&rest, '.');
        struct value_map *inner = rest.p ? value_map_new(arena, 1) : NULL;

        if (part.n == 0)
            return err_set(err, ERR_INVALID, "'%.*s' is not a valid fact key", STR_ARG(key));
        if (++depth > CUSTOM_DEPTH_MAX)
            return err_set(err, ERR_LIMIT, "the key of a fact has at most %d parts",
                           CUSTOM_DEPTH_MAX);
        value_map_set(arena, map, value_str(arena_str(arena, part)),
                      inner ? value_map(inner) : *value);
        map = inner;
    }
    *ret = value_map(outer);
    return 0;
}

/* Refuse to overwrite a text where the path needs a map. */
static int check_fact_path(const struct value *map, struct str key, struct err *err)
{
    for (size_t at = str_find_char(key, '.', 0); at != STR_NONE;
         at = str_find_char(key, '.', at + 1)) {
        const struct value *part = value_path(map, str_slice(key, 0, at), '.');

        if (part && part->kind != VALUE_MAP && part->kind != VALUE_NULL)
            return err_set(err, ERR_INVALID, "set '%.*s': '%.*s' is %s and not a map", STR_ARG(key),
                           STR_ARG(str_slice(key, 0, at)), value_describe(part));
    }
    return 0;
}

static int write_facts_file(const char *path, const struct value *map, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(CUSTOM_FILE_MAX);
    struct fs_replace_options options = { .attr = { FILE_MODE, FS_KEEP, FS_KEEP }, .follow = true };

    if (yaml_print(&text, map, err) < 0)
        return err_wrap(err, "write '%s'", path);
    return fs_replace(path, buf_view(&text), &options, err);
}

static int change_file(struct arena *arena, const char *path, struct str key,
                       const struct value *value, struct err *err)
{
    struct diags diags = DIAGS_INIT(arena);
    struct value before, change, after;

    if (custom_read(arena, path, &before, &diags) < 0)
        return diags_to_err(&diags, err);
    if (nest_fact(arena, key, value, &change, err) < 0 || check_fact_path(&before, key, err) < 0)
        return -1;
    after = value_merge(arena, &before, &change, VALUE_MERGE_REPLACE);
    return write_facts_file(path, &after, err);
}

/* Others, states of the same level among them, set facts at the same time. */
int facts_set(const char *file, struct str key, const struct value *value, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct lock lock = LOCK_NONE;
    const char *folder;
    int rc;

    file = file ? file : FACTS_FILE;
    folder = path_dirname(&arena, file);
    if (fs_mkdirs(folder, FOLDER_MODE, err) < 0 ||
        lock_take(&lock, path_join(&arena, folder, LOCK_NAME), LOCK_EXCLUSIVE, LOCK_FOREVER, NULL,
                  err) < 0)
        return -1;
    rc = change_file(&arena, file, key, value, err);
    lock_drop(&lock);
    return rc;
}
