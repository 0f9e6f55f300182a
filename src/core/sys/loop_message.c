#include "core/sys/loop_message.h"

#include "core/base/mem.h"

void loop_messages_run(struct loop_messages *messages)
{
    for (struct mail *mail = mailbox_take(&messages->box), *next; mail; mail = next) {
        struct loop_message *message = container_of(mail, struct loop_message, mail);

        next = mail->next;
        message->fn(message); /* it may be gone now */
    }
}

static void on_mail(struct watch *watch, uint32_t events)
{
    (void)events;
    loop_messages_run(container_of(watch, struct loop_messages, watch));
}

int loop_messages_open(struct loop_messages *messages, struct loop *loop, struct err *err)
{
    messages->watch = (struct watch){ 0 };
    if (mailbox_init(&messages->box, 0, err) < 0)
        return -1;
    if (watch_start(&messages->watch, loop, messages->box.fd, WATCH_READ, on_mail, err) == 0)
        return 0;
    mailbox_done(&messages->box);
    return -1;
}

void loop_messages_close(struct loop_messages *messages)
{
    loop_messages_run(messages);
    watch_stop(&messages->watch);
    mailbox_done(&messages->box);
}

void loop_message_send(struct loop_messages *messages, struct loop_message *message,
                       loop_message_fn *fn)
{
    message->fn = fn;
    (void)mailbox_post(&messages->box, &message->mail); /* it has no limit and is never closed */
}
