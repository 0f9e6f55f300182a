#include "fleet/backup/archive.h"

#include "core/base/checksum.h"
#include "core/base/mem.h"
#include "fleet/backup/archive_layout.h"

const char archive_letters[ARCHIVE_CLOSE + 1] = {
    [ARCHIVE_INFO] = 'i', [ARCHIVE_PART] = 'p',  [ARCHIVE_DATA] = 'd',
    [ARCHIVE_END] = 'e',  [ARCHIVE_CLOSE] = 'c',
};

static const char *const part_words[] = {
    [ARCHIVE_FILE] = "file",
    [ARCHIVE_FOLDER] = "folder",
    [ARCHIVE_LINK] = "link",
    [ARCHIVE_STREAM] = "stream",
};
_Static_assert(ARRAY_LEN(part_words) == ARCHIVE_PART_KINDS, "every kind has a word");

const char *archive_part_name(enum archive_part_kind kind)
{
    return part_words[kind];
}

/* clang-format off */
#define ARGS struct archive_info
static const struct record_field info_fields[] = {
    RECORD("id",            TEXT, ARGS, id,            RECORD_REQUIRED),
    RECORD("fleet",         TEXT, ARGS, fleet,         RECORD_REQUIRED),
    RECORD("host",          TEXT, ARGS, host,          0),
    RECORD("zester",        TEXT, ARGS, zester,        0),
    RECORD("server",        TEXT, ARGS, server,        0),
    RECORD("conf",          TEXT, ARGS, conf,          RECORD_REQUIRED),
    RECORD("nats_conf",     TEXT, ARGS, nats_conf,     0),
    RECORD("server_number", INT,  ARGS, server_number, 0),
    RECORD("made",          TIME, ARGS, made,          RECORD_REQUIRED),
    { 0 },
};
const struct record_type archive_info_type = RECORD_TYPE("backup", ARGS, info_fields, 0);

#undef ARGS
#define ARGS struct archive_part
static const struct record_field part_fields[] = {
    RECORD("kind",     WORD,  ARGS, kind,     RECORD_REQUIRED, RECORD_WORDS(part_words)),
    RECORD("name",     TEXT,  ARGS, name,     RECORD_REQUIRED),
    RECORD("mode",     INT,   ARGS, mode,     RECORD_OMIT),
    RECORD("user",     TEXT,  ARGS, user,     RECORD_OMIT),
    RECORD("group",    TEXT,  ARGS, group,    RECORD_OMIT),
    RECORD("uid",      INT,   ARGS, uid,      RECORD_OMIT),
    RECORD("gid",      INT,   ARGS, gid,      RECORD_OMIT),
    RECORD("target",   TEXT,  ARGS, target,   RECORD_OMIT),
    RECORD("config",   BYTES, ARGS, config,   RECORD_OMIT),
    RECORD("state",    BYTES, ARGS, state,    RECORD_OMIT),
    RECORD("messages", INT,   ARGS, messages, RECORD_OMIT, RECORD_RANGE(0, INT64_MAX)),
    RECORD("last_seq", INT,   ARGS, last_seq, RECORD_OMIT),
    { 0 },
};
const struct record_type archive_part_type = RECORD_TYPE("part", ARGS, part_fields, 0);

#undef ARGS
#define ARGS struct archive_total
static const struct record_field total_fields[] = {
    RECORD("parts", INT, ARGS, parts, RECORD_REQUIRED),
    RECORD("bytes", INT, ARGS, bytes, RECORD_REQUIRED),
    { 0 },
};
const struct record_type archive_total_type = RECORD_TYPE("total", ARGS, total_fields, 0);
/* clang-format on */

static void add_number(struct buf *out, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        buf_add_char(out, (char)(number >> (8 * i) & 0xff));
}

void archive_layout_print(const struct archive_head *head, struct buf *out)
{
    const size_t start = out->n;

    buf_add(out, ARCHIVE_MAGIC, ARCHIVE_MAGIC_SIZE);
    add_number(out, ARCHIVE_VERSION, 4);
    add_number(out, head->kind, 4);
    add_number(out, head->cost.passes, 8);
    add_number(out, head->cost.memory, 8);
    buf_add(out, head->salt, sizeof(head->salt));
    buf_add(out, head->mark, sizeof(head->mark));
    buf_add(out, head->stream, sizeof(head->stream));
    add_number(out, checksum(buf_text(out) + start, out->n - start, 0), ARCHIVE_CHECK_SIZE);
}
