/*
 * outbox - messages that must get into a stream, on disk until the stream has them.
 *
 * Each message is a file, named by its number, so that they leave in the order in which they came,
 * also after a restart. A file goes when the stream has acknowledged it. Every message has an id,
 * by which the stream knows one that it has already. Mostly one message is on its way at a time:
 * that one is written to a file that is always there, the tray, whose beginning is crossed out
 * later. A new file and its end cost a disk two more writes that others wait for.
 *
 *     box = outbox_open(folder, err)
 *     outbox_keep(box, &message, sync, &number, err)     any thread: written, not sent
 *     outbox_send(box, number)                          the loop: it may leave now
 *     outbox_connect(box, js)                           there is a connection, or NULL: none
 *
 * Messages older than OUTBOX_AGE are dropped at the start, since the stream keeps them no longer
 * either; so is what is damaged, into a file ".damaged" beside it. `stored` is called for every
 * message that a stream has, `dropped` of those that it will never take.
 *
 * Threads: outbox_keep any; the rest is for the loop's.
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
/* Bytes of one. */
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

/* Makes the folder. `ret_damaged` is the number of files that were put aside. */
struct outbox *outbox_open(const char *folder, const struct outbox_listener *listener,
                           size_t *ret_damaged, struct err *err);
/* NULL is fine. Files stay. */
void outbox_free(struct outbox *outbox);

/* Fails with ERR_LIMIT when there are too many. */
int outbox_keep(struct outbox *outbox, const struct outbox_message *message, bool sync,
                uint64_t *ret_number, struct err *err);
void outbox_send(struct outbox *outbox, uint64_t number);

void outbox_connect(struct outbox *outbox, const struct nats_js *js);

/* Is a message about this among those that have not been stored? Only for those of the start. */
bool outbox_has(const struct outbox *outbox, const char *about);
/* Messages that are not stored yet. */
size_t outbox_count(const struct outbox *outbox);

#endif
