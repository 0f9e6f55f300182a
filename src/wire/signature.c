#include "wire/signature.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define TEXT_MAX 2048
#define MANIFEST "manifest"

/* clang-format off */
static const struct record_field tree_fields[] = {
    RECORD("revision",  INT,   struct signature_tree, revision, RECORD_REQUIRED),
    RECORD("time",      INT,   struct signature_tree, time, RECORD_REQUIRED, RECORD_RANGE(1, INT64_MAX)),
    RECORD("signature", BYTES, struct signature_tree, signature, RECORD_REQUIRED),
    { 0 },
};

const struct record_type signature_tree_type = RECORD_TYPE("tree signature", struct signature_tree, tree_fields, RECORD_LENIENT);
/* clang-format on */

const char *signature_key(struct arena *arena, const char *manifest_key)
{
    const struct str key = str_from(manifest_key);
    const size_t at = str_find(key, STR(MANIFEST), 0);

    if (at == STR_NONE)
        return arena_printf(arena, "%s.signature", manifest_key);
    return arena_printf(arena, "%.*ssignature%s", (int)at, manifest_key,
                        manifest_key + at + strlen(MANIFEST));
}

const char *signature_place(struct arena *arena, const char *bucket, const char *manifest_key)
{
    return arena_printf(arena, "%s/%s", bucket, manifest_key);
}

/* No fact can have a line break: places are made of keys, the others of digits. */
static void print_tree(const char *place, const char *sum, const struct signature_mark *mark,
                       struct buf *out)
{
    buf_printf(out,
               "zester tree 1\nplace %s\nrevision %" PRIu64 "\ntime %" PRId64 "\nsha256 %s\n",
               place, mark->revision, mark->time, sum);
}

struct str signature_sign_tree(struct arena *arena,
                               const unsigned char seed[static ED25519_SEED_SIZE],
                               const char *place, const char *sum,
                               const struct signature_mark *mark)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX), bytes = BUF_INIT(SIGNATURE_TREE_MAX);
    unsigned char signature[ED25519_SIGNATURE_SIZE];
    const struct signature_tree tree = { .revision = mark->revision,
                                         .time = mark->time,
                                         .signature = str_bytes(signature, sizeof(signature)) };
    struct err err;

    print_tree(place, sum, mark, &text);
    ed25519_sign(seed, buf_view(&text), signature);
    (void)record_encode(&bytes, &signature_tree_type, &tree, &err); /* it fits */
    return buf_copy(&bytes, arena);
}

static int read_tree(struct arena *arena, struct str stored, struct signature_tree *ret,
                     struct err *err)
{
    if (stored.n > SIGNATURE_TREE_MAX)
        return err_set(err, ERR_LIMIT, "more than %d bytes", SIGNATURE_TREE_MAX);
    if (record_decode(arena, &signature_tree_type, 0, stored, ret, err) < 0)
        return -1;
    if (ret->signature.n != ED25519_SIGNATURE_SIZE)
        return err_set(err, ERR_INVALID, "%zu bytes instead of %d", ret->signature.n,
                       ED25519_SIGNATURE_SIZE);
    return 0;
}

int signature_check_tree(const unsigned char account[static ED25519_PUBLIC_SIZE], const char *place,
                         const char *sum, struct str stored, struct signature_mark *ret_mark,
                         struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    struct signature_tree tree = { 0 };
    struct signature_mark mark;
    struct err why;

    if (read_tree(&arena, stored, &tree, &why) < 0)
        return err_set(err, ERR_UNSAFE, "the signature cannot be read: %s", why.text);
    mark = (struct signature_mark){ tree.revision, tree.time };
    print_tree(place, sum, &mark, &text);
    if (text.full ||
        !ed25519_verify(account, buf_view(&text), (const unsigned char *)tree.signature.p))
        return err_set(err, ERR_UNSAFE, "the signature of the manifest is not that of the account");
    *ret_mark = mark;
    return 0;
}

int signature_read_mark(struct str stored, struct signature_mark *ret_mark, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct signature_tree tree = { 0 };

    if (read_tree(&arena, stored, &tree, err) < 0)
        return -1;
    *ret_mark = (struct signature_mark){ tree.revision, tree.time };
    return 0;
}
