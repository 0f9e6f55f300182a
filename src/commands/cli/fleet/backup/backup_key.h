/*
 * backup_key - the key of a backup: a passphrase, from the terminal or a file, or a key file.
 *
 *     static const struct param options[] = { BACKUP_KEY_OPTIONS(ARGS, key), ... };
 *
 * A passphrase never comes from the command line, which other users can see. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_BACKUP_BACKUP_KEY_H
#define COMMANDS_CLI_FLEET_BACKUP_BACKUP_KEY_H

#include "fleet/backup/archive.h"

struct err;

/* Bytes of a key file. */
#define BACKUP_KEY_FILE_MIN   32
#define BACKUP_KEY_FILE_MAX   ((size_t)64 << 10)
#define BACKUP_PASSPHRASE_MAX ((size_t)1024)

struct backup_key_options {
    const char *passphrase_file, *key_file;
};

/* clang-format off */
#define BACKUP_KEY_OPTIONS(type, field) \
    PARAM("passphrase-file", PATH, type, field.passphrase_file, "a file whose first line is the passphrase; without it and --key-file, the terminal is asked", .kind_text = "FILE"), \
    PARAM("key-file", PATH, type, field.key_file, "a file of at least 32 random bytes instead of a passphrase", .kind_text = "FILE")
/* clang-format on */

/* The kind, salt and costs of a new archive, and its key; the caller wipes it. */
int backup_key_make(const struct backup_key_options *options, struct archive_head *ret_head,
                    unsigned char ret_key[static SECRET_STREAM_KEY_SIZE], struct err *err);
/* The key of an archive. Fails with ERR_INVALID when it has another kind of key. */
int backup_key_find(const struct backup_key_options *options, const struct archive_head *head,
                    unsigned char ret_key[static SECRET_STREAM_KEY_SIZE], struct err *err);

#endif
