#include "core/sys/loop_message.h"

#include "core/base/mem.h"

void loop_messages_run(struct loop_messages *loop_messages)
{
    for (struct mail *mail = mailbox_take(&loop_messages->box), *next; mail; mail = next) {
        struct loop_message *loop_message = container_of(mail, struct loop_message, mail);

        next = mail->next;
        loop_message->fn(loop_message); /* it may be gone now */
    }
}

static void on_mail(struct watch *watch, uint32_t events)
{
    (void)events;
    loop_messages_run(container_of(watch, struct loop_messages, watch));
}

int loop_messages_open(struct loop_messages *loop_messages, struct loop *loop, struct err *err)
{
    loop_messages->watch = (struct watch){ 0 };
    if (mailbox_init(&loop_messages->box, 0, err) < 0)
        return -1;
    if (watch_start(&loop_messages->watch, loop, loop_messages->box.fd, WATCH_READ, on_mail, err) ==
        0)
        return 0;
    mailbox_done(&loop_messages->box);
    return -1;
}

void loop_messages_close(struct loop_messages *loop_messages)
{
    loop_messages_run(loop_messages);
    watch_stop(&loop_messages->watch);
    mailbox_done(&loop_messages->box);
}

void loop_message_send(struct loop_messages *loop_messages, struct loop_message *loop_message,
                       loop_message_fn *fn)
{
    loop_message->fn = fn;
    (void)mailbox_post(&loop_messages->box,
                       &loop_message->mail); /* it has no limit and is never closed */
}
