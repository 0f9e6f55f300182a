/*
 * restore_streams - the streams of an archive into the servers of a fleet that has none.
 *
 *     restore_streams_open        connects, and looks: no master runs, and there is no stream
 *     restore_streams_write       for each item of a stream
 *     restore_streams_settle      ends what was under way (see restore_settle.h), opens the fleet
 *     restore_streams_close
 *
 * While it runs, the stream STORE_RESTORE is there, with the id of the backup: masters do not start
 * before it is gone, and the same restore, repeated after a kill, knows which streams are its own.
 * Each stream comes whole or not at all.
 *
 * Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_BACKUP_RESTORE_STREAMS_H
#define COMMANDS_CLI_FLEET_BACKUP_RESTORE_STREAMS_H

#include "commands/cli/fleet/backup/backup_file.h"
#include "commands/cli/fleet/backup/restore_settle.h"
#include "commands/cli/fleet/link.h"
#include "fleet/bus/store.h"

struct err;

struct restore_streams {
    struct arena *arena;
    struct fleet *fleet;
    const struct archive_info *info;
    bool is_forced;
    bool exists[STORE_STREAMS]; /* before it is restored */
    bool is_ours;               /* an earlier run of this restore has made them */
    bool has_other_mark;        /* the restore of another backup was not finished */
    uint64_t last_seq[STORE_STREAMS];
    int64_t restored, messages;
};

int restore_streams_open(struct restore_streams *streams, const struct fleet_target *target,
                         struct err *err);
/* A part that begins: the stream, with the data that `file` has for it. */
int restore_streams_write(struct restore_streams *streams, struct backup_file *file,
                          const struct archive_part *part, struct err *err);
int restore_streams_settle(struct restore_streams *streams, const char *auth_dir,
                           struct restore_settled *ret_settled, struct err *err);
void restore_streams_close(struct restore_streams *streams);

#endif
