#include "fleet/peel/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/vec.h"
#include "core/data/frame.h"
#include "core/data/record.h"
#include "fleet/nats/error.h"
#include "fleet/nats/publisher.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"

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
#define TRAY        "tray"
/* A message that is larger gets a file, and a tray that is larger is made anew at the start. */
#define TRAY_MAX ((size_t)64 << 10)
/* Bytes at the beginning of a tray that are zero when nothing is in it. */
#define TRAY_HEAD 4
/* Most messages leave as soon as they are written: that many bytes of them are kept in memory, too,
 * and are not read again. */
#define COPIES_MAX ((size_t)256 << 10)

struct stored_message {
    const char *subject, *id, *about;
    struct str payload;
    uint64_t number;
};

static const struct record_field message_fields[] = {
    RECORD("subject", TEXT, struct stored_message, subject, RECORD_REQUIRED),
    RECORD("id", TEXT, struct stored_message, id, RECORD_REQUIRED),
    RECORD("about", TEXT, struct stored_message, about, 0, .fallback_text = ""),
    RECORD("payload", BYTES, struct stored_message, payload, RECORD_REQUIRED),
    RECORD("number", INT, struct stored_message, number, RECORD_OMIT),
    { 0 },
};
static const struct record_type message_type =
    RECORD_TYPE("letter", struct stored_message, message_fields, 0);

/* One that may leave, in the order of their numbers. */
struct item {
    struct outbox *outbox;
    struct item *next;
    uint64_t number;
    char *about;       /* once it was read */
    struct copy *copy; /* or NULL */
    bool under_way;
};

/* A message that was just written. */
struct copy {
    struct copy *next;
    struct stored_message message;
    size_t size; /* of its texts, which follow */
    char texts[];
};

struct outbox {
    char *folder;
    pthread_mutex_t mutex; /* of what follows up to the listener */
    int folder_fd;         /* -1: it is not open; most boxes never need it */
    struct copy *copies;
    size_t copies_bytes;
    int tray;             /* -1: it is not open */
    bool has_tray;        /* it can be opened */
    uint64_t tray_number; /* of the message in it; 0: it is empty */
    struct outbox_listener listener;
    struct nats_publisher *publisher; /* NULL: no connection */
    struct item *first, **last;
    size_t under_way;
    atomic_size_t count; /* files */
    _Atomic(uint64_t) next;
};

static void print_outbox_name(char name[static NAME_SIZE], uint64_t number)
{
    (void)snprintf(name, NAME_SIZE, "%0*" PRIu64 SUFFIX, NAME_DIGITS, number);
}

static bool is_in_tray(struct outbox *outbox, uint64_t number)
{
    bool is;

    (void)pthread_mutex_lock(&outbox->mutex);
    is = outbox->tray_number == number;
    (void)pthread_mutex_unlock(&outbox->mutex);
    return is;
}

static const char *file_path(struct arena *arena, struct outbox *outbox, uint64_t number)
{
    char name[NAME_SIZE];

    print_outbox_name(name, number);
    return arena_printf(arena, "%s/%s", outbox->folder, is_in_tray(outbox, number) ? TRAY : name);
}

/* --- copies ----------------------------------------------------------------------- */

static const char *copy_outbox_text(char **at, const char *text)
{
    const size_t size = strlen(text) + 1;
    const char *copy = memcpy(*at, text, size);

    *at += size;
    return copy;
}

static struct copy *make_copy(const struct stored_message *message)
{
    const size_t size = strlen(message->subject) + strlen(message->id) + strlen(message->about) +
                        3 + message->payload.n;
    struct copy *copy = mem_alloc(sizeof(*copy) + size);
    char *at = copy->texts;

    *copy = (struct copy){ .message = { .number = message->number }, .size = size };
    copy->message.subject = copy_outbox_text(&at, message->subject);
    copy->message.id = copy_outbox_text(&at, message->id);
    copy->message.about = copy_outbox_text(&at, message->about);
    copy->message.payload = (struct str){ at, message->payload.n };
    if (message->payload.n > 0)
        memcpy(at, message->payload.p, message->payload.n);
    return copy;
}

/* Unless there is no room. */
static void add_copy(struct outbox *outbox, const struct stored_message *message)
{
    struct copy *copy = message->payload.n < COPIES_MAX ? make_copy(message) : NULL;

    if (!copy)
        return;
    (void)pthread_mutex_lock(&outbox->mutex);
    if (outbox->copies_bytes + copy->size <= COPIES_MAX) {
        copy->next = outbox->copies;
        outbox->copies = copy;
        outbox->copies_bytes += copy->size;
        copy = NULL;
    }
    (void)pthread_mutex_unlock(&outbox->mutex);
    free(copy);
}

/* NULL: there is none. The caller frees it. */
static struct copy *take_copy(struct outbox *outbox, uint64_t number)
{
    struct copy *copy = NULL;

    (void)pthread_mutex_lock(&outbox->mutex);
    for (struct copy **at = &outbox->copies; *at; at = &(*at)->next)
        if ((*at)->message.number == number) {
            copy = *at;
            *at = copy->next;
            outbox->copies_bytes -= copy->size;
            break;
        }
    (void)pthread_mutex_unlock(&outbox->mutex);
    return copy;
}

/* --- files ------------------------------------------------------------------------ */

/* With the mutex held. -1: it cannot be opened, as errno says. */
static int open_outbox_folder(struct outbox *outbox)
{
    if (outbox->folder_fd < 0)
        outbox->folder_fd = open(outbox->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return outbox->folder_fd;
}

static int get_folder(struct outbox *outbox)
{
    int fd;

    (void)pthread_mutex_lock(&outbox->mutex);
    fd = open_outbox_folder(outbox);
    (void)pthread_mutex_unlock(&outbox->mutex);
    return fd;
}

/* A file that was not written whole is known by its checksum, so no other name is needed while it
 * is written. */
static int write_outbox_file(struct outbox *outbox, const char *name, struct str bytes, bool sync,
                             struct err *err)
{
    const int folder = get_folder(outbox);
    AUTO_FD int fd = -1;

    if (folder < 0)
        return err_sys(err, errno, "open '%s'", outbox->folder);
    fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return err_sys(err, errno, "create '%s/%s'", outbox->folder, name);
    if (fd_write(fd, bytes.p, bytes.n, err) < 0)
        goto fail;
    if (sync && (fdatasync(fd) < 0 || fsync(folder) < 0)) {
        err_sys(err, errno, "sync '%s/%s'", outbox->folder, name);
        goto fail;
    }
    return 0;

fail:
    (void)unlinkat(folder, name, 0); /* the first error is the one to report */
    return -1;
}

/* --- the tray --------------------------------------------------------------------- */

/* Its name is on disk before anything is in it. With the mutex held. -1: every message has a
 * file. */
static int open_tray(struct outbox *outbox)
{
    const int folder = open_outbox_folder(outbox);
    int fd = openat(folder, TRAY, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
                    (st.st_size > (off_t)TRAY_MAX && ftruncate(fd, 0) < 0) || fsync(folder) < 0))
        fd_close(&fd);
    return fd;
}

/* The tray's file was set aside. It is not reused while it has a message. */
static void renew_tray(struct outbox *outbox)
{
    (void)pthread_mutex_lock(&outbox->mutex);
    fd_close(&outbox->tray);
    outbox->tray_number = 0;
    (void)pthread_mutex_unlock(&outbox->mutex);
}

/* True: it is this message's. */
static bool take_tray(struct outbox *outbox, uint64_t number, size_t size)
{
    bool is_free;

    (void)pthread_mutex_lock(&outbox->mutex);
    if (outbox->tray < 0 && outbox->has_tray) {
        outbox->tray = open_tray(outbox);
        outbox->has_tray = outbox->tray >= 0;
    }
    is_free = outbox->tray >= 0 && outbox->tray_number == 0 && size <= TRAY_MAX;
    if (is_free)
        outbox->tray_number = number;
    (void)pthread_mutex_unlock(&outbox->mutex);
    return is_free;
}

/* A message that stays there is sent again after a restart, and the stream knows it. */
static void clear_tray(struct outbox *outbox)
{
    static const char nothing[TRAY_HEAD];

    (void)!pwrite(outbox->tray, nothing, sizeof(nothing), 0);
    (void)pthread_mutex_lock(&outbox->mutex);
    outbox->tray_number = 0;
    (void)pthread_mutex_unlock(&outbox->mutex);
}

/* The rest of a longer old message stays after the new one and is ignored. */
static int fill_tray(struct outbox *outbox, struct str bytes, bool sync, struct err *err)
{
    for (size_t at = 0; at < bytes.n;) {
        ssize_t n = pwrite(outbox->tray, bytes.p + at, bytes.n - at, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_sys(err, errno, "write '%s/" TRAY "'", outbox->folder);
            goto fail;
        }
        at += (size_t)n;
    }
    if (!sync || fdatasync(outbox->tray) == 0)
        return 0;
    err_sys(err, errno, "sync '%s/" TRAY "'", outbox->folder);

fail:
    clear_tray(outbox);
    return -1;
}

static int write_message(struct outbox *outbox, uint64_t number, struct str bytes, bool sync,
                         struct err *err)
{
    char name[NAME_SIZE];

    if (take_tray(outbox, number, bytes.n))
        return fill_tray(outbox, bytes, sync, err);
    print_outbox_name(name, number);
    return write_outbox_file(outbox, name, bytes, sync, err);
}

int outbox_keep(struct outbox *outbox, const struct outbox_message *message, bool sync,
                uint64_t *ret_number, struct err *err)
{
    const uint64_t number = atomic_fetch_add(&outbox->next, 1);
    const struct stored_message stored = { message->subject, message->id, message->about,
                                           message->payload, number };
    AUTO_BUF struct buf out = BUF_INIT(OUTBOX_MESSAGE_MAX + FRAME_HEAD + 4096);

    if (atomic_load(&outbox->count) >= OUTBOX_MAX)
        return err_set(err, ERR_LIMIT, "more than %d messages wait for a connection", OUTBOX_MAX);
    if (record_append(&out, &message_type, &stored, VERSION, 0, err) < 0 ||
        write_message(outbox, number, buf_view(&out), sync, err) < 0)
        return -1;
    atomic_fetch_add(&outbox->count, 1);
    add_copy(outbox, &stored);
    *ret_number = number;
    return 0;
}

static bool decode_message(struct arena *arena, struct str bytes,
                           struct stored_message *ret_message)
{
    struct frame_scan scan = { .bytes = bytes };
    struct frame frame;
    struct err err;

    return frame_next(&scan, &frame) == FRAME_WHOLE &&
           record_decode(arena, &message_type, frame.version, frame.payload, ret_message, &err) ==
               0;
}

/* False when the file cannot be used. */
static bool read_outbox_message(struct arena *arena, const char *path,
                                struct stored_message *ret_message)
{
    struct str bytes;
    struct err err;

    return fs_read(arena, path, OUTBOX_MESSAGE_MAX + FRAME_HEAD + 4096, &bytes, &err) == 0 &&
           bytes.p && decode_message(arena, bytes, ret_message);
}

static bool put_damaged_aside(struct arena *arena, const char *path)
{
    struct err ignored;

    return fs_rename(path, arena_printf(arena, "%s" DAMAGED, path), &ignored) == 0;
}

static void remove_outbox_file(struct outbox *outbox, uint64_t number)
{
    char name[NAME_SIZE];

    if (is_in_tray(outbox, number)) {
        clear_tray(outbox);
    } else {
        print_outbox_name(name, number);
        /* one that stays is sent again after a restart, and the stream knows it */
        (void)unlinkat(get_folder(outbox), name, 0);
    }
    atomic_fetch_sub(&outbox->count, 1);
}

/* --- sending ---------------------------------------------------------------------- */

static void free_outbox_item(struct item *item)
{
    free(item->about);
    free(item->copy);
    free(item);
}

static void unlink_outbox_item(struct item *item)
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

    remove_outbox_file(item->outbox, item->number);
    unlink_outbox_item(item);
    if (why)
        listener->dropped(listener->self, item->about ? item->about : "", why);
    else
        listener->stored(listener->self, item->about ? item->about : "");
    free_outbox_item(item);
}

static void pump_outbox(struct outbox *outbox);

/* Drops messages that the stream refuses; others are sent again with the next connection. */
static void on_outbox_stored(void *self, const struct nats_error *error,
                             const struct nats_stored_ack *ack)
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
        pump_outbox(outbox);
}

static bool find_message(struct arena *arena, struct item *item, struct stored_message *ret_message)
{
    if (item->copy) {
        *ret_message = item->copy->message;
        return true;
    }
    return read_outbox_message(arena, file_path(arena, item->outbox, item->number), ret_message);
}

/* False when it must wait. */
static bool send_outbox_item(struct item *item)
{
    struct outbox *outbox = item->outbox;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct stored_message message;
    struct nats_store store;
    struct err err;

    if (!find_message(&arena, item, &message)) {
        (void)put_damaged_aside(&arena, file_path(&arena, outbox, item->number));
        if (is_in_tray(outbox, item->number))
            renew_tray(outbox);
        finish_item(item, "its file is damaged");
        return true;
    }
    if (!item->about)
        item->about = mem_strdup(message.about);
    store = (struct nats_store){ .subject = str_from(message.subject),
                                 .payload = message.payload,
                                 .id = str_from(message.id) };
    if (nats_publisher_send(outbox->publisher, &store, on_outbox_stored, item, &err) < 0) {
        if (err.code == ERR_BUSY || err.code == ERR_CANCELED)
            return false;
        finish_item(item, err.text);
        return true;
    }
    free(item->copy); /* the publisher has one */
    item->copy = NULL;
    item->under_way = true;
    outbox->under_way++;
    return true;
}

static void pump_outbox(struct outbox *outbox)
{
    struct item *next;

    for (struct item *item = outbox->first; item && outbox->under_way < WINDOW; item = next) {
        next = item->next;
        if (!item->under_way && !send_outbox_item(item))
            return;
    }
}

static void add_outbox_item(struct outbox *outbox, uint64_t number, const char *about)
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
    add_outbox_item(outbox, number, NULL);
    if (outbox->publisher)
        pump_outbox(outbox);
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
    pump_outbox(outbox);
}

/* --- life ------------------------------------------------------------------------- */

/* The number of a file; false when it is not one of ours. */
static bool read_file_number(const char *name, uint64_t *ret_number)
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

/* Moves a message left in the tray to a file. False: it is still there. */
static bool empty_tray(struct outbox *outbox, size_t *damaged)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = arena_printf(&arena, "%s/" TRAY, outbox->folder);
    struct stored_message message;
    char name[NAME_SIZE];
    struct str bytes;
    struct err err;

    if (fs_read(&arena, path, OUTBOX_MESSAGE_MAX, &bytes, &err) < 0)
        return false;
    if (!bytes.p || bytes.n < TRAY_HEAD ||
        memcmp(bytes.p, (const char[TRAY_HEAD]){ 0 }, TRAY_HEAD) == 0)
        return true;
    if (!decode_message(&arena, bytes, &message) || message.number == 0) {
        (*damaged)++;
        return put_damaged_aside(&arena, path);
    }
    print_outbox_name(name, message.number);
    return fs_rename(path, arena_printf(&arena, "%s/%s", outbox->folder, name), &err) == 0;
}

static void find_outbox_file(struct outbox *outbox, struct arena *arena, const char *name,
                             size_t *damaged)
{
    const char *path = arena_printf(arena, "%s/%s", outbox->folder, name);
    struct stored_message message;
    struct fs_info info;
    struct err err;
    uint64_t number;

    if (!read_file_number(name, &number)) {
        if (fs_is_temp_name(name))
            (void)fs_unlink(path, &err); /* a process that was killed left it */
        return;
    }
    if (number >= outbox->next)
        outbox->next = number + 1;
    if (fs_stat(path, &info, &err) == 0 &&
        (info.size == 0 || clock_wall() - info.mtime > OUTBOX_AGE)) {
        (void)fs_unlink(path, &err); /* empty: a process was killed that had not kept it yet */
    } else if (!read_outbox_message(arena, path, &message)) {
        (void)put_damaged_aside(arena, path);
        (*damaged)++;
    } else {
        atomic_fetch_add(&outbox->count, 1);
        add_outbox_item(outbox, number, message.about);
    }
}

static int find_outbox_files(struct outbox *outbox, size_t *damaged, struct err *err)
{
    AUTO_ARENA struct arena names = ARENA_INIT;
    struct fs_names found = { 0 };

    if (fs_list(&names, outbox->folder, &found, err) < 0)
        return -1;
    VEC_EACH (&found.list, name) {
        AUTO_ARENA struct arena arena = ARENA_INIT;

        find_outbox_file(outbox, &arena, *name, damaged);
    }
    return 0;
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
    outbox->tray = -1;
    if (fs_mkdirs(outbox->folder, FOLDER_MODE, err) == 0) {
        outbox->has_tray = empty_tray(outbox, ret_damaged);
        if (find_outbox_files(outbox, ret_damaged, err) == 0)
            return outbox;
    }
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
        free_outbox_item(item);
    }
    while (outbox->copies)
        free(take_copy(outbox, outbox->copies->message.number));
    (void)pthread_mutex_destroy(&outbox->mutex);
    fd_close(&outbox->tray);
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
