#include "kepler/logs/segment_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"

enum {
    NAME_DIGITS = 16,
    WINDOW_SIZE = 256 << 10, /* bytes that are read at once */
};

static const char *const suffixes[] = {
    [SEGMENT_PART_LOG] = "log",
    [SEGMENT_PART_INDEX] = "idx",
    [SEGMENT_PART_TEMP] = "tmp",
};

void segment_file_name(uint64_t first, enum segment_part part,
                       char out[static SEGMENT_FILE_NAME_SIZE])
{
    (void)snprintf(out, SEGMENT_FILE_NAME_SIZE, "%016" PRIx64 ".%s", first, suffixes[part]);
}

/* "00000000000000ff.log" */
static bool parse_segment_name(const char *name, uint64_t *ret_first)
{
    char again[SEGMENT_FILE_NAME_SIZE];
    uint64_t first = strtoull(name, NULL, 16);

    segment_file_name(first, SEGMENT_PART_LOG, again);
    if (strcmp(name, again) != 0)
        return false;
    *ret_first = first;
    return true;
}

static int compare_segments(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

int segment_file_list(int folder, struct segment_list *list, struct err *err)
{
    AUTO_FD int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    uint64_t first;

    if (!dir)
        return err_sys(err, errno, "list the segments of the log");
    (void)fd_take(&fd);
    vec_clear(&list->firsts);
    while ((entry = readdir(dir)))
        if (parse_segment_name(entry->d_name, &first))
            VEC_PUSH(&list->firsts, first);
    (void)closedir(dir);
    if (list->firsts.n)
        qsort(list->firsts.p, list->firsts.n, sizeof(uint64_t), compare_segments);
    return 0;
}

/* --- the window ----------------------------------------------------------------------- */

void segment_file_forget(struct segment_file *file)
{
    file->window_n = 0;
}

static int fill_window(struct segment_file *file, uint64_t offset, size_t n, struct err *err)
{
    const size_t want = n > WINDOW_SIZE ? n : WINDOW_SIZE;
    ssize_t got;

    if (file->window_cap < want) {
        file->window = mem_realloc(file->window, want);
        file->window_cap = want;
    }
    file->window_at = offset;
    file->window_n = 0;
    while (file->window_n < want) {
        got = pread(file->fd, file->window + file->window_n, want - file->window_n,
                    (off_t)(offset + file->window_n));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, errno, "read segment %016" PRIx64, file->header.first);
        if (got == 0)
            break;
        file->window_n += (size_t)got;
    }
    return 0;
}

/* `n` bytes at `offset`; NULL when the file ends before. */
static int view_bytes(struct segment_file *file, uint64_t offset, size_t n,
                      const unsigned char **ret, struct err *err)
{
    const uint64_t end = file->window_at + file->window_n;

    if (offset < file->window_at || offset + n > end) {
        if (fill_window(file, offset, n, err) < 0)
            return -1;
    }
    *ret = file->window_n - (offset - file->window_at) >= n
               ? file->window + (offset - file->window_at)
               : NULL;
    return 0;
}

/* --- blocks --------------------------------------------------------------------------- */

/* Finds the next magic after `*offset`. */
static int find_magic(struct segment_file *file, uint64_t *offset, bool *ret_found, struct err *err)
{
    const struct str magic = segment_block_magic(&file->header);
    const unsigned char *bytes, *hit;
    uint64_t at = *offset + 1;

    for (;;) {
        size_t there;

        if (view_bytes(file, at, magic.n, &bytes, err) < 0)
            return -1;
        if (!bytes)
            break;
        there = file->window_n - (size_t)(at - file->window_at);
        hit = memmem(bytes, there, magic.p, magic.n);
        if (hit) {
            *offset = at + (uint64_t)(hit - bytes);
            *ret_found = true;
            return 0;
        }
        at += there - (magic.n - 1);
    }
    *ret_found = false;
    return 0;
}

enum segment_place {
    PLACE_BLOCK,
    PLACE_DAMAGED, /* a head that is whole, and a body that is not */
    PLACE_TORN,    /* the file ends inside */
    PLACE_UNKNOWN,
};

/* Reads the head of the block at exactly `offset`: PLACE_BLOCK when it is whole. */
static int read_block_head(struct segment_file *file, uint64_t offset,
                           enum segment_place *ret_place, struct segment_block *ret_block,
                           struct err *err)
{
    const unsigned char *bytes;
    size_t size;

    *ret_place = PLACE_TORN;
    if (view_bytes(file, offset, SEGMENT_PEEK, &bytes, err) < 0)
        return -1;
    if (!bytes)
        return 0;
    size = segment_info_size(bytes, &file->header);
    if (size > 0 && view_bytes(file, offset, size, &bytes, err) < 0)
        return -1;
    if (!bytes)
        return 0;
    *ret_place = PLACE_UNKNOWN;
    if (size == 0 || !segment_info_decode(str_bytes(bytes, size), &file->header, ret_block))
        return 0;
    *ret_place = PLACE_TORN;
    if (view_bytes(file, offset, ret_block->head, &bytes, err) < 0)
        return -1;
    if (!bytes)
        return 0;
    segment_check_decode(str_bytes(bytes, ret_block->head), &file->header, ret_block);
    *ret_place = PLACE_BLOCK;
    return 0;
}

/* Reads what is at exactly `offset`; sets the block for the first two results. */
static int read_segment_place(struct segment_file *file, uint64_t offset, bool verify,
                              enum segment_place *ret_place, struct segment_block *ret_block,
                              struct str *ret_body, struct err *err)
{
    const unsigned char *bytes;
    struct segment_block block;

    *ret_body = (struct str){ NULL, 0 };
    if (read_block_head(file, offset, ret_place, &block, err) < 0)
        return -1;
    if (*ret_place != PLACE_BLOCK)
        return 0;
    *ret_place = PLACE_TORN;
    if (view_bytes(file, offset, segment_block_size(&block), &bytes, err) < 0)
        return -1;
    if (!bytes)
        return 0;
    bytes += block.head;
    *ret_block = block;
    *ret_place = PLACE_DAMAGED;
    if (verify && !segment_block_is_whole(&block, file->header.salt, bytes))
        return 0;
    *ret_place = PLACE_BLOCK;
    *ret_body = str_bytes(bytes, block.length);
    return 0;
}

static void join_heads(struct segment_block *heads, const struct segment_block *block)
{
    if (heads->lines == 0)
        *heads = *block;
    else
        heads->lines += block->lines;
    heads->end = block->end;
    if (block->time_min < heads->time_min)
        heads->time_min = block->time_min;
    if (block->time_max > heads->time_max)
        heads->time_max = block->time_max;
    segment_mask_join(&heads->services, &block->services);
}

/* Moves `*at` past bytes that are not a block. `ret_more` is false at the end. */
static int pass_over(struct segment_file *file, enum segment_place place,
                     const struct segment_block *block, uint64_t *at, bool *ret_more,
                     struct err *err)
{
    struct segment_gap *gap = &file->gap;

    *ret_more = place != PLACE_TORN;
    if (place == PLACE_DAMAGED) {
        join_heads(&gap->heads, block);
        *at += segment_block_size(block);
        gap->size = *at - gap->offset;
    }
    if (place != PLACE_UNKNOWN)
        return 0;
    if (find_magic(file, at, ret_more, err) < 0)
        return -1;
    gap->unknown |= *ret_more; /* later bytes show that it was not a block being written */
    gap->tail = !*ret_more;
    return 0;
}

static int find_next_block(struct segment_file *file, uint64_t *offset, bool verify,
                           struct segment_block *ret_block, struct str *ret_body, struct err *err)
{
    uint64_t at = *offset;
    bool more = true;

    file->gap = (struct segment_gap){ .offset = at };
    while (more) {
        enum segment_place place;

        if (read_segment_place(file, at, verify, &place, ret_block, ret_body, err) < 0)
            return -1;
        if (place == PLACE_BLOCK) {
            file->gap.size = at - file->gap.offset;
            *offset = at;
            return 0;
        }
        if (pass_over(file, place, ret_block, &at, &more, err) < 0)
            return -1;
    }
    *offset = file->gap.offset + file->gap.size;
    segment_file_forget(file); /* a writer may put something else there */
    return 0;
}

int segment_file_next(struct segment_file *file, uint64_t *offset, struct segment_block *ret_block,
                      struct str *ret_body, struct err *err)
{
    return find_next_block(file, offset, true, ret_block, ret_body, err);
}

int segment_file_next_head(struct segment_file *file, uint64_t *offset,
                           struct segment_block *ret_block, bool *ret_found, struct err *err)
{
    struct str body;

    if (find_next_block(file, offset, false, ret_block, &body, err) < 0)
        return -1;
    *ret_found = body.p != NULL;
    return 0;
}

int segment_file_tail(struct segment_file *file, uint64_t offset, struct err *err)
{
    struct stat st;

    if (fstat(file->fd, &st) < 0)
        return err_sys(err, errno, "read the head of segment %016" PRIx64, file->header.first);
    file->gap = (struct segment_gap){ .offset = offset, .unknown = true };
    if ((uint64_t)st.st_size > offset)
        file->gap.size = (uint64_t)st.st_size - offset;
    return 0;
}

int segment_file_scan(struct segment_file *file, struct err *err)
{
    uint64_t offset = segment_index_end(&file->index);
    struct segment_block block;
    bool found;

    for (;;) {
        if (segment_file_next_head(file, &offset, &block, &found, err) < 0)
            return -1;
        if (!found)
            return 0;
        segment_index_add(&file->index, offset, &block);
        offset = segment_index_end(&file->index);
    }
}

/* --- opening -------------------------------------------------------------------------- */

/* Ignore an unreadable index: the heads of the blocks have the same data. */
static void load_index(int folder, struct segment_file *file)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char name[SEGMENT_FILE_NAME_SIZE];
    struct str bytes = { NULL, 0 };
    struct stat st;
    struct err err;

    segment_file_name(file->header.first, SEGMENT_PART_INDEX, name);
    AUTO_FD int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(file->fd, &st) < 0)
        return;
    if (fs_read_fd(&arena, fd, name, SEGMENT_FILE_INDEX_MAX, &bytes, &err) < 0)
        return;
    segment_index_decode(&file->index, bytes, file->header.salt, (uint64_t)st.st_size);
}

int segment_file_open(int folder, uint64_t first, struct segment_file *ret_file, struct err *err)
{
    struct segment_file file = SEGMENT_FILE_NONE;
    unsigned char bytes[SEGMENT_HEADER_MAX];
    char name[SEGMENT_FILE_NAME_SIZE];
    size_t n = 0;

    segment_file_name(first, SEGMENT_PART_LOG, name);
    AUTO_FD int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_NOT_FOUND, "segment '%s' is gone", name);
    if (fd < 0)
        return err_sys(err, errno, "open segment '%s'", name);
    if (fd_read(fd, bytes, sizeof(bytes), &n, err) < 0)
        return err_wrap(err, "read segment '%s'", name);
    if (!segment_header_decode(str_bytes(bytes, n), &file.header) || file.header.first != first)
        return err_set(err, ERR_INVALID, "'%s' has no segment header", name);
    file.fd = fd_take(&fd);
    file.index.start = file.header.size;
    load_index(folder, &file);
    *ret_file = file;
    return 0;
}

void segment_file_close(struct segment_file *file)
{
    fd_close(&file->fd);
    segment_index_done(&file->index);
    free(file->window);
    *file = (struct segment_file)SEGMENT_FILE_NONE;
}
