/*
 * mailbox - messages from many threads to one.
 *
 * A message is a struct mail inside the sender's struct; posting allocates nothing. The reader
 * takes all mail at once. `fd` is readable exactly while there is mail: a loop watches it, a thread
 * calls mailbox_wait.
 *
 *     mailbox_init -> { mailbox_post | mailbox_wait, mailbox_take }... -> mailbox_done
 *
 * Memory: a posted message belongs to the reader. Threads: any may post; one reads.
 */
#ifndef CORE_SYS_MAILBOX_H
#define CORE_SYS_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct mail {
    struct mail *next;
};

struct mailbox {
    pthread_mutex_t mutex;
    struct mail *first, **last;
    size_t count, max;
    int fd;
};

/* At most `max` messages; 0: no limit. */
int mailbox_init(struct mailbox *mailbox, size_t max, struct err *err);
/* The mailbox must not be used afterwards; remaining mail still belongs to its sender. */
void mailbox_done(struct mailbox *mailbox);

/* False when the box is full; the message then still belongs to the sender. */
bool mailbox_post(struct mailbox *mailbox, struct mail *mail);

/* All mail, oldest first, linked by `next`; NULL when there is none. Never blocks. */
struct mail *mailbox_take(struct mailbox *mailbox);
/* Wait for mail; false at `deadline` of clock_real. */
bool mailbox_wait(struct mailbox *mailbox, int64_t deadline);

#endif
