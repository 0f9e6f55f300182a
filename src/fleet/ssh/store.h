/*
 * ssh_store - what 'zester ssh' keeps on a machine, in a folder that belongs to its user alone.
 *
 *     zester-<sha256>      programs; put there by fleet/ssh/script.h
 *     blobs/<sha256>       files of trees of states, as they were sent
 *     run-<number>/        the tree of one run; locked while that lasts
 *
 * Files are sent once, and their sums are checked each time. A tree is made of further names of
 * them. What a run that was killed has left behind is removed by the next one; files and programs
 * that nobody has used for a week, too.
 *
 *     ssh_store_open -> { ssh_store_has, ssh_store_receive }... -> ssh_store_lay -> ssh_store_close
 *
 * Memory: the arena of ssh_store_open. Threads: one.
 */
#ifndef FLEET_SSH_STORE_H
#define FLEET_SSH_STORE_H

#include <stdbool.h>

#include "fleet/ssh/message.h"
#include "core/sys/lock.h"

struct arena;
struct err;
struct ssh_channel;

struct ssh_store {
    struct arena *arena;
    const char *folder;
    const char *run; /* of this run; NULL: not made yet */
    struct lock lock;
};

/* The current folder. Fails with ERR_UNSAFE when others may write to it. */
int ssh_store_open(struct arena *arena, struct ssh_store *ret, struct err *err);
/* Is the file there, whole? */
bool ssh_store_has(struct ssh_store *store, const struct ssh_file *file);
/* Take it from the channel. Fails with ERR_INVALID when it does not have its sum. */
int ssh_store_receive(struct ssh_store *store, const struct ssh_file *file,
                      struct ssh_channel *channel, struct err *err);
/* All files of the request, which are there, as a folder. */
int ssh_store_lay(struct ssh_store *store, const struct ssh_request *request,
                  const char **ret_folder, struct err *err);
/* Remove the tree of this run, and what is old. */
void ssh_store_close(struct ssh_store *store);

#endif
