/*
 * ssh tree - the tree of states to send to machines: its files and their sums.
 *
 * As published by masters: hidden files and __pycache__ are left out, links are followed inside the
 * tree only. Files are read when they are sent; the machine refuses one that has changed meanwhile,
 * by its sum.
 *
 *     ssh_tree_open -> ssh_tree_send... -> ssh_tree_close
 *
 * And ssh_program: the zester to send.
 *
 * Memory: the arena of ssh_tree_open. Threads: any may send.
 */
#ifndef FLEET_SSH_TREE_FILES_H
#define FLEET_SSH_TREE_FILES_H

#include <stddef.h>

#include "core/base/sha256.h"
#include "core/base/vec.h"
#include "fleet/ssh/message.h"

struct arena;
struct err;
struct ssh_channel;
struct tree;

struct ssh_tree {
    struct tree *tree; /* NULL: there is none */
    VEC(struct ssh_file) files;
};

int ssh_tree_open(struct arena *arena, const char *folder, struct ssh_tree *ret, struct err *err);
void ssh_tree_close(struct ssh_tree *ssh_tree);
/* One file, in pieces. */
int ssh_tree_send(const struct ssh_tree *ssh_tree, const struct ssh_file *file,
                  struct ssh_channel *channel, struct err *err);

struct ssh_program {
    const char *path;
    char sha256[SHA256_HEX_SIZE];
    size_t size;
};

int ssh_program_read(const char *path, struct ssh_program *ret, struct err *err);
int ssh_program_send(const struct ssh_program *program, struct ssh_channel *channel,
                     struct err *err);

#endif
