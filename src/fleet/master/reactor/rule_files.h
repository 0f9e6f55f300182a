/*
 * rule_files - a folder of rules as files in memory.
 *
 * Memory: the arena. Threads: one.
 */
#ifndef FLEET_MASTER_REACTOR_RULE_FILES_H
#define FLEET_MASTER_REACTOR_RULE_FILES_H

#include "core/base/vec.h"
#include "fleet/reactor/rule_set.h"

struct arena;
struct err;

struct rule_files {
    VEC(struct rule_file) list;
};

/* Fails when there is none. */
int rule_files_read(struct arena *arena, const char *folder, struct rule_files *ret_files,
                    struct err *err);

#endif
