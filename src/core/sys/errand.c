#include "core/sys/errand.h"

#include "core/base/mem.h"

void errands_run(struct errands *errands)
{
    for (struct mail *mail = mailbox_take(&errands->box), *next; mail; mail = next) {
        struct errand *errand = container_of(mail, struct errand, mail);

        next = mail->next;
        errand->fn(errand); /* it may be gone now */
    }
}

static void on_mail(struct watch *watch, uint32_t events)
{
    (void)events;
    errands_run(container_of(watch, struct errands, watch));
}

int errands_open(struct errands *errands, struct loop *loop, struct err *err)
{
    errands->watch = (struct watch){ 0 };
    if (mailbox_init(&errands->box, 0, err) < 0)
        return -1;
    if (watch_start(&errands->watch, loop, errands->box.fd, WATCH_READ, on_mail, err) == 0)
        return 0;
    mailbox_done(&errands->box);
    return -1;
}

void errands_close(struct errands *errands)
{
    errands_run(errands);
    watch_stop(&errands->watch);
    mailbox_done(&errands->box);
}

void errand_send(struct errands *errands, struct errand *errand, errand_fn *fn)
{
    errand->fn = fn;
    (void)mailbox_post(&errands->box, &errand->mail); /* it has no limit and is never closed */
}
