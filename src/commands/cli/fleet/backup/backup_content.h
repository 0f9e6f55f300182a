/*
 * backup_content - which files belong into a backup: keys, configuration and trees of the master on
 * this machine, as its configuration says.
 *
 * Memory: the arena. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_BACKUP_BACKUP_CONTENT_H
#define COMMANDS_CLI_FLEET_BACKUP_BACKUP_CONTENT_H

#include "core/base/vec.h"
#include "core/data/params.h"
#include "fleet/backup/archive.h"
#include "fleet/master/conf.h"

struct arena;
struct err;

struct backup_content {
    const char *conf_file, *nats_conf; /* `nats_conf` "": none */
    struct master_conf conf;
    VEC(const char *) roots; /* files and folders, in the order of a restore */
    size_t files;            /* that were written */
};

struct backup_want {
    const char *config;    /* NULL: that of the master */
    const char *nats_conf; /* NULL: where it usually is */
    struct param_strs include;
};

int backup_content_find(struct arena *arena, const struct backup_want *want,
                        struct backup_content *ret, struct err *err);
/* All files into the archive. A root that is missing is left out. */
int backup_content_write(struct backup_content *content, struct archive_writer *writer,
                         struct err *err);

#endif
