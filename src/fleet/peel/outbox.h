/*
 * outbox - stores messages on disk until they are in a stream.
 *
 * Each message is a file, named by its number, so messages are sent in order, even after a restart.
 * The file is removed once the stream has acknowledged it. Every message has an id, by which the
 * stream detects duplicates. Usually only one message is pending: it is written to a permanent
 * file, the tray, whose head is zeroed afterwards. That saves two disk writes for creating and
 * removing a file.
 *
 *     box = outbox_open(folder, err)
 *     outbox_keep(box, &message, sync, &number, err)     any thread: written, not sent
 *     outbox_send(box, number)                           the loop: send it now
 *     outbox_connect(box, js)                            connected, or NULL: not
 *
 * Messages older than OUTBOX_AGE are dropped at the start, since the stream does not keep them
 * longer either. Damaged files are renamed to ".damaged". `stored` is called for every stored
 * message, `dropped` for those that the stream refuses.
 *
 * Threads: outbox_keep any; the rest the loop's.
 */
#ifndef FLEET_PEEL_OUTBOX_H
#define FLEET_PEEL_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct err;
struct nats_js;
struct outbox;

#define OUTBOX_AGE ((int64_t)7 * 24 * 3600 * 1000000000)
/* Messages on disk; more are refused. */
#define OUTBOX_MAX 10000
/* Bytes of a message. */
#define OUTBOX_MESSAGE_MAX ((size_t)8 << 20)

struct outbox_message {
    const char *subject, *id;
    const char *about; /* for `stored`: a job */
    struct str payload;
};

struct outbox_listener {
    void (*stored)(void *self, const char *about);
    void (*dropped)(void *self, const char *about, const char *why);
    void *self;
};

/* Creates the folder. `ret_damaged` is the number of damaged files. */
struct outbox *outbox_open(const char *folder, const struct outbox_listener *listener,
                           size_t *ret_damaged, struct err *err);
/* NULL is fine. Files stay. */
void outbox_free(struct outbox *outbox);

/* Fails with ERR_LIMIT when there are too many. */
int outbox_keep(struct outbox *outbox, const struct outbox_message *message, bool sync,
                uint64_t *ret_number, struct err *err);
void outbox_send(struct outbox *outbox, uint64_t number);

void outbox_connect(struct outbox *outbox, const struct nats_js *js);

/* Is there a pending message about this? Knows only those present at the start. */
bool outbox_has(const struct outbox *outbox, const char *about);
/* Number of pending messages. */
size_t outbox_count(const struct outbox *outbox);

#endif
