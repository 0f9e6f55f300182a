#include "undo/undo_record.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "data/msgpack.h"
#include "data/value.h"
#include "undo/undo.h"

enum { LENGTH_SIZE = 4, SUM_SIZE = 8, HEAD_SIZE = LENGTH_SIZE + SUM_SIZE };

static const char *const kind_words[] = {
    [UNDO_RUN] = "run",           [UNDO_BEGIN] = "begin",       [UNDO_IMAGE] = "image",
    [UNDO_LEFT] = "left",         [UNDO_NOTE] = "note",         [UNDO_END] = "end",
    [UNDO_RESTORED] = "restored", [UNDO_REVERTED] = "reverted",
};
_Static_assert(ARRAY_LEN(kind_words) == UNDO_KINDS, "every kind has a word");

void undo_record_set(struct arena *arena, struct value_map *record, const char *key, struct value v)
{
    value_map_set(arena, record, value_text(key), v);
}

struct value_map *undo_record_new(struct arena *arena, enum undo_kind kind)
{
    struct value_map *map = value_map_new(arena, 8);

    undo_record_set(arena, map, "record", value_text(kind_words[kind]));
    return map;
}

static void write_head(unsigned char *head, const void *payload, size_t n)
{
    unsigned char digest[SHA256_SIZE];

    for (int i = 0; i < LENGTH_SIZE; i++)
        head[i] = (unsigned char)(n >> (8 * i));
    sha256(payload, n, digest);
    memcpy(head + LENGTH_SIZE, digest, SUM_SIZE);
}

int undo_record_encode(struct buf *out, const struct value *record, struct err *err)
{
    size_t at = out->n;

    buf_fill(out, 0, HEAD_SIZE);
    if (msgpack_encode(out, record, err) < 0)
        return -1;
    write_head((unsigned char *)out->p + at, out->p + at + HEAD_SIZE, out->n - at - HEAD_SIZE);
    return 0;
}

static bool find_kind(const struct value *record, enum undo_kind *ret)
{
    const struct value *word = value_get(record, "record");

    for (enum undo_kind kind = 0; word && word->kind == VALUE_STR && kind < UNDO_KINDS; kind++)
        if (str_is(word->s, kind_words[kind])) {
            *ret = kind;
            return true;
        }
    return false;
}

bool undo_record_decode(struct arena *arena, struct str *journal, enum undo_kind *ret_kind,
                        struct value *ret_record)
{
    const unsigned char *head = (const unsigned char *)journal->p;
    unsigned char check[HEAD_SIZE];
    struct err ignored;
    size_t n = 0;

    if (journal->n < HEAD_SIZE)
        return false;
    for (int i = 0; i < LENGTH_SIZE; i++)
        n |= (size_t)head[i] << (8 * i);
    if (n > UNDO_RECORD_MAX || n > journal->n - HEAD_SIZE)
        return false;
    write_head(check, journal->p + HEAD_SIZE, n);
    if (memcmp(check, head, HEAD_SIZE) != 0)
        return false;
    if (msgpack_decode(arena, str_slice(*journal, HEAD_SIZE, n), ret_record, &ignored) < 0 ||
        !find_kind(ret_record, ret_kind))
        return false;
    *journal = str_from_offset(*journal, HEAD_SIZE + n);
    return true;
}
