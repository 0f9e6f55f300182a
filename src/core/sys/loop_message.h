/*
 * loop message - a function call sent to the loop of another thread.
 *
 *     struct job { struct loop_message loop message; ... };
 *     loop_messages_open(&loop messages, loop);                 in the thread of the loop
 *     loop_message_send(&loop messages, &job->loop message, fn);      from any thread:
 * fn(&job->loop message) there
 *
 * Errands run in the order in which they were sent, from the loop. fn owns the memory of its
 * loop message; sending allocates nothing.
 *
 * Threads: any may send; the rest is for the thread of the loop.
 */
#ifndef CORE_SYS_LOOP_MESSAGE_H
#define CORE_SYS_LOOP_MESSAGE_H

#include "core/sys/loop.h"
#include "core/sys/mailbox.h"

struct err;
struct loop_message;

typedef void loop_message_fn(struct loop_message *loop_message);

struct loop_message {
    struct mail mail;
    loop_message_fn *fn;
};

struct loop_messages {
    struct mailbox box;
    struct watch watch;
};

int loop_messages_open(struct loop_messages *loop_messages, struct loop *loop, struct err *err);
/* Runs what is queued; nobody may send after it. */
void loop_messages_close(struct loop_messages *loop_messages);

void loop_message_send(struct loop_messages *loop_messages, struct loop_message *loop_message,
                       loop_message_fn *fn);
/* Run those that are there now, instead of waiting for the loop. */
void loop_messages_run(struct loop_messages *loop_messages);

#endif
