/*
 * basket - what machines share with each other: facts of this one and results of functions, and
 * questions about those of others.
 *
 * The settings say what is shared, and how often at most:
 *
 *     basket_functions:
 *       network.ipv4:                                  the fact of that name, every 5 minutes
 *       roles: 1m
 *       network.ip_addrs: {fact: network.ipv4, interval: 30s}
 *       uptime: {function: cmd.run, args: {name: uptime -p}}
 *       disk.usage:                                    no such fact: what this function answers
 *
 * A value is written under <peel>.<name> when it has changed, and again before the bucket forgets
 * it: what a machine shared that is gone expires. One that the settings no longer name is
 * removed. Others are read by asking a master.
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
/* NULL is fine. After the workers that may ask are done. */
void basket_free(struct basket *basket);

void basket_connect(struct basket *basket, const struct nats_js *js);
/* Facts or settings have changed. NULL is fine. */
void basket_refresh(struct basket *basket);

struct basket_question {
    const char *target, *type; /* type: "" is any expression */
    const char *name;
    const char *scope;           /* a second target that they match, too; "": none */
    const struct cancel *cancel; /* ends the wait */
};
/* A map of peels to what they share under that name; those that share nothing are missing. From a
 * worker; waits for BASKET_ASK_NS at most. */
int basket_ask(struct basket *basket, const struct basket_question *question, struct arena *arena,
               struct value *ret_values, struct err *err);

#endif
