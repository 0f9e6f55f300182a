/*
 * backup_streams - the streams of the fleet into an archive, and which of them.
 *
 * Each is copied with its messages, sequences, times and consumers (fleet/nats/snapshot.h), while
 * the fleet works. The order is that of the tables of fleet/bus/store.h: streams of events before
 * the buckets where their effects are recorded, so what the copy of a stream calls done is in the
 * copies of the buckets.
 *
 * Left out is what is true for seconds: leases, heartbeats, presence, challenges, the status of
 * watchdogs, and the acknowledgements that masters compare (reactor-acks).
 *
 * Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_BACKUP_BACKUP_STREAMS_H
#define COMMANDS_CLI_FLEET_BACKUP_BACKUP_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/cli/fleet/link.h"
#include "fleet/backup/archive.h"

struct err;

struct backup_streams_count {
    size_t streams;
    int64_t messages;
};

/* Is this stream (number of fleet/bus/store.h) part of a backup? */
bool backup_streams_has(size_t number);
int backup_streams_write(struct fleet *fleet, struct archive_writer *writer,
                         struct backup_streams_count *ret_count, struct err *err);

#endif
