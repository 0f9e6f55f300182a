/*
 * archive_layout - the bytes of an archive (fleet/backup/archive.h). For the files archive*.c.
 *
 *     head      | magic 16 | version 4 | kind 4 | passes 8 | memory 8 | salt 16 | mark 16 |
 *               | stream 24 | check 8 |
 *     message   | length 4 | sealed: kind 1, payload |
 *
 * Numbers are little-endian. The check is XXH64 of the bytes before it.
 */
#ifndef FLEET_BACKUP_ARCHIVE_LAYOUT_H
#define FLEET_BACKUP_ARCHIVE_LAYOUT_H

#include "fleet/backup/archive.h"

#define ARCHIVE_MAGIC      "zester-backup\r\n\032"
#define ARCHIVE_MAGIC_SIZE 16
#define ARCHIVE_HEAD_SIZE  104
#define ARCHIVE_CHECK_SIZE 8
#define ARCHIVE_LENGTH     4
/* Bytes of a sealed message. */
#define ARCHIVE_SEALED_MAX (1 + ARCHIVE_HEAD_MAX + SECRET_STREAM_EXTRA)

/* First byte of a message, by enum archive_step. */
extern const char archive_letters[ARCHIVE_CLOSE + 1];

/* Payload of the last message. */
struct archive_total {
    int64_t parts, bytes;
};
extern const struct record_type archive_total_type;

/* The head without its check, and the check. */
void archive_layout_print(const struct archive_head *head, struct buf *out);

#endif
