#include "core/sys/mailbox.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "core/base/err.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/pool.h"

int mailbox_init(struct mailbox *mailbox, size_t max, struct err *err)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (fd < 0)
        return err_sys(err, errno, "make a mailbox");
    *mailbox = (struct mailbox){ .last = &mailbox->first, .max = max, .fd = fd };
    (void)pthread_mutex_init(&mailbox->mutex, NULL);
    return 0;
}

void mailbox_done(struct mailbox *mailbox)
{
    fd_close(&mailbox->fd);
    (void)pthread_mutex_destroy(&mailbox->mutex);
}

static bool is_mailbox_full(const struct mailbox *mailbox)
{
    return mailbox->max > 0 && mailbox->count >= mailbox->max;
}

/* The wake-up is inside the lock, so it always agrees with the list; only the first message pays
 * for it. */
static void append_mail(struct mailbox *mailbox, struct mail *mail)
{
    mail->next = NULL;
    *mailbox->last = mail;
    mailbox->last = &mail->next;
    if (mailbox->count++ == 0)
        (void)eventfd_write(mailbox->fd, 1);
}

bool mailbox_post(struct mailbox *mailbox, struct mail *mail)
{
    bool fits;

    (void)pthread_mutex_lock(&mailbox->mutex);
    fits = !is_mailbox_full(mailbox);
    if (fits)
        append_mail(mailbox, mail);
    (void)pthread_mutex_unlock(&mailbox->mutex);
    return fits;
}

struct mail *mailbox_take(struct mailbox *mailbox)
{
    struct mail *all;
    eventfd_t count;

    (void)pthread_mutex_lock(&mailbox->mutex);
    all = mailbox->first;
    if (all)
        (void)eventfd_read(mailbox->fd, &count);
    mailbox->first = NULL;
    mailbox->last = &mailbox->first;
    mailbox->count = 0;
    (void)pthread_mutex_unlock(&mailbox->mutex);
    return all;
}

bool mailbox_wait(struct mailbox *mailbox, int64_t deadline)
{
    struct pollfd poll_fd = { .fd = mailbox->fd, .events = POLLIN };
    struct timespec room;
    int n;

    pool_block_begin();
    do
        n = ppoll(&poll_fd, 1, clock_left(deadline, &room), NULL);
    while (n < 0 && errno == EINTR);
    pool_block_end();
    return n > 0;
}
