/*
 * peel settings - the settings of this machine: files that masters publish, rendered here, with
 * secrets that only this machine can open.
 *
 * Resolved in a worker when the files, the facts or the secrets have changed, and every
 * PEEL_SETTINGS_AGAIN if a template reads baskets of other peels. Only a complete result, without
 * mistakes or missing secrets, replaces the last one. It is kept on disk, so that a machine that
 * starts without a bus has its settings.
 *
 *     <folder>                             the files, by fleet/bus/mirror.h
 *     <data_dir>/settings-snapshot.msgpack the last result
 *
 * In files a secret is a placeholder (states/settings/placeholder.h); the bucket of secrets has a
 * map of their names to sealed values under the id of the machine, and the key of the sender.
 *
 *     peel_settings_new -> peel_settings_connect... -> peel_settings_free
 *
 * Threads: the loop's; a worker resolves.
 */
#ifndef FLEET_PEEL_PEEL_SETTINGS_H
#define FLEET_PEEL_PEEL_SETTINGS_H

#include <stdbool.h>

struct arena;
struct basket_question;
struct err;
struct loop;
struct nats_js;
struct nats_nkey;
struct nats_xkey;
struct peel_settings;
struct snapshot;
struct value;

#define PEEL_SETTINGS_SNAPSHOT "settings-snapshot.msgpack"
#define PEEL_SETTINGS_AGAIN    (INT64_C(60) * 1000000000)
#define PEEL_SETTINGS_UNKNOWN                                                                      \
    "settings are not known yet: none were received since this machine was set up"

struct peel_settings_options {
    struct loop *loop;
    const char *peel_id, *data_dir, *folder;
    const struct nats_nkey *key;
    struct snapshot *(*facts)(void *self); /* held */
    const char *(*tree)(void *self);       /* the name of the tree in the folder */
    /* The key that secrets must be sealed with; NULL: not known, use the one in the bucket. */
    const struct nats_xkey *(*sealer)(void *self);
    /* Reads baskets of other peels for templates; called in the worker. NULL: none. */
    int (*ask)(void *self, const struct basket_question *question, struct arena *arena,
               struct value *ret, struct err *err);
    void (*changed)(void *self); /* there are new settings */
    void (*ended)(void *self);   /* the last resolution has ended, perhaps with a failure */
    void *self;
};

/* The last result as it is on disk, with its secrets marked as such. False in `ret_is_there`: there
 * is none. For other programs of this machine. */
int peel_settings_read(struct arena *arena, const char *data_dir, struct value *ret,
                       bool *ret_is_there, struct err *err);

struct peel_settings *peel_settings_new(const struct peel_settings_options *options,
                                        struct err *err);
/* NULL is fine. */
void peel_settings_free(struct peel_settings *peel_settings);
void peel_settings_connect(struct peel_settings *peel_settings, const struct nats_js *js);

/* Files or facts have changed. */
void peel_settings_refresh(struct peel_settings *peel_settings);

/* Are they being resolved? Then `ended` follows. */
bool peel_settings_is_busy(const struct peel_settings *peel_settings);

/* The name of the tree that the settings are from; "": not known, or of an earlier start. */
const char *peel_settings_tree(const struct peel_settings *peel_settings);
/* The name of the tree that failed, and will until it changes: not for want of a secret or of what
 * other machines share. "": none. */
const char *peel_settings_refused(const struct peel_settings *peel_settings);
/* Why newer settings are not in use, without secrets; "": none. */
const char *peel_settings_problem(const struct peel_settings *peel_settings);

/* The caller holds a reference; NULL: not known. */
struct snapshot *peel_settings_hold(const struct peel_settings *peel_settings);

#endif
