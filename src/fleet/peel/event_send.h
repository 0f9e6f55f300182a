/*
 * event_send - the function event.send: an event of this machine, in the stream when it is
 * answered.
 *
 * The tag is the positional argument, or `tag`; every other argument but `test` is data. Events are
 * not kept while there is no connection: then the function fails.
 *
 * Memory: the job. Threads: the loop's.
 */
#ifndef FLEET_PEEL_EVENT_SEND_H
#define FLEET_PEEL_EVENT_SEND_H

struct peel_job;
struct nats_publisher;

#define EVENT_SEND "event.send"

/* `fn` is called with the answered job, at once or when the stream has the event. `publisher` is
 * NULL when there is no connection. */
void event_send(struct peel_job *job, struct nats_publisher *publisher,
                void (*fn)(struct peel_job *job));

#endif
