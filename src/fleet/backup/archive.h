/*
 * archive - the file of a backup: files and streams, one after the other, sealed.
 *
 *     | head | sealed message | sealed message | ...
 *
 * The head says how the key is made, and has a check of its own. Each message
 * (core/base/secret_stream.h) is one of:
 *
 *     info     what was backed up, where and when; the first one
 *     part     the beginning of a file, a folder, a link, or a stream with its configuration
 *     data     bytes of it
 *     end      of the part: how many bytes
 *     close    how many parts there were; the last one, after which there is nothing
 *
 * So a reader needs memory for one message, whatever the size of a stream, and knows of each byte
 * that it is what was written. The reader distinguishes a damaged archive, one that was cut off,
 * and a wrong key.
 *
 *     writer   archive_begin -> archive_part -> archive_data... -> archive_end ... -> archive_close
 *     reader   archive_read_head -> archive_unlock -> { archive_next }... until ARCHIVE_CLOSE
 *
 * Bytes go through functions of the caller. Pure, but for random numbers. Memory: an item is valid
 * until the next one. Threads: any, one archive in one thread.
 */
#ifndef FLEET_BACKUP_ARCHIVE_H
#define FLEET_BACKUP_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/secret_stream.h"
#include "core/base/str.h"
#include "core/data/record.h"

struct err;

#define ARCHIVE_VERSION 1
/* Bytes of one piece of data, and of any other message. */
#define ARCHIVE_DATA_MAX ((size_t)256 << 10)
#define ARCHIVE_HEAD_MAX ((size_t)1 << 20)

enum archive_key_kind { ARCHIVE_KEY_FILE, ARCHIVE_KEY_PASSPHRASE };

/* The head. */
struct archive_head {
    enum archive_key_kind kind;
    struct secret_stream_cost cost; /* of a passphrase */
    unsigned char salt[SECRET_STREAM_SALT_SIZE];
    unsigned char mark[SECRET_STREAM_MARK_SIZE];
    unsigned char stream[SECRET_STREAM_HEAD_SIZE];
};

struct archive_info {
    const char *id;                     /* of this backup */
    const char *fleet;                  /* public key of the account */
    const char *host, *zester, *server; /* versions, and where it was made */
    const char *conf;                   /* the configuration of the master */
    const char *nats_conf;              /* that of nats-server; "": not in it */
    int64_t server_number;              /* NATS_VERSION */
    struct value_time made;
};
extern const struct record_type archive_info_type;

enum archive_part_kind { ARCHIVE_FILE, ARCHIVE_FOLDER, ARCHIVE_LINK, ARCHIVE_STREAM };
#define ARCHIVE_PART_KINDS (ARCHIVE_STREAM + 1)
const char *archive_part_name(enum archive_part_kind kind);

struct archive_part {
    enum archive_part_kind kind;
    const char *name; /* an absolute path, or the name of a stream */
    uint32_t mode;
    const char *user, *group; /* names; "": the numbers */
    uint32_t uid, gid;
    const char *target;       /* of a link */
    struct str config, state; /* of a stream, as JSON */
    int64_t messages;         /* the same */
    uint64_t last_seq;
};
extern const struct record_type archive_part_type;

/* --- writing -------------------------------------------------------------------------- */

typedef int archive_write_fn(void *self, struct str bytes, struct err *err);

struct archive_writer {
    archive_write_fn *write;
    void *self;
    /* for archive_write.c */
    struct secret_stream stream;
    struct buf plain, sealed;
    int64_t parts, bytes;
};

/* Writes the head, whose mark and stream it fills in, and the info. */
int archive_begin(struct archive_writer *writer, struct archive_head *head,
                  const unsigned char key[static SECRET_STREAM_KEY_SIZE],
                  const struct archive_info *info, struct err *err);
int archive_part(struct archive_writer *writer, const struct archive_part *part, struct err *err);
/* Any number of bytes. */
int archive_data(struct archive_writer *writer, struct str bytes, struct err *err);
int archive_end(struct archive_writer *writer, struct err *err);
int archive_close(struct archive_writer *writer, struct err *err);
void archive_writer_done(struct archive_writer *writer);

/* --- reading -------------------------------------------------------------------------- */

/* Reads up to `n` bytes, less only at the end. */
typedef int archive_read_fn(void *self, void *bytes, size_t n, size_t *ret_n, struct err *err);

enum archive_step { ARCHIVE_INFO, ARCHIVE_PART, ARCHIVE_DATA, ARCHIVE_END, ARCHIVE_CLOSE };

struct archive_item {
    enum archive_step step;
    const struct archive_info *info; /* of the archive, from the first item on */
    const struct archive_part *part; /* of PART, DATA and END */
    struct str data;
    int64_t parts, bytes; /* so far */
};

struct archive_reader {
    archive_read_fn *read;
    void *self;
    /* for archive_read.c */
    struct secret_stream stream;
    struct buf sealed, plain;
    struct arena info_arena, part_arena;
    struct archive_info info;
    struct archive_part part;
    uint64_t offset; /* of the next byte of the file */
    int64_t parts, bytes;
    bool has_info, is_open; /* a part is */
};

/* Bytes of the beginning, and whether a file that begins with them is an archive. */
#define ARCHIVE_BEGIN 16
bool archive_has_begun(struct str bytes);
int archive_read_head(struct archive_reader *reader, struct archive_head *ret_head,
                      struct err *err);
/* ERR_UNSAFE: not the key of this archive. */
int archive_unlock(struct archive_reader *reader, const struct archive_head *head,
                   const unsigned char key[static SECRET_STREAM_KEY_SIZE], struct err *err);
int archive_next(struct archive_reader *reader, struct archive_item *ret_item, struct err *err);
void archive_reader_done(struct archive_reader *reader);

#endif
