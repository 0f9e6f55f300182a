#include "test.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/sys/clock.h"
#include "core/sys/mailbox.h"

#define SENDERS 8
#define EACH    5000
#define BOUND   64

struct letter {
    struct mail mail;
    int sender, number;
};

static struct mailbox box;
static struct err err;

static bool is_readable(void)
{
    struct pollfd fd = { .fd = box.fd, .events = POLLIN };

    return poll(&fd, 1, 0) > 0;
}

TEST(mail_arrives_in_order_and_makes_the_descriptor_readable)
{
    struct letter letters[3] = { { .number = 1 }, { .number = 2 }, { .number = 3 } };
    struct mail *mail;

    CHECK_INT(mailbox_init(&box, 2, &err), 0);
    CHECK(!is_readable());
    CHECK(!mailbox_wait(&box, clock_real()));
    CHECK(mailbox_post(&box, &letters[0].mail));
    CHECK(mailbox_post(&box, &letters[1].mail));
    CHECK(!mailbox_post(&box, &letters[2].mail)); /* full */
    CHECK(is_readable());
    CHECK(mailbox_wait(&box, CLOCK_NEVER));
    mail = mailbox_take(&box);
    CHECK(mail == &letters[0].mail);
    CHECK(mail->next == &letters[1].mail);
    CHECK(mail->next->next == NULL);
    CHECK(!is_readable());
    CHECK(mailbox_take(&box) == NULL);
    mailbox_done(&box);
}

static void *send_all(void *arg)
{
    for (int i = 0; i < EACH; i++) {
        struct letter *letter = mem_zalloc(sizeof(*letter));

        letter->sender = (int)(intptr_t)arg;
        letter->number = i;
        while (!mailbox_post(&box, &letter->mail))
            (void)sched_yield(); /* full: the reader is behind */
    }
    return NULL;
}

TEST(many_senders_lose_nothing_and_keep_their_order)
{
    pthread_t threads[SENDERS];
    int next[SENDERS] = { 0 }, count = 0;

    CHECK_INT(mailbox_init(&box, BOUND, &err), 0);
    for (intptr_t i = 0; i < SENDERS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, send_all, (void *)i), 0);
    while (count < SENDERS * EACH) {
        int batch = 0;

        CHECK(mailbox_wait(&box, clock_real() + 60 * CLOCK_SECOND));
        for (struct mail *mail = mailbox_take(&box), *after; mail; mail = after, batch++) {
            struct letter *letter = container_of(mail, struct letter, mail);

            after = mail->next;
            CHECK_INT(letter->number, next[letter->sender]++);
            free(letter);
        }
        CHECK(batch <= BOUND);
        count += batch;
    }
    for (int i = 0; i < SENDERS; i++)
        CHECK_INT(pthread_join(threads[i], NULL), 0);
    mailbox_done(&box);
}
