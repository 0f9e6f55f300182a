/* mount.fstab - the entries of fstab: each folder with device, type, options and numbers. */
#include "core/base/err.h"
#include "core/edit/fstab.h"
#include "core/edit/lines.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define ARGS struct fstab_args

struct fstab_args {
    const char *config;
};

/* clang-format off */
static const struct param fstab_params[] = {
    PARAM("config", PATH, ARGS, config, "the file", .flags = PARAM_PRIMARY, .default_text = "/etc/fstab"),
    { 0 },
};
/* clang-format on */

#define FILE_MAX ((size_t)16 << 20)

static void add_fstab_line(struct arena *arena, struct value_map *map, struct str rest)
{
    static const char *const keys[] = { "fstype", "opts", "dump", "pass" };
    const struct str device = lines_word(&rest), folder = lines_word(&rest);
    struct value_map *entry = value_map_new(arena, 5);

    if (folder.n == 0 || device.p[0] == '#')
        return;
    value_map_set(arena, entry, value_text("device"), value_text(fstab_decode(arena, device)));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct str word = lines_word(&rest);

        value_map_set(arena, entry, value_text(keys[i]),
                      word.n > 0 ? value_text(fstab_decode(arena, word)) : value_text("0"));
    }
    value_map_set(arena, map, value_text(fstab_decode(arena, folder)), value_map(entry));
}

static int fstab_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct fstab_args *want = args;
    struct value_map *map = value_map_new(run->arena, 8);
    struct line line;
    struct str text;

    if (fs_read(run->arena, want->config ? want->config : "/etc/fstab", FILE_MAX, &text, err) < 0)
        return -1;
    while (text.p && lines_next(&text, &line))
        add_fstab_line(run->arena, map, line.text);
    *ret = value_map(map);
    return 0;
}

const struct module module_mount_fstab = {
    .name = "mount.fstab",
    .summary = "the entries of fstab: each folder with device, type, options and numbers",
    .params = fstab_params,
    .args_size = sizeof(struct fstab_args),
    .call = fstab_call,
};
