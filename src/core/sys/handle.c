#include "core/sys/handle.h"

#include <fcntl.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/sys/fd.h"

/* The kernel's struct, with room. */
union handle {
    struct file_handle head;
    char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

struct str handle_take(struct arena *arena, int fd)
{
    union handle handle = { .head = { .handle_bytes = MAX_HANDLE_SZ } };
    int mount;

    if (name_to_handle_at(fd, "", &handle.head, &mount, AT_EMPTY_PATH) < 0)
        return (struct str){ NULL, 0 };
    return arena_str(
        arena, str_bytes(handle.bytes, sizeof(struct file_handle) + handle.head.handle_bytes));
}

int handle_open(int folder, struct str bytes)
{
    AUTO_FD int mount = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    union handle handle = { 0 };

    if (mount < 0 || bytes.n < sizeof(handle.head) || bytes.n > sizeof(handle))
        return -1;
    memcpy(&handle, bytes.p, bytes.n);
    if (handle.head.handle_bytes != bytes.n - sizeof(handle.head))
        return -1; /* damaged */
    return open_by_handle_at(mount, &handle.head, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}
