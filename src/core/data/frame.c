#include "core/data/frame.h"

#include <endian.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/checksum.h"
#include "core/base/err.h"

enum {
    MAGIC_SIZE = 4,
    VERSION_AT = 4,
    LENGTH_AT = 8,
    HEAD_CHECK_AT = 12, /* covers the bytes before it */
    CHECK_AT = 16,
    SALT_SIZE = 8, /* the payload of a file's first frames: the salt, then the purpose */
};

static const char magic[MAGIC_SIZE] = { '\x89', 'z', 'f', '\n' };

/* --- writing ---------------------------------------------------------------------- */

size_t frame_begin(struct buf *out)
{
    const size_t start = out->n;

    buf_fill(out, '\0', FRAME_HEAD);
    return start;
}

static uint32_t head_check(const char *head, uint64_t salt)
{
    return (uint32_t)checksum(head, HEAD_CHECK_AT, salt);
}

void frame_head_encode(uint16_t version, uint64_t salt, struct str payload,
                       char out[static FRAME_HEAD])
{
    const uint16_t version_le = htole16(version);
    const uint32_t length = htole32((uint32_t)payload.n);
    const uint64_t check = htole64(checksum(payload.p, payload.n, salt));
    uint32_t small_check;

    memcpy(out, magic, MAGIC_SIZE);
    memcpy(out + VERSION_AT, &version_le, sizeof(version_le));
    memset(out + VERSION_AT + sizeof(version_le), 0, LENGTH_AT - VERSION_AT - sizeof(version_le));
    memcpy(out + LENGTH_AT, &length, sizeof(length));
    small_check = htole32(head_check(out, salt));
    memcpy(out + HEAD_CHECK_AT, &small_check, sizeof(small_check));
    memcpy(out + CHECK_AT, &check, sizeof(check));
}

int frame_end(struct buf *out, size_t start, uint16_t version, uint64_t salt, struct err *err)
{
    const bool full = out->full;
    const size_t size = full ? 0 : out->n - start - FRAME_HEAD;

    if (full || size > FRAME_MAX) {
        buf_cut(out, start);
        out->full = false;
        return full ? err_set(err, ERR_LIMIT, "no room for a record: the limit is %zu bytes",
                              out->max)
                    : err_set(err, ERR_LIMIT, "a record of %zu bytes: the limit is %zu", size,
                              FRAME_MAX);
    }
    frame_head_encode(version, salt, (struct str){ out->p + start + FRAME_HEAD, size },
                      out->p + start);
    return 0;
}

void frame_file_begin(struct buf *out, const char *purpose, uint64_t salt)
{
    const uint64_t salt_le = htole64(salt);
    struct err ignored; /* a few dozen bytes; the owner of the buffer checks whether it is full */

    for (int copy = 0; copy < 2; copy++) {
        const size_t start = frame_begin(out);

        buf_add(out, &salt_le, SALT_SIZE);
        buf_add_text(out, purpose);
        (void)frame_end(out, start, 0, 0, &ignored);
    }
}

/* --- reading ---------------------------------------------------------------------- */

struct str frame_magic(void)
{
    return (struct str){ magic, MAGIC_SIZE };
}

bool frame_head_decode(const char *bytes, uint64_t salt, struct frame_head *ret_head)
{
    uint16_t version;
    uint32_t length, small_check;
    uint64_t check;

    if (memcmp(bytes, magic, MAGIC_SIZE) != 0)
        return false;
    memcpy(&version, bytes + VERSION_AT, sizeof(version));
    memcpy(&length, bytes + LENGTH_AT, sizeof(length));
    memcpy(&small_check, bytes + HEAD_CHECK_AT, sizeof(small_check));
    memcpy(&check, bytes + CHECK_AT, sizeof(check));
    if (le32toh(small_check) != head_check(bytes, salt) || le32toh(length) > FRAME_MAX)
        return false;
    *ret_head = (struct frame_head){ le16toh(version), le32toh(length), le64toh(check) };
    return true;
}

bool frame_head_fits(const struct frame_head *head, uint64_t salt, struct str payload)
{
    return payload.n == head->length && checksum(payload.p, payload.n, salt) == head->check;
}

/* After a crash a file may be longer than its written content. */
static bool is_zero_filled(struct str bytes)
{
    return bytes.n == 0 || (bytes.p[0] == '\0' && memcmp(bytes.p, bytes.p + 1, bytes.n - 1) == 0);
}

static bool is_start_of_head(struct str rest)
{
    return rest.n < FRAME_HEAD &&
           memcmp(rest.p, magic, rest.n < MAGIC_SIZE ? rest.n : MAGIC_SIZE) == 0;
}

/* The start of the next head, or of a possible head that is cut, or the end. */
static size_t find_head(const struct frame_scan *scan, size_t from)
{
    struct frame_head head;
    size_t at = from;

    while ((at = str_find(scan->bytes, frame_magic(), at)) != STR_NONE) {
        if (scan->bytes.n - at < FRAME_HEAD ||
            frame_head_decode(scan->bytes.p + at, scan->salt, &head))
            return at;
        at++;
    }
    return scan->bytes.n;
}

static enum frame_step pass_frame(struct frame_scan *scan, size_t end, enum frame_step step,
                                  struct frame *ret)
{
    *ret = (struct frame){ .offset = scan->at, .size = end - scan->at };
    scan->at = end;
    return step;
}

enum frame_step frame_next(struct frame_scan *scan, struct frame *ret_frame)
{
    const struct str rest = str_from_offset(scan->bytes, scan->at);
    struct frame_head head;
    struct str payload;

    if (rest.n == 0)
        return pass_frame(scan, scan->bytes.n, FRAME_END, ret_frame);
    if (is_start_of_head(rest) || is_zero_filled(rest))
        return pass_frame(scan, scan->bytes.n, FRAME_TORN, ret_frame);
    if (rest.n < FRAME_HEAD || !frame_head_decode(rest.p, scan->salt, &head))
        return pass_frame(scan, find_head(scan, scan->at + 1), FRAME_DAMAGE, ret_frame);
    if (head.length > rest.n - FRAME_HEAD)
        return pass_frame(scan, scan->bytes.n, FRAME_TORN, ret_frame);
    payload = str_slice(rest, FRAME_HEAD, head.length);
    if (!frame_head_fits(&head, scan->salt, payload))
        return pass_frame(scan, scan->at + FRAME_HEAD + head.length, FRAME_DAMAGE, ret_frame);
    (void)pass_frame(scan, scan->at + FRAME_HEAD + head.length, FRAME_WHOLE, ret_frame);
    ret_frame->version = head.version;
    ret_frame->payload = payload;
    return FRAME_WHOLE;
}

/* Both copies have the same size, which follows from the purpose. */
int frame_file_open(struct frame_scan *scan, struct str bytes, const char *purpose, struct err *err)
{
    const size_t size = FRAME_HEAD + SALT_SIZE + strlen(purpose);
    uint64_t salt;

    for (size_t copy = 0; copy < 2; copy++) {
        struct frame_scan one = { .bytes = str_slice(bytes, copy * size, size) };
        struct frame frame;

        if (frame_next(&one, &frame) != FRAME_WHOLE || frame.size != size ||
            !str_is(str_from_offset(frame.payload, SALT_SIZE), purpose))
            continue;
        memcpy(&salt, frame.payload.p, SALT_SIZE);
        *scan = (struct frame_scan){ bytes, 2 * size, le64toh(salt) };
        if (scan->at > bytes.n) /* cut inside the second copy */
            scan->at = bytes.n;
        return 0;
    }
    return err_set(err, ERR_INVALID, "not a file of the format '%s', or its beginning is damaged",
                   purpose);
}
