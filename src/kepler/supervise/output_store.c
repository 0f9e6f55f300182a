#include "kepler/supervise/output_store.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/tree.h"

#define FOLDER_MODE 0750
#define FILE_MODE   0600
#define SUFFIX      ".json"

static int put_values(const char *path, const struct value *values, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(OUTPUT_STORE_FILE_MAX);
    const struct fs_replace_options options = { .attr = { FILE_MODE, FS_KEEP, FS_KEEP },
                                                .sync = FS_NO_SYNC };

    if (json_print(&text, values, 0, err) < 0)
        return err_wrap(err, "keep outputs");
    if (fs_mkdirs(path_dirname(&arena, path), FOLDER_MODE, err) < 0)
        return err_wrap(err, "keep outputs");
    return fs_replace(path, buf_view(&text), &options, err);
}

int output_store_put_step(const char *folder, const char *service, enum hook_phase phase,
                          const char *step, const struct value *values, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (step[0] == '.' || strchr(step, '/'))
        return err_set(err, ERR_INVALID,
                       "keep outputs of step '%s': its name is not a valid file name", step);
    return put_values(arena_printf(&arena, "%s/%s/hooks/%s/%s" SUFFIX, folder, service,
                                   hook_phase_name(phase), step),
                      values, err);
}

int output_store_put_process(const char *folder, const char *service, const struct value *values,
                             struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    return put_values(arena_printf(&arena, "%s/%s/process" SUFFIX, folder, service), values, err);
}

int output_store_put(const char *folder, const char *service, const struct value *values,
                     struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    return put_values(arena_printf(&arena, "%s/%s/outputs" SUFFIX, folder, service), values, err);
}

static struct value no_values(struct arena *arena)
{
    return value_map(value_map_new(arena, 0));
}

/* No file is an empty map. */
static int load_values(struct arena *arena, const char *path, struct value *ret, struct err *err)
{
    struct str text;

    if (fs_read(arena, path, OUTPUT_STORE_FILE_MAX, &text, err) < 0)
        return -1;
    *ret = no_values(arena);
    if (!text.p)
        return 0;
    if (json_decode(arena, text, ret, err) < 0)
        return err_wrap(err, "read '%s'", path);
    return 0;
}

static int load_phase(struct arena *arena, const char *folder, struct value_map *hooks,
                      const char *phase, struct err *err)
{
    struct value_map *steps = value_map_new(arena, 0), *outer = value_map_new(arena, 1);
    struct fs_names names;

    if (fs_list(arena, folder, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name) {
        struct str file = str_from(*name);
        struct value values;

        if (!str_ends(file, STR(SUFFIX)))
            continue;
        if (load_values(arena, path_join(arena, folder, *name), &values, err) < 0)
            return -1;
        file = arena_str(arena, str_slice(file, 0, file.n - strlen(SUFFIX)));
        value_map_set(arena, steps, value_str(file), values);
    }
    if (steps->count == 0)
        return 0;
    value_map_set(arena, outer, value_text("outputs"), value_map(steps));
    value_map_set(arena, hooks, value_text(phase), value_map(outer));
    return 0;
}

static int load_hooks(struct arena *arena, const char *folder, struct value *ret, struct err *err)
{
    struct value_map *hooks = value_map_new(arena, 0);

    for (int i = 0; i < HOOK_PHASES; i++) {
        const char *phase = hook_phase_name((enum hook_phase)i);
        const char *path = path_join(arena, folder, phase);
        struct fs_info info;

        if (fs_stat(path, &info, err) < 0)
            return -1;
        if (info.kind == FS_FOLDER && load_phase(arena, path, hooks, phase, err) < 0)
            return -1;
    }
    *ret = value_map(hooks);
    return 0;
}

int output_store_load(struct arena *arena, const char *folder, const char *service,
                      struct value *ret_outputs, struct value *ret_hooks, struct err *err)
{
    const char *own = path_join(arena, folder, service);
    struct fs_info info;

    if (fs_stat(own, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE) { /* as for most services: no need to look for each file */
        *ret_outputs = no_values(arena);
        *ret_hooks = no_values(arena);
        return 0;
    }
    if (load_values(arena, path_join(arena, own, "outputs" SUFFIX), ret_outputs, err) < 0)
        return -1;
    return load_hooks(arena, path_join(arena, own, "hooks"), ret_hooks, err);
}

int output_store_clear(const char *folder, const char *service, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    return tree_remove(path_join(&arena, folder, service), err);
}
