#include "fleet/wire/signature.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/sha256.h"
#include "fleet/wire/job.h"

#define TEXT_MAX 2048
#define MANIFEST "manifest"
#define FORM     "1 " /* of a line: version 1 */
/* Bytes of a signature as text, with room to detect a longer text. */
#define BASE64_MAX 128

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
    buf_printf(out, "zester tree 1\nplace %s\nrevision %" PRIu64 "\ntime %" PRId64 "\nsha256 %s\n",
               place, mark->revision, mark->time, sum);
}

struct str signature_sign_tree(struct arena *arena, const struct ed25519_pair *signer,
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
    ed25519_sign_pair(signer, buf_view(&text), signature);
    (void)record_encode(&bytes, &signature_tree_type, &tree, &err); /* it fits */
    return buf_copy(&bytes, arena);
}

static int parse_signature_tree(struct arena *arena, struct str stored, struct signature_tree *ret,
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

    if (parse_signature_tree(&arena, stored, &tree, &why) < 0)
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

    if (parse_signature_tree(&arena, stored, &tree, err) < 0)
        return -1;
    *ret_mark = (struct signature_mark){ tree.revision, tree.time };
    return 0;
}

/* --- signatures as text ----------------------------------------------------------------- */

static void sign_text(const struct ed25519_pair *signer, struct str text, struct buf *out)
{
    unsigned char signature[ED25519_SIGNATURE_SIZE];

    ed25519_sign_pair(signer, text, signature);
    base64_encode(str_bytes(signature, sizeof(signature)), BASE64_URL, out);
}

static bool is_signed_by(const unsigned char key[static ED25519_PUBLIC_SIZE], struct str text,
                         struct str base64)
{
    AUTO_BUF struct buf signature = BUF_INIT(ED25519_SIGNATURE_SIZE);
    struct err err;

    return base64.n <= BASE64_MAX &&
           base64_decode_strict(base64, BASE64_URL, &signature, &err) == 0 &&
           signature.n == ED25519_SIGNATURE_SIZE &&
           ed25519_verify(key, text, (const unsigned char *)signature.p);
}

/* --- requests ----------------------------------------------------------------------- */

/* A subject has no line breaks: servers refuse them. */
static void print_request(const struct signature_request *request, struct buf *out)
{
    char sum[SHA256_HEX_SIZE];

    sha256_hex(request->payload.p, request->payload.n, sum);
    buf_printf(out, "zester request 1\nsubject %.*s\nanswer %s\ntime %" PRId64 "\nsha256 %s\n",
               STR_ARG(request->subject), request->is_direct ? "yes" : "no", request->time, sum);
}

void signature_sign_request(const struct ed25519_pair *signer,
                            const struct signature_request *request, struct buf *out)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    print_request(request, &text);
    buf_printf(out, FORM "%" PRId64 " ", request->time);
    sign_text(signer, buf_view(&text), out);
}

int signature_check_request(const unsigned char key[static ED25519_PUBLIC_SIZE], struct str line,
                            struct signature_request *request, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    struct str rest = str_from_offset(line, strlen(FORM)), time;

    if (line.n > SIGNATURE_LINE_MAX || !str_starts(line, STR(FORM)))
        return err_set(err, ERR_UNSAFE, "its signature cannot be read");
    time = str_cut(&rest, ' ');
    if (!rest.p || number_parse_int(time, &request->time, err) < 0)
        return err_set(err, ERR_UNSAFE, "its signature cannot be read");
    print_request(request, &text);
    if (text.full || !is_signed_by(key, buf_view(&text), rest))
        return err_set(err, ERR_UNSAFE, "its signature does not match");
    return 0;
}

/* --- jobs --------------------------------------------------------------------------- */

/* Equal structs are equal bytes, so what another master has read makes the same text. */
static void print_signed_job(const struct job *job, struct buf *out)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct job fixed = *job;
    char sum[SHA256_HEX_SIZE];
    struct err err;

    fixed.status = JOB_PENDING;
    fixed.updated = (struct value_time){ 0 };
    fixed.owner = fixed.signature = "";
    fixed.epoch = 0;
    fixed.reclaim_count = fixed.return_count = fixed.success_count = 0;
    fixed.offline_at_dispatch = (struct param_strs){ 0 };
    (void)record_encode(&bytes, &job_type, &fixed, &err); /* without a limit it fits */
    sha256_hex(bytes.p, bytes.n, sum);
    buf_printf(out, "zester job 1\nsha256 %s\n", sum);
}

void signature_sign_job(const struct ed25519_pair *signer, const struct job *job, struct buf *out)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    print_signed_job(job, &text);
    sign_text(signer, buf_view(&text), out);
}

bool signature_is_of_job(const unsigned char account[static ED25519_PUBLIC_SIZE],
                         const struct job *job)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    print_signed_job(job, &text);
    return job->signature && is_signed_by(account, buf_view(&text), str_from(job->signature));
}
