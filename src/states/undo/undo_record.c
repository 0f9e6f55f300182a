#include "states/undo/undo_record.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/data/msgpack.h"
#include "states/undo/undo.h"

/* Old frames: | length 4 | first 8 bytes of SHA-256 | payload |, little-endian. */
enum { OLD_LENGTH_SIZE = 4, OLD_SUM_SIZE = 8, OLD_HEAD_SIZE = OLD_LENGTH_SIZE + OLD_SUM_SIZE };

static const char *const outcome_words[] = {
    [OUTCOME_UNCHANGED] = "unchanged",
    [OUTCOME_CHANGED] = "changed",
    [OUTCOME_FAILED] = "failed",
    [OUTCOME_SKIPPED] = "skipped",
};

/* clang-format off */
#define ARGS struct undo_record
#define STATE RECORD("state", INT, ARGS, state, RECORD_REQUIRED, RECORD_RANGE(0, UNDO_STATES_MAX))

static const struct record_field run_fields[] = {
    RECORD("id",   TEXT,  ARGS, run,  RECORD_REQUIRED),
    RECORD("time", INT,   ARGS, time, RECORD_REQUIRED),
    RECORD("refs", TEXTS, ARGS, refs, 0),
    RECORD("function", TEXT, ARGS, function, RECORD_OMIT, .fallback_text = ""),
    RECORD("by",   TEXT,  ARGS, by, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field begin_fields[] = {
    RECORD("state",    INT,  ARGS, state,          RECORD_REQUIRED, .since = 1, RECORD_RANGE(0, UNDO_STATES_MAX)),
    RECORD("name",     TEXT, ARGS, name,           RECORD_REQUIRED),
    RECORD("module",   TEXT, ARGS, module,         RECORD_REQUIRED),
    RECORD("id",       TEXT, ARGS, id,             RECORD_REQUIRED),
    RECORD("shown",    TEXT, ARGS, shown,          RECORD_OMIT, .fallback_text = ""),
    RECORD("level",    INT,  ARGS, level,          RECORD_REQUIRED, RECORD_RANGE(0, UNDO_STATES_MAX)),
    RECORD("secret",   BOOL, ARGS, secret,         RECORD_OMIT),
    RECORD("hidden",   BOOL, ARGS, hidden,         RECORD_OMIT),
    RECORD("attempts", INT,  ARGS, retry.attempts, RECORD_OMIT),
    RECORD("interval", INT,  ARGS, retry.interval, RECORD_OMIT),
    RECORD("body",     ANY,  ARGS, body,           RECORD_OMIT),
    { 0 },
};

static const struct record_field image_fields[] = {
    STATE,
    RECORD("image", STRUCT, ARGS, image, RECORD_REQUIRED, .inner = &image_type),
    RECORD("left",  TEXT,   ARGS, mark,  RECORD_OMIT),
    { 0 },
};

static const struct record_field left_fields[] = {
    STATE,
    RECORD("path", TEXT, ARGS, path, RECORD_REQUIRED),
    RECORD("mark", TEXT, ARGS, mark, RECORD_REQUIRED),
    { 0 },
};

static const struct record_field note_fields[] = {
    STATE,
    RECORD("key",   TEXT, ARGS, key,   RECORD_REQUIRED),
    RECORD("value", ANY,  ARGS, value, RECORD_REQUIRED),
    { 0 },
};

static const struct record_field end_fields[] = {
    STATE,
    RECORD("outcome", WORD, ARGS, outcome, RECORD_REQUIRED | RECORD_NUMBERED, RECORD_WORDS(outcome_words)),
    RECORD("records", INT,  ARGS, records, RECORD_OMIT, .since = 1),
    { 0 },
};

static const struct record_field restored_fields[] = { STATE, { 0 } };
static const struct record_field reverted_fields[] = { { 0 } };

static const struct record_field seal_fields[] = {
    RECORD("id",      TEXT,  ARGS, run,     RECORD_REQUIRED),
    RECORD("time",    INT,   ARGS, time,    RECORD_REQUIRED),
    RECORD("refs",    TEXTS, ARGS, refs,    0),
    RECORD("records", INT,   ARGS, records, RECORD_REQUIRED),
    { 0 },
};

#define KIND(word, table) &(const struct record_type)RECORD_TYPE(word, ARGS, table, RECORD_TAGGED)
static const struct record_type *const types[UNDO_KINDS] = {
    [UNDO_RUN]      = KIND("run",      run_fields),
    [UNDO_BEGIN]    = KIND("begin",    begin_fields),
    [UNDO_IMAGE]    = KIND("image",    image_fields),
    [UNDO_LEFT]     = KIND("left",     left_fields),
    [UNDO_NOTE]     = KIND("note",     note_fields),
    [UNDO_END]      = KIND("end",      end_fields),
    [UNDO_RESTORED] = KIND("restored", restored_fields),
    [UNDO_REVERTED] = KIND("reverted", reverted_fields),
    [UNDO_SEAL]     = KIND("seal",     seal_fields),
};
/* clang-format on */

int undo_record_encode(struct buf *out, enum undo_kind kind, const struct undo_record *record,
                       uint64_t salt, struct err *err)
{
    return record_append(out, types[kind], record, UNDO_VERSION, salt, err);
}

int undo_record_decode(struct arena *arena, struct str payload, unsigned version,
                       enum undo_kind *ret_kind, struct undo_record *ret_record, struct err *err)
{
    struct value v;
    size_t kind;

    if (version > UNDO_VERSION)
        return err_set(err, ERR_UNSUPPORTED, "written by a newer version of zester");
    if (msgpack_decode(arena, payload, &v, err) < 0)
        return -1;
    if (!record_find_type(&v, types, UNDO_KINDS, &kind))
        return err_set(err, ERR_INVALID, "not a known kind of record");
    if (record_read(arena, types[kind], version, &v, ret_record, err) < 0)
        return err_wrap(err, "record '%s'", types[kind]->name);
    *ret_kind = (enum undo_kind)kind;
    return 0;
}

bool undo_record_next_old(struct str *journal, struct str *ret_payload)
{
    const unsigned char *head = (const unsigned char *)journal->p;
    unsigned char digest[SHA256_SIZE];
    size_t n = 0;

    if (journal->n < OLD_HEAD_SIZE)
        return false;
    for (int i = 0; i < OLD_LENGTH_SIZE; i++)
        n |= (size_t)head[i] << (8 * i);
    if (n > UNDO_RECORD_MAX || n > journal->n - OLD_HEAD_SIZE)
        return false;
    sha256(journal->p + OLD_HEAD_SIZE, n, digest);
    if (memcmp(digest, head + OLD_LENGTH_SIZE, OLD_SUM_SIZE) != 0)
        return false;
    *ret_payload = str_slice(*journal, OLD_HEAD_SIZE, n);
    *journal = str_from_offset(*journal, OLD_HEAD_SIZE + n);
    return true;
}
