/*
 * event_send - the function event.send: sends an event of this machine and answers once it is
 * stored.
 *
 * The tag is the positional argument, or `tag`; all other arguments but `test` are data. Without a
 * connection the function fails.
 *
 * Memory: the job. Threads: the loop's.
 */
#ifndef FLEET_PEEL_EVENT_SEND_H
#define FLEET_PEEL_EVENT_SEND_H

struct peel_job;
struct nats_publisher;

#define EVENT_SEND "event.send"

/* `fn` is called with the answered job, at once or when the event is stored. `publisher` NULL: no
 * connection. */
void event_send(struct peel_job *job, struct nats_publisher *publisher,
                void (*fn)(struct peel_job *job));

#endif
