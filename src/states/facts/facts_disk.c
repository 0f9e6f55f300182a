/* Mounted file systems with their space: disk.mounts; and Salt's disks and ssds. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "states/facts/scan.h"
#include "core/sys/fd.h"

#define MOUNTS_SIZE_MAX      ((size_t)1 << 20)
#define FILESYSTEMS_SIZE_MAX ((size_t)16 << 10)
#define MOUNTS_MAX           1000
#define DEVICES_MAX          1000

/* File systems without a device, but on a disk of this machine. The root always counts. */
static const char *const local_kinds[] = { "zfs", "bcachefs" };

static bool is_nodev(struct str filesystems, struct str kind)
{
    while (filesystems.p) {
        struct str line = str_cut(&filesystems, '\n');
        struct str flag = str_cut(&line, '\t');

        if (line.p && str_eq(line, kind))
            return str_is(flag, "nodev");
    }
    return true; /* a type that the kernel does not list is foreign */
}

static bool has_space(struct str filesystems, struct str folder, struct str kind)
{
    for (size_t i = 0; i < ARRAY_LEN(local_kinds); i++)
        if (str_is(kind, local_kinds[i]))
            return true;
    return str_is(folder, "/") || !is_nodev(filesystems, kind);
}

/* Blanks and backslashes are written as \040 and the like. */
static struct str decode_mount_text(const struct scan *scan, struct str text)
{
    char *copy = arena_alloc(scan->arena, text.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        const char *p = text.p + i;

        if (p[0] == '\\' && i + 3 < text.n && p[1] >= '0' && p[1] <= '3') {
            copy[n++] = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
            i += 3;
        } else {
            copy[n++] = p[0];
        }
    }
    copy[n] = '\0';
    return (struct str){ copy, n };
}

static void add_space(struct scan *scan, struct value_map *mount, const char *folder)
{
    struct statvfs space;
    int64_t block, total, used, available;

    if (statvfs(arena_printf(scan->arena, "%s%s", scan->root, folder), &space) < 0)
        return;
    block = (int64_t)space.f_frsize;
    total = (int64_t)space.f_blocks * block;
    used = total - (int64_t)space.f_bfree * block;
    available = (int64_t)space.f_bavail * block;
    scan_add_int(scan, mount, "total", total);
    scan_add_int(scan, mount, "used", used);
    scan_add_int(scan, mount, "free", available);
    /* Like df: blocks reserved for root count neither as used nor as free. */
    scan_add(scan, mount, "used_percent",
             value_double(used + available > 0 ? (double)used * 100.0 / (double)(used + available)
                                               : 0.0));
}

static void add_mount(struct scan *scan, struct value_list *mounts, struct str filesystems,
                      struct str line)
{
    struct str device = decode_mount_text(scan, scan_word(&line));
    struct str folder = decode_mount_text(scan, scan_word(&line));
    struct str kind = scan_word(&line), opts = scan_word(&line);
    struct value_map *mount;

    if (!opts.p || !has_space(filesystems, folder, kind))
        return;
    mount = value_map_new(scan->arena, 8);
    scan_add_text(scan, mount, "device", device);
    scan_add_text(scan, mount, "mountpoint", folder);
    scan_add_text(scan, mount, "fstype", kind);
    scan_add_text(scan, mount, "opts", opts);
    add_space(scan, mount, folder.p);
    value_list_push(scan->arena, mounts, value_map(mount));
}

static void add_mounts(struct scan *scan)
{
    struct value_map *disk = scan_add_map(scan, scan->facts, "disk");
    struct value_list *mounts = scan_add_list(scan, disk, "mounts");
    struct str filesystems = scan_read(scan, "proc/filesystems", FILESYSTEMS_SIZE_MAX);
    struct str rest = scan_read(scan, "proc/self/mounts", MOUNTS_SIZE_MAX);

    if (!rest.p)
        rest = scan_read(scan, "proc/mounts", MOUNTS_SIZE_MAX);
    while (rest.p && mounts->count < MOUNTS_MAX)
        add_mount(scan, mounts, filesystems, str_cut(&rest, '\n'));
}

/* --- devices ------------------------------------------------------------------------ */

static int compare_disk_names(const void *a, const void *b)
{
    const struct value *x = a, *y = b;

    return str_compare(x->s, y->s);
}

static void sort_disk_names(struct value_list *list)
{
    if (list->count > 1)
        qsort(list->items, list->count, sizeof(list->items[0]), compare_disk_names);
}

static bool is_disk(const char *name)
{
    static const char *const others[] = { "loop", "ram", "zram", "sr", "fd", "dm-", "md", "." };

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (strncmp(name, others[i], strlen(others[i])) == 0)
            return false;
    return true;
}

static void add_devices(struct scan *scan)
{
    struct value_list *disks = scan_add_list(scan, scan->facts, "disks");
    struct value_list *ssds = scan_add_list(scan, scan->facts, "ssds");
    int fd = scan_open_file(scan, "sys/block", O_RDONLY | O_DIRECTORY);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (!folder) {
        fd_close(&fd);
        return;
    }
    while ((entry = readdir(folder)) && disks->count + ssds->count < DEVICES_MAX) {
        char *path;

        if (!is_disk(entry->d_name))
            continue;
        path = arena_printf(scan->arena, "sys/block/%s/queue/rotational", entry->d_name);
        scan_push_text(scan, str_is(scan_line(scan, path), "0") ? ssds : disks,
                       str_from(entry->d_name));
    }
    (void)closedir(folder);
    sort_disk_names(disks);
    sort_disk_names(ssds);
}

void facts_disk(struct scan *scan)
{
    add_mounts(scan);
    add_devices(scan);
}
