#include "states/modules/mount/mounts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/edit/fstab.h"
#include "core/edit/lines.h"
#include "states/modules/cmd/run_tool.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define MOUNTINFO     "/proc/self/mountinfo"
#define SWAPS         "/proc/swaps"
#define MOUNTINFO_MAX ((size_t)64 << 20)

/* --- reading -------------------------------------------------------------------------------- */

/* 36 35 98:0 /root /mnt options [tags...] - type source super-options */
static bool parse_mount_line(struct arena *arena, struct str line, struct mounts_entry *ret)
{
    struct str folder, options, word;

    for (int i = 0; i < 2; i++)
        (void)lines_word(&line);
    ret->number = fstab_decode(arena, lines_word(&line));
    ret->root = fstab_decode(arena, lines_word(&line));
    folder = lines_word(&line);
    options = lines_word(&line);
    do
        word = lines_word(&line);
    while (word.n > 0 && !str_is(word, "-"));
    ret->folder = fstab_decode(arena, folder);
    ret->options = fstab_decode(arena, options);
    ret->type = fstab_decode(arena, lines_word(&line));
    ret->device = fstab_decode(arena, lines_word(&line));
    ret->super_options = fstab_decode(arena, lines_word(&line));
    return word.n > 0 && ret->folder[0] == '/';
}

int mounts_read(struct state_run *run, struct mounts_list *ret, struct err *err)
{
    struct mounts_entry entry;
    struct line line;
    struct str text;

    *ret = (struct mounts_list){ .list = VEC_INIT };
    if (fs_read(run->arena, MOUNTINFO, MOUNTINFO_MAX, &text, err) < 0)
        return -1;
    while (lines_next(&text, &line))
        if (parse_mount_line(run->arena, line.text, &entry))
            VEC_PUSH_IN(run->arena, &ret->list, entry);
    return 0;
}

const struct mounts_entry *mounts_find(const struct mounts_list *list, const char *folder)
{
    for (size_t i = list->list.n; i-- > 0;)
        if (strcmp(list->list.p[i].folder, folder) == 0)
            return &list->list.p[i];
    return NULL;
}

/* Another mount that shows this folder of the file system; NULL: none. */
static const char *find_mount_source(struct state_run *run, const struct mounts_list *list,
                                     const struct mounts_entry *entry)
{
    VEC_EACH (&list->list, other) {
        const size_t n = strcmp(other->root, "/") == 0 ? 0 : strlen(other->root);

        if (other == entry || strcmp(other->number, entry->number) != 0 ||
            strncmp(other->root, entry->root, n) != 0 || entry->root[n] != '/')
            continue;
        return arena_printf(run->arena, "%s%s",
                            strcmp(other->folder, "/") == 0 ? "" : other->folder, entry->root + n);
    }
    return NULL;
}

struct mounts_entry mounts_recipe(struct state_run *run, const struct mounts_list *list,
                                  const struct mounts_entry *entry)
{
    struct mounts_entry recipe = *entry;
    const char *source = strcmp(entry->root, "/") == 0 ? NULL : find_mount_source(run, list, entry);

    if (!source)
        return recipe;
    recipe.device = source;
    recipe.type = "none";
    recipe.options = arena_printf(run->arena, "bind,%s", entry->options);
    recipe.super_options = "";
    return recipe;
}

int mounts_note(struct state_run *run, const struct mounts_list *list,
                const struct mounts_entry *entry, struct err *err)
{
    struct value_map *was = value_map_new(run->arena, 4);
    const struct mounts_entry recipe = mounts_recipe(run, list, entry);

    value_map_set(run->arena, was, value_text("device"), value_text(recipe.device));
    value_map_set(run->arena, was, value_text("type"), value_text(recipe.type));
    value_map_set(run->arena, was, value_text("options"), value_text(recipe.options));
    value_map_set(run->arena, was, value_text("super"), value_text(recipe.super_options));
    return state_note(run, "was", value_map(was), err);
}

struct mounts_entry mounts_noted(struct state_run *run, const char *folder)
{
    const struct value *was = state_noted(run, "was");

    return (struct mounts_entry){ .folder = folder,
                                  .device = value_get_view(was, "device").p,
                                  .type = value_get_view(was, "type").p,
                                  .options = value_get_view(was, "options").p,
                                  .super_options = value_get_view(was, "super").p };
}

/* --- options --------------------------------------------------------------------------------- */

static bool has_option(const char *options, struct str option)
{
    struct str rest = str_from(options);

    while (rest.p)
        if (str_eq(str_cut(&rest, ','), option))
            return true;
    return false;
}

bool mounts_has_option(const char *options, const char *option)
{
    return has_option(options, str_from(option));
}

/* The value of "key=..." in a list; a NULL view when there is none. */
static struct str find_mount_option(const char *options, struct str key)
{
    struct str rest = str_from(options);

    while (rest.p) {
        const struct str option = str_cut(&rest, ',');

        if (option.n > key.n && option.p[key.n] == '=' && str_starts(option, key))
            return str_from_offset(option, key.n + 1);
    }
    return (struct str){ NULL, 0 };
}

/* Flags that the kernel shows, with the flags that undo them. */
static const struct {
    const char *flag, *opposite;
} flags[] = {
    { "ro", "rw" },
    { "nosuid", "suid" },
    { "nodev", "dev" },
    { "noexec", "exec" },
    { "noatime", "atime" },
    { "nodiratime", "diratime" },
    { "sync", "async" },
    { "dirsync", NULL },
    { "strictatime", "nostrictatime" },
    { "relatime", "norelatime" },
    { "lazytime", "nolazytime" },
};
/* The flags above that are off by default. */
#define OFF_BY_DEFAULT 4

static bool is_option_set(const struct mounts_entry *entry, const char *flag)
{
    return mounts_has_option(entry->options, flag) || mounts_has_option(entry->super_options, flag);
}

/* "user" and its variants imply these three. */
static bool is_implied(const char *wanted, const char *flag)
{
    static const char *const users[] = { "user", "users", "owner", "group" };

    if (strcmp(flag, "ro") == 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(users); i++)
        if (mounts_has_option(wanted, users[i]))
            return true;
    return false;
}

/* The same number in another notation: 0755 and 755, 1m and 1024k. */
static bool is_same_value(struct str a, struct str b)
{
    uint64_t left, right;
    struct err ignored;

    while (a.n > 1 && a.p[0] == '0')
        a = str_from_offset(a, 1);
    while (b.n > 1 && b.p[0] == '0')
        b = str_from_offset(b, 1);
    if (str_eq(a, b))
        return true;
    return number_parse_size(a, &left, &ignored) == 0 &&
           number_parse_size(b, &right, &ignored) == 0 && left == right;
}

static bool is_flag_other(const struct mounts_entry *entry, const char *wanted, size_t i)
{
    const bool now = is_option_set(entry, flags[i].flag);

    if (mounts_has_option(wanted, flags[i].flag))
        return !now;
    if (flags[i].opposite && mounts_has_option(wanted, flags[i].opposite))
        return now;
    return now && i < OFF_BY_DEFAULT && !is_implied(wanted, flags[i].flag);
}

const char *mounts_differing(struct state_run *run, const struct mounts_entry *entry,
                             const char *wanted, const char *hidden)
{
    struct str rest = str_from(wanted);

    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        if (!mounts_has_option(hidden, flags[i].flag) && is_flag_other(entry, wanted, i))
            return flags[i].flag;
    while (rest.p) {
        const struct str option = str_cut(&rest, ',');
        const size_t equals = str_find_char(option, '=', 0);
        const struct str key = str_slice(option, 0, equals == STR_NONE ? option.n : equals);
        const struct str now = find_mount_option(entry->super_options, key);

        if (equals == STR_NONE || !now.p || has_option(hidden, key) || has_option(hidden, option))
            continue; /* a flag, or not visible */
        if (!is_same_value(now, str_from_offset(option, equals + 1)))
            return arena_str(run->arena, option).p;
    }
    return NULL;
}

/* --- devices ---------------------------------------------------- */

static const char *find_real_device(struct state_run *run, const char *device)
{
    static const struct {
        const char *tag, *folder;
    } tags[] = {
        { "UUID=", "/dev/disk/by-uuid" },
        { "LABEL=", "/dev/disk/by-label" },
        { "PARTUUID=", "/dev/disk/by-partuuid" },
        { "PARTLABEL=", "/dev/disk/by-partlabel" },
    };
    char room[PATH_MAX];

    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        if (str_starts(str_from(device), str_from(tags[i].tag)))
            device =
                arena_printf(run->arena, "%s/%s", tags[i].folder, device + strlen(tags[i].tag));
    return device[0] == '/' && realpath(device, room) ? arena_strdup(run->arena, room) : device;
}

bool mounts_is_device(struct state_run *run, const struct mounts_entry *entry, const char *device)
{
    struct stat wanted, mounted;

    if (strcmp(find_real_device(run, device), find_real_device(run, entry->device)) == 0)
        return true;
    if (device[0] != '/' || stat(device, &wanted) < 0)
        return false;
    if (S_ISREG(wanted.st_mode))
        return strncmp(entry->device, "/dev/loop", strlen("/dev/loop")) == 0;
    /* a bind mount is the same folder */
    return S_ISDIR(wanted.st_mode) && stat(entry->folder, &mounted) == 0 &&
           wanted.st_dev == mounted.st_dev && wanted.st_ino == mounted.st_ino;
}

/* --- swap -------------------------------------------------------------------------------- */

int mounts_is_swap(struct state_run *run, const char *device, bool *ret, struct err *err)
{
    const char *real = find_real_device(run, device);
    struct line line;
    struct str text;

    *ret = false;
    if (fs_read(run->arena, SWAPS, MOUNTINFO_MAX, &text, err) < 0)
        return -1;
    while (text.p && lines_next(&text, &line)) /* a kernel without swap has no such file */
        *ret |= strcmp(fstab_decode(run->arena, lines_word(&line.text)), real) == 0;
    return 0;
}

bool mounts_has_swap(struct state_run *run, struct str fstab, const char *device)
{
    const char *real = find_real_device(run, device);
    struct fstab_entry entry;

    while (fstab_next(run->arena, &fstab, &entry))
        if (strcmp(entry.type, "swap") == 0 &&
            strcmp(find_real_device(run, entry.device), real) == 0)
            return true;
    return false;
}

/* --- applying ---------------------------------------------------------------------------- */

int mounts_mount(struct state_run *run, const struct mounts_entry *entry, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };

    tool_add(&tool, &words, "mount");
    if (entry->type && entry->type[0] != '\0') {
        tool_add(&tool, &words, "-t");
        tool_add(&tool, &words, entry->type);
    }
    if (entry->options && entry->options[0] != '\0') {
        tool_add(&tool, &words, "-o");
        tool_add(&tool, &words, entry->options);
    }
    tool_add(&tool, &words, "--");
    tool_add(&tool, &words, entry->device);
    tool_add(&tool, &words, entry->folder);
    return tool_run(&tool, tool_argv(&tool, &words), NULL, NULL, err);
}

/* Pass the device: without it, mount would take more options from fstab. */
int mounts_remount(struct state_run *run, const char *device, const char *folder,
                   const char *options, struct err *err)
{
    const struct tool tool = run_tool(run);

    return tool_run(
        &tool,
        TOOL("mount", "-o", arena_printf(run->arena, "remount,%s", options), "--", device, folder),
        NULL, NULL, err);
}

static const char *join_all_options(struct state_run *run, const struct mounts_entry *entry)
{
    return arena_printf(run->arena, "%s,%s", entry->options, entry->super_options);
}

int mounts_mount_again(struct state_run *run, const struct mounts_entry *entry, struct err *err)
{
    struct mounts_entry whole = *entry;

    if (entry->super_options[0] == '\0')
        return mounts_mount(run, entry, err);
    whole.options = join_all_options(run, entry);
    return mounts_mount(run, &whole, err) == 0 ? 0 : mounts_mount(run, entry, err);
}

int mounts_remount_again(struct state_run *run, const struct mounts_entry *entry, struct err *err)
{
    if (entry->super_options[0] != '\0' &&
        mounts_remount(run, entry->device, entry->folder, join_all_options(run, entry), err) == 0)
        return 0;
    return mounts_remount(run, entry->device, entry->folder, entry->options, err);
}

int mounts_unmount(struct state_run *run, const char *folder, struct err *err)
{
    const struct tool tool = run_tool(run);

    return tool_run(&tool, TOOL("umount", "--", folder), NULL, NULL, err);
}
