/*
 * ssh_store - files of 'zester ssh' on a machine, in a private folder of its user.
 *
 *     zester-<sha256>      programs; put there by fleet/ssh/script.h
 *     blobs/<sha256>       files of trees of states, as they were sent
 *     run-<number>/        the tree of one run; locked while that lasts
 *
 * Files are sent once, and their sums are checked each time. A tree consists of hard links to them.
 * The next run removes leftovers of a killed run, and files and programs unused for a week.
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

/* Opens the current folder. Fails with ERR_UNSAFE if others may write to it. */
int ssh_store_open(struct arena *arena, struct ssh_store *ret, struct err *err);
/* Is the file there and complete? */
bool ssh_store_has(struct ssh_store *store, const struct ssh_file *file);
/* Receives it from the channel. Fails with ERR_INVALID for a wrong sum. */
int ssh_store_receive(struct ssh_store *store, const struct ssh_file *file,
                      struct ssh_channel *channel, struct err *err);
/* Builds a folder from all files of the request, which must be there. */
int ssh_store_lay(struct ssh_store *store, const struct ssh_request *request,
                  const char **ret_folder, struct err *err);
/* Removes the tree of this run, and old files. */
void ssh_store_close(struct ssh_store *store);

#endif
