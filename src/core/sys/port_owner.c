#include "core/sys/port_owner.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/number.h"
#include "core/sys/fs.h"

#define TABLE_MAX ((size_t)64 << 20)
#define TEXT_MAX  ((size_t)64 << 10)
#define LISTENING "0A"
#define SERVICE   ".service"

/* The columns of a line in /proc/net/tcp. */
enum { COLUMN_LOCAL = 1, COLUMN_STATE = 3, COLUMN_INODE = 9, COLUMNS };

static struct str cut_word(struct str *rest)
{
    *rest = str_trim_left(*rest);
    return str_cut(rest, ' ');
}

/* "0100007F:107E" */
static bool has_port(struct str address, uint16_t port)
{
    const size_t colon = str_find_char(address, ':', 0);
    char text[5] = "";

    if (colon == STR_NONE || address.n - colon - 1 != sizeof(text) - 1)
        return false;
    memcpy(text, address.p + colon + 1, sizeof(text) - 1);
    return strtoul(text, NULL, 16) == port;
}

uint64_t port_owner_socket(struct str table, uint16_t port)
{
    while (table.p) {
        struct str line = str_cut(&table, '\n'), columns[COLUMNS];
        struct err ignored;
        uint64_t inode;

        for (size_t i = 0; i < COLUMNS; i++)
            columns[i] = cut_word(&line);
        if (str_is(columns[COLUMN_STATE], LISTENING) && has_port(columns[COLUMN_LOCAL], port) &&
            number_parse_uint(columns[COLUMN_INODE], &inode, &ignored) == 0)
            return inode;
    }
    return 0;
}

struct str port_owner_unit(struct str cgroups)
{
    struct str found = { NULL, 0 };

    while (cgroups.p) {
        struct str line = str_cut(&cgroups, '\n');

        while (line.p) {
            struct str part = str_cut(&line, '/');

            if (str_ends(part, STR(SERVICE)))
                found = part;
        }
    }
    return found;
}

static struct str read_proc_file(struct arena *arena, const char *path, size_t max)
{
    struct err ignored;
    struct str text;

    return fs_read(arena, path, max, &text, &ignored) == 0 ? text : (struct str){ NULL, 0 };
}

/* Does one of its descriptors lead to the socket? */
static bool has_open_socket(const char *pid, const char *socket)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = arena_printf(&arena, "/proc/%s/fd", pid), *target;
    struct fs_names names = { 0 };
    struct err ignored;

    if (fs_list(&arena, folder, &names, &ignored) < 0)
        return false;
    for (size_t i = 0; i < names.list.n; i++)
        if (fs_readlink(&arena, arena_printf(&arena, "%s/%s", folder, names.list.p[i]), &target,
                        &ignored) == 0 &&
            target && strcmp(target, socket) == 0)
            return true;
    return false;
}

static void describe_port_owner(struct arena *arena, const char *pid, int64_t number,
                                struct port_owner *ret)
{
    const char *comm = arena_printf(arena, "/proc/%s/comm", pid);
    const char *cgroup = arena_printf(arena, "/proc/%s/cgroup", pid);
    const struct str unit = port_owner_unit(read_proc_file(arena, cgroup, TEXT_MAX));
    const struct str name = str_trim(read_proc_file(arena, comm, TEXT_MAX));

    *ret = (struct port_owner){
        .pid = number,
        .name = arena_str(arena, name).p,
        .unit = unit.p ? arena_str(arena, unit).p : NULL,
    };
}

bool port_owner_find(struct arena *arena, uint16_t port, struct port_owner *ret_owner)
{
    uint64_t inode = port_owner_socket(read_proc_file(arena, "/proc/net/tcp", TABLE_MAX), port);
    struct fs_names names = { 0 };
    const char *socket;
    struct err ignored;
    int64_t number;

    if (inode == 0)
        inode = port_owner_socket(read_proc_file(arena, "/proc/net/tcp6", TABLE_MAX), port);
    if (inode == 0 || fs_list(arena, "/proc", &names, &ignored) < 0)
        return false;
    socket = arena_printf(arena, "socket:[%llu]", (unsigned long long)inode);
    for (size_t i = 0; i < names.list.n; i++) {
        if (number_parse_int(str_from(names.list.p[i]), &number, &ignored) < 0 ||
            !has_open_socket(names.list.p[i], socket))
            continue;
        describe_port_owner(arena, names.list.p[i], number, ret_owner);
        return true;
    }
    return false;
}
