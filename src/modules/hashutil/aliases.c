/* Hashes, encodings and random texts, under their Salt names. */
#include "base/base64.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "state/module.h"
#include "sys/chance.h"
#include "sys/fs.h"
#include "sys/cancel.h"

#define ARGS     struct hash_args
#define TEXT_MAX ((size_t)64 << 20)

#define LENGTH_MAX 65536

struct hash_args {
    struct str text;
    const char *form;
    int64_t length, end;
};

/* clang-format off */
static const struct param text_params[] = {
    PARAM("instr", TEXT, ARGS, text, "the text", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "value"),
    { 0 },
};
static const struct param digest_params[] = {
    PARAM("instr", TEXT, ARGS, text, "the text", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "value"),
    PARAM("checksum", STR, ARGS, form, "md5, sha1, sha256, sha512...", .default_text = "md5"),
    { 0 },
};
static const struct param hash_params[] = {
    PARAM("value", TEXT, ARGS, text, "the text", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("algorithm", STR, ARGS, form, "md5, sha1, sha256, sha512...", .default_text = "sha512"),
    { 0 },
};
static const struct param file_params[] = {
    PARAM("infile", TEXT, ARGS, text, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("checksum", STR, ARGS, form, "md5, sha1, sha256, sha512...", .default_text = "md5"),
    { 0 },
};
static const struct param string_params[] = {
    PARAM("length", INT, ARGS, length, "how many characters", .default_text = "20", .flags = PARAM_PRIMARY, PARAM_RANGE(1, LENGTH_MAX)),
    { 0 },
};
static const struct param range_params[] = {
    PARAM("start", INT, ARGS, length, "the smallest", .default_text = "1", .flags = PARAM_PRIMARY),
    PARAM("end", INT, ARGS, end, "the largest", .default_text = "10"),
    { 0 },
};
static const struct param random_hash_params[] = {
    PARAM("size", INT, ARGS, length, "number of random bytes to hash", .default_text = "9999999999", .flags = PARAM_PRIMARY),
    PARAM("hash_type", STR, ARGS, form, "md5, sha1, sha256, sha512...", .default_text = "sha256"),
    { 0 },
};
/* clang-format on */

static int hash_text(struct state_run *run, struct str text, const char *form, struct value *ret,
                     struct err *err)
{
    const struct digest *digest = digest_find(str_from(form));
    char hex[DIGEST_HEX_MAX];

    if (!digest)
        return err_set(err, ERR_INVALID, "unknown hash '%s'", form);
    if (digest_hex(digest, text, cancel_check, hex, err) < 0)
        return -1;
    *ret = value_text(arena_strdup(run->arena, hex));
    return 0;
}

static int call_digest(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct hash_args *want = args;

    return hash_text(run, want->text, want->form, ret, err);
}

static int call_md5(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    return hash_text(run, ((const struct hash_args *)args)->text, "md5", ret, err);
}

static int call_sha256(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    return hash_text(run, ((const struct hash_args *)args)->text, "sha256", ret, err);
}

static int call_sha512(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    return hash_text(run, ((const struct hash_args *)args)->text, "sha512", ret, err);
}

static int call_digest_file(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const struct hash_args *want = args;
    const char *path = arena_strndup(run->arena, want->text.p, want->text.n);
    struct str text;

    if (fs_read(run->arena, path, TEXT_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "%s does not exist", path);
    return hash_text(run, text, want->form, ret, err);
}

static int call_encode(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);

    (void)err;
    base64_encode(((const struct hash_args *)args)->text, BASE64_STANDARD, &out);
    *ret = value_str(buf_copy(&out, run->arena));
    return 0;
}

static int call_decode(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);

    if (base64_decode(((const struct hash_args *)args)->text, BASE64_STANDARD, &out, err) < 0)
        return -1;
    *ret = value_str(buf_copy(&out, run->arena));
    return 0;
}

static int call_get_str(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const struct hash_args *want = args;
    AUTO_BUF struct buf out = BUF_INIT(LENGTH_MAX);

    (void)err;
    for (int64_t i = 0; i < want->length; i++)
        buf_add_char(&out, letters[chance_number() % (sizeof(letters) - 1)]);
    *ret = value_str(buf_copy(&out, run->arena));
    return 0;
}

static int call_rand_int(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    const struct hash_args *want = args;

    (void)run;
    if (want->end < want->length)
        return err_set(err, ERR_INVALID, "'end' is before 'start'");
    *ret = value_int(want->length +
                     (int64_t)(chance_number() % (uint64_t)(want->end - want->length + 1)));
    return 0;
}

static int call_random_hash(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const uint64_t number = chance_number();
    const struct str bytes = { (const char *)&number, sizeof(number) };

    return hash_text(run, bytes, ((const struct hash_args *)args)->form, ret, err);
}

/* clang-format off */
#define ROW(table, function) .params = table, .args_size = sizeof(ARGS), .call = function

const struct module aliases_hashutil[] = {
    { .name = "hashutil.base64_b64decode", .summary = "decode base64", ROW(text_params, call_decode) },
    { .name = "hashutil.base64_b64encode", .summary = "encode a text as base64", ROW(text_params, call_encode) },
    { .name = "hashutil.base64_decodestring", .summary = "decode base64", ROW(text_params, call_decode) },
    { .name = "hashutil.base64_encodestring", .summary = "encode a text as base64", ROW(text_params, call_encode) },
    { .name = "hashutil.digest", .summary = "the hash of a text", ROW(digest_params, call_digest) },
    { .name = "hashutil.digest_file", .summary = "the hash of a file", ROW(file_params, call_digest_file) },
    { .name = "hashutil.md5_digest", .summary = "the md5 of a text", ROW(text_params, call_md5) },
    { .name = "hashutil.sha256_digest", .summary = "the sha256 of a text", ROW(text_params, call_sha256) },
    { .name = "hashutil.sha512_digest", .summary = "the sha512 of a text", ROW(text_params, call_sha512) },
    { .name = "random.get_str", .summary = "random letters and digits", ROW(string_params, call_get_str) },
    { .name = "random.hash", .summary = "the hash of a text", ROW(hash_params, call_digest) },
    { .name = "random.rand_int", .summary = "a random number", ROW(range_params, call_rand_int) },
    { .name = "test.random_hash", .summary = "a random hash", ROW(random_hash_params, call_random_hash) },
    { 0 },
};
/* clang-format on */
