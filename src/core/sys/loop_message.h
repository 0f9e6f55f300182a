/*
 * loop_message - a function call sent to the loop of another thread.
 *
 *     struct reply { struct loop_message message; ... };
 *     loop_messages_open(&messages, loop);                    in the thread of the loop
 *     loop_message_send(&messages, &reply->message, fn);      from any thread
 *
 * fn(&reply->message) then runs in the loop; messages run in the order in which they were sent.
 * `fn` owns the memory of its message; sending allocates nothing.
 *
 * Threads: any may send; the rest is for the thread of the loop.
 */
#ifndef CORE_SYS_LOOP_MESSAGE_H
#define CORE_SYS_LOOP_MESSAGE_H

#include "core/sys/loop.h"
#include "core/sys/mailbox.h"

struct err;
struct loop_message;

typedef void loop_message_fn(struct loop_message *message);

struct loop_message {
    struct mail mail;
    loop_message_fn *fn;
};

struct loop_messages {
    struct mailbox box;
    struct watch watch;
};

int loop_messages_open(struct loop_messages *messages, struct loop *loop, struct err *err);
/* Runs the queued messages; no thread may send afterwards. */
void loop_messages_close(struct loop_messages *messages);

void loop_message_send(struct loop_messages *messages, struct loop_message *message,
                       loop_message_fn *fn);
/* Run the queued messages now, instead of waiting for the loop. */
void loop_messages_run(struct loop_messages *messages);

#endif
