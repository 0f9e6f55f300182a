/*
 * basket - values shared between machines: publishes facts and function results of this one, and
 * reads those of others.
 *
 * The settings list the entries and their intervals:
 *
 *     basket_functions:
 *       network.ipv4:                                  the fact of that name, every 5 minutes
 *       roles: 1m
 *       network.ip_addrs: {fact: network.ipv4, interval: 30s}
 *       uptime: {function: cmd.run, args: {name: uptime -p}}
 *       disk.usage:                                    no such fact: the result of this function
 *
 * A value is written under <peel>.<name> when it has changed, and again before it expires, so
 * values of removed machines expire. Entries that are no longer in the settings are removed. Values
 * of other machines are read through a master.
 *
 *     basket_new -> { basket_connect, basket_refresh, basket_ask }... -> basket_free
 *
 * Threads: the loop's, except basket_ask.
 */
#ifndef FLEET_PEEL_BASKET_H
#define FLEET_PEEL_BASKET_H

#include <stdint.h>

struct arena;
struct basket;
struct cancel;
struct job_queue_task;
struct err;
struct loop;
struct nats_js;
struct snapshot;
struct value;

#define BASKET_ASK_NS (INT64_C(5) * 1000000000)

struct basket_options {
    struct loop *loop;
    const char *peel_id;
    struct snapshot *(*facts)(void *self);                          /* held */
    struct snapshot *(*settings)(void *self, const char **ret_why); /* held; NULL: not known */
    int (*run)(void *self, const struct job_queue_task *task, struct err *err); /* job_queue_run */
    void *self;
};

struct basket *basket_new(const struct basket_options *options, struct err *err);
/* NULL is fine. Call it after the workers that may ask have ended. */
void basket_free(struct basket *basket);

void basket_connect(struct basket *basket, const struct nats_js *js);
/* Facts or settings have changed. NULL is fine. */
void basket_refresh(struct basket *basket);

struct basket_question {
    const char *target, *type; /* type: "" is any expression */
    const char *name;
    const char *scope;           /* a second target that they must match; "": none */
    const struct cancel *cancel; /* cancels the wait */
};
/* A map of peels to their values of that name, without those that share nothing. Call it in a
 * worker; waits at most BASKET_ASK_NS. */
int basket_ask(struct basket *basket, const struct basket_question *question, struct arena *arena,
               struct value *ret_values, struct err *err);

#endif
