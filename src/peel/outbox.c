#include "peel/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/number.h"
#include "base/vec.h"
#include "data/frame.h"
#include "data/record.h"
#include "nats/error.h"
#include "nats/publisher.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/fs.h"

#define VERSION     1
#define FOLDER_MODE 0700
#define FILE_MODE   0600
/* Messages under way at once. */
#define WINDOW 32
/* A number and its suffix. */
#define NAME_DIGITS 20
#define SUFFIX      ".letter"
#define DAMAGED     ".damaged"
#define NAME_SIZE   (NAME_DIGITS + sizeof(SUFFIX))
/* Most letters leave as soon as they are written: that many bytes of them are kept in memory, too,
 * and are not read again. */
#define COPIES_MAX ((size_t)256 << 10)

struct stored_letter {
    const char *subject, *id, *about;
    struct str payload;
};

static const struct record_field letter_fields[] = {
    RECORD("subject", TEXT, struct stored_letter, subject, RECORD_REQUIRED),
    RECORD("id", TEXT, struct stored_letter, id, RECORD_REQUIRED),
    RECORD("about", TEXT, struct stored_letter, about, 0, .fallback_text = ""),
    RECORD("payload", BYTES, struct stored_letter, payload, RECORD_REQUIRED),
    { 0 },
};
static const struct record_type letter_type =
    RECORD_TYPE("letter", struct stored_letter, letter_fields, 0);

/* One that may leave, in the order of their numbers. */
struct item {
    struct outbox *outbox;
    struct item *next;
    uint64_t number;
    char *about;       /* once it was read */
    struct copy *copy; /* or NULL */
    bool under_way;
};

/* The bytes of a file that was just written. */
struct copy {
    struct copy *next;
    uint64_t number;
    struct buf bytes;
};

struct outbox {
    char *folder;
    int folder_fd;
    pthread_mutex_t mutex; /* of the copies */
    struct copy *copies;
    size_t copies_bytes;
    struct outbox_listener listener;
    struct nats_publisher *publisher; /* NULL: no connection */
    struct item *first, **last;
    size_t under_way;
    atomic_size_t count; /* files */
    _Atomic(uint64_t) next;
};

static void print_name(char name[static NAME_SIZE], uint64_t number)
{
    (void)snprintf(name, NAME_SIZE, "%0*" PRIu64 SUFFIX, NAME_DIGITS, number);
}

static const char *file_path(struct arena *arena, const struct outbox *outbox, uint64_t number)
{
    char name[NAME_SIZE];

    print_name(name, number);
    return arena_printf(arena, "%s/%s", outbox->folder, name);
}

/* --- copies ----------------------------------------------------------------------- */

/* Takes the bytes, or frees them when there is no room. */
static void add_copy(struct outbox *outbox, uint64_t number, struct buf *bytes)
{
    struct copy *copy = NULL;

    (void)pthread_mutex_lock(&outbox->mutex);
    if (outbox->copies_bytes + bytes->n <= COPIES_MAX) {
        copy = mem_alloc(sizeof(*copy));
        *copy = (struct copy){ outbox->copies, number, *bytes };
        outbox->copies = copy;
        outbox->copies_bytes += bytes->n;
    }
    (void)pthread_mutex_unlock(&outbox->mutex);
    if (copy)
        *bytes = (struct buf)BUF_INIT(0);
}

/* NULL: there is none. The caller frees it. */
static struct copy *take_copy(struct outbox *outbox, uint64_t number)
{
    struct copy *copy = NULL;

    (void)pthread_mutex_lock(&outbox->mutex);
    for (struct copy **at = &outbox->copies; *at; at = &(*at)->next)
        if ((*at)->number == number) {
            copy = *at;
            *at = copy->next;
            outbox->copies_bytes -= copy->bytes.n;
            break;
        }
    (void)pthread_mutex_unlock(&outbox->mutex);
    return copy;
}

static void free_copy(struct copy *copy)
{
    if (!copy)
        return;
    buf_done(&copy->bytes);
    free(copy);
}

/* --- files ------------------------------------------------------------------------ */

/* A file that was not written whole is known by its checksum, so no other name is needed while it
 * is written. */
static int write_file(struct outbox *outbox, const char *name, struct str bytes, bool sync,
                      struct err *err)
{
    AUTO_FD int fd = openat(outbox->folder_fd, name,
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);

    if (fd < 0)
        return err_sys(err, errno, "create '%s/%s'", outbox->folder, name);
    if (fd_write(fd, bytes.p, bytes.n, err) < 0)
        goto fail;
    if (sync && (fdatasync(fd) < 0 || fsync(outbox->folder_fd) < 0)) {
        err_sys(err, errno, "sync '%s/%s'", outbox->folder, name);
        goto fail;
    }
    return 0;

fail:
    (void)unlinkat(outbox->folder_fd, name, 0); /* the first error is the one to report */
    return -1;
}

int outbox_keep(struct outbox *outbox, const struct outbox_letter *letter, bool sync,
                uint64_t *ret_number, struct err *err)
{
    const struct stored_letter stored = { letter->subject, letter->id, letter->about,
                                          letter->payload };
    AUTO_BUF struct buf out = BUF_INIT(OUTBOX_LETTER_MAX + FRAME_HEAD + 4096);
    const uint64_t number = atomic_fetch_add(&outbox->next, 1);
    char name[NAME_SIZE];

    if (atomic_load(&outbox->count) >= OUTBOX_MAX)
        return err_set(err, ERR_LIMIT, "more than %d messages wait for a connection", OUTBOX_MAX);
    print_name(name, number);
    if (record_append(&out, &letter_type, &stored, VERSION, 0, err) < 0 ||
        write_file(outbox, name, buf_view(&out), sync, err) < 0)
        return -1;
    atomic_fetch_add(&outbox->count, 1);
    add_copy(outbox, number, &out);
    *ret_number = number;
    return 0;
}

static bool decode_letter(struct arena *arena, struct str bytes, struct stored_letter *ret_letter)
{
    struct frame_scan scan = { .bytes = bytes };
    struct frame frame;
    struct err err;

    return frame_next(&scan, &frame) == FRAME_WHOLE &&
           record_decode(arena, &letter_type, frame.version, frame.payload, ret_letter, &err) == 0;
}

/* False when the file cannot be used. */
static bool read_letter(struct arena *arena, const char *path, struct stored_letter *ret_letter)
{
    struct str bytes;
    struct err err;

    return fs_read(arena, path, OUTBOX_LETTER_MAX + FRAME_HEAD + 4096, &bytes, &err) == 0 &&
           bytes.p && decode_letter(arena, bytes, ret_letter);
}

static void put_aside(struct arena *arena, const char *path)
{
    struct err ignored;

    (void)fs_rename(path, arena_printf(arena, "%s" DAMAGED, path), &ignored);
}

static void remove_file(struct outbox *outbox, uint64_t number)
{
    char name[NAME_SIZE];

    print_name(name, number);
    /* one that stays is sent again after a restart, and the stream knows it */
    (void)unlinkat(outbox->folder_fd, name, 0);
    atomic_fetch_sub(&outbox->count, 1);
}

/* --- sending ---------------------------------------------------------------------- */

static void free_item(struct item *item)
{
    free(item->about);
    free_copy(item->copy);
    free(item);
}

static void unlink_item(struct item *item)
{
    struct outbox *outbox = item->outbox;
    struct item **at = &outbox->first;

    while (*at != item)
        at = &(*at)->next;
    *at = item->next;
    if (outbox->last == &item->next)
        outbox->last = at;
}

static void finish_item(struct item *item, const char *why)
{
    const struct outbox_listener *listener = &item->outbox->listener;

    remove_file(item->outbox, item->number);
    unlink_item(item);
    if (why)
        listener->dropped(listener->self, item->about ? item->about : "", why);
    else
        listener->stored(listener->self, item->about ? item->about : "");
    free_item(item);
}

static void pump(struct outbox *outbox);

/* What the stream will never take goes; everything else comes again with the next connection. */
static void on_stored(void *self, const struct nats_error *error, const struct nats_stored_ack *ack)
{
    struct item *item = self;
    struct outbox *outbox = item->outbox;

    (void)ack;
    item->under_way = false;
    outbox->under_way--;
    if (!error)
        finish_item(item, NULL);
    else if (error->fault == NATS_FAULT_REFUSED || error->fault == NATS_FAULT_DENIED)
        finish_item(item, error->text);
    if (outbox->publisher && !nats_publisher_is_closed(outbox->publisher))
        pump(outbox);
}

static bool find_letter(struct arena *arena, const struct item *item,
                        struct stored_letter *ret_letter)
{
    if (item->copy)
        return decode_letter(arena, buf_view(&item->copy->bytes), ret_letter);
    return read_letter(arena, file_path(arena, item->outbox, item->number), ret_letter);
}

/* False when it must wait. */
static bool send_item(struct item *item)
{
    struct outbox *outbox = item->outbox;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct stored_letter letter;
    struct nats_store store;
    struct err err;

    if (!find_letter(&arena, item, &letter)) {
        put_aside(&arena, file_path(&arena, outbox, item->number));
        finish_item(item, "its file is damaged");
        return true;
    }
    if (!item->about)
        item->about = mem_strdup(letter.about);
    store = (struct nats_store){ .subject = str_from(letter.subject),
                                 .payload = letter.payload,
                                 .id = str_from(letter.id) };
    if (nats_publisher_send(outbox->publisher, &store, on_stored, item, &err) < 0) {
        if (err.code == ERR_BUSY || err.code == ERR_CANCELED)
            return false;
        finish_item(item, err.text);
        return true;
    }
    free_copy(item->copy); /* the publisher has one */
    item->copy = NULL;
    item->under_way = true;
    outbox->under_way++;
    return true;
}

static void pump(struct outbox *outbox)
{
    struct item *next;

    for (struct item *item = outbox->first; item && outbox->under_way < WINDOW; item = next) {
        next = item->next;
        if (!item->under_way && !send_item(item))
            return;
    }
}

static void add_item(struct outbox *outbox, uint64_t number, const char *about)
{
    struct item *item = mem_zalloc(sizeof(*item));
    struct item **at = outbox->last;

    item->outbox = outbox;
    item->number = number;
    item->about = about ? mem_strdup(about) : NULL;
    item->copy = take_copy(outbox, number);
    item->next = NULL;
    *at = item;
    outbox->last = &item->next;
}

void outbox_send(struct outbox *outbox, uint64_t number)
{
    add_item(outbox, number, NULL);
    if (outbox->publisher)
        pump(outbox);
}

void outbox_connect(struct outbox *outbox, const struct nats_js *js)
{
    struct nats_publisher *old = outbox->publisher;

    outbox->publisher = NULL; /* nothing is sent while it reports what was under way */
    nats_publisher_free(old);
    if (!js)
        return;
    outbox->publisher = nats_publisher_new(
        js, &(struct nats_publisher_options){ .window = WINDOW, .in_order = true });
    pump(outbox);
}

/* --- life ------------------------------------------------------------------------- */

/* The number of a file; false when it is not one of ours. */
static bool read_number(const char *name, uint64_t *ret_number)
{
    const struct str text = str_from(name);
    uint64_t number = 0;

    if (text.n != NAME_DIGITS + strlen(SUFFIX) || !str_ends(text, STR(SUFFIX)))
        return false;
    for (size_t i = 0; i < NAME_DIGITS; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(text.p[i] - '0');
    }
    *ret_number = number;
    return true;
}

static void find_file(struct outbox *outbox, struct arena *arena, const char *name, size_t *damaged)
{
    const char *path = arena_printf(arena, "%s/%s", outbox->folder, name);
    struct stored_letter letter;
    struct fs_info info;
    struct err err;
    uint64_t number;

    if (!read_number(name, &number)) {
        if (fs_is_temp_name(name))
            (void)fs_unlink(path, &err); /* a process that was killed left it */
        return;
    }
    if (number >= outbox->next)
        outbox->next = number + 1;
    if (fs_stat(path, &info, &err) == 0 &&
        (info.size == 0 || clock_wall() - info.mtime > OUTBOX_AGE)) {
        (void)fs_unlink(path, &err); /* empty: a process was killed that had not kept it yet */
    } else if (!read_letter(arena, path, &letter)) {
        put_aside(arena, path);
        (*damaged)++;
    } else {
        atomic_fetch_add(&outbox->count, 1);
        add_item(outbox, number, letter.about);
    }
}

static int find_files(struct outbox *outbox, size_t *damaged, struct err *err)
{
    AUTO_ARENA struct arena names = ARENA_INIT;
    struct fs_names found = { 0 };

    if (fs_list(&names, outbox->folder, &found, err) < 0)
        return -1;
    VEC_EACH (&found.list, name) {
        AUTO_ARENA struct arena arena = ARENA_INIT;

        find_file(outbox, &arena, *name, damaged);
    }
    return 0;
}

static int open_folder(struct outbox *outbox, struct err *err)
{
    if (fs_mkdirs(outbox->folder, FOLDER_MODE, err) < 0)
        return -1;
    outbox->folder_fd = open(outbox->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return outbox->folder_fd >= 0 ? 0 : err_sys(err, errno, "open '%s'", outbox->folder);
}

struct outbox *outbox_open(const char *folder, const struct outbox_listener *listener,
                           size_t *ret_damaged, struct err *err)
{
    struct outbox *outbox = mem_zalloc(sizeof(*outbox));

    outbox->folder = mem_strdup(folder);
    outbox->listener = *listener;
    outbox->last = &outbox->first;
    outbox->next = 1;
    outbox->folder_fd = -1;
    (void)pthread_mutex_init(&outbox->mutex, NULL);
    *ret_damaged = 0;
    if (open_folder(outbox, err) == 0 && find_files(outbox, ret_damaged, err) == 0)
        return outbox;
    outbox_free(outbox);
    return NULL;
}

void outbox_free(struct outbox *outbox)
{
    struct item *next;

    if (!outbox)
        return;
    outbox_connect(outbox, NULL);
    for (struct item *item = outbox->first; item; item = next) {
        next = item->next;
        free_item(item);
    }
    while (outbox->copies)
        free_copy(take_copy(outbox, outbox->copies->number));
    (void)pthread_mutex_destroy(&outbox->mutex);
    fd_close(&outbox->folder_fd);
    free(outbox->folder);
    free(outbox);
}

bool outbox_has(const struct outbox *outbox, const char *about)
{
    for (const struct item *item = outbox->first; item; item = item->next)
        if (item->about && strcmp(item->about, about) == 0)
            return true;
    return false;
}

size_t outbox_count(const struct outbox *outbox)
{
    return atomic_load(&outbox->count);
}
