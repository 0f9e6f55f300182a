/* Hashes, encodings and random texts, under their Salt names. */
#include <string.h>

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/digest.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "states/state/module.h"
#include "core/sys/chance.h"
#include "core/sys/fs.h"
#include "core/sys/passhash.h"

#define ARGS     struct hash_args
#define TEXT_MAX ((size_t)64 << 20)

#define LENGTH_MAX 65536
#define LINE_BYTES 57 /* that are 76 characters of base64 */

struct hash_args {
    struct str text;
    const char *form, *secret, *challenge;
    const struct value *items;
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
static const struct param name_params[] = {
    PARAM("fname", TEXT, ARGS, text, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
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
static const struct param hmac_params[] = {
    PARAM("string", TEXT, ARGS, text, "the text", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("shared_secret", STR, ARGS, secret, "the secret", .flags = PARAM_REQUIRED | PARAM_SECRET),
    { 0 },
};
static const struct param signature_params[] = {
    PARAM("string", TEXT, ARGS, text, "the text", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("shared_secret", STR, ARGS, secret, "the secret", .flags = PARAM_REQUIRED | PARAM_SECRET),
    PARAM("challenge_hmac", STR, ARGS, challenge, "the expected HMAC", .flags = PARAM_REQUIRED),
    { 0 },
};
static const struct param shadow_params[] = {
    PARAM_REFUSED("crypt_salt", "salts are random"),
    PARAM("password", TEXT, ARGS, text, "the password (default: a random one)", .flags = PARAM_SECRET),
    PARAM("algorithm", STR, ARGS, form, "sha512", .default_text = "sha512"),
    { 0 },
};
static const struct param seed_params[] = {
    PARAM("range", INT, ARGS, length, "numbers below this one", .default_text = "10", .flags = PARAM_PRIMARY, PARAM_RANGE(1, INT32_MAX)),
    PARAM("hash", STR, ARGS, form, "the text to derive the number from (default: the machine ID)"),
    { 0 },
};
static const struct param sample_params[] = {
    PARAM("value", LIST, ARGS, items, "the list", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("size", INT, ARGS, length, "how many items", .flags = PARAM_REQUIRED, PARAM_RANGE(0, LENGTH_MAX)),
    { 0 },
};
static const struct param shuffle_params[] = {
    PARAM("value", LIST, ARGS, items, "the list", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    { 0 },
};
static const struct param random_hash_params[] = {
    PARAM("size", INT, ARGS, length, "number of random bytes to hash", .default_text = "9999999999", .flags = PARAM_PRIMARY),
    PARAM("hash_type", STR, ARGS, form, "md5, sha1, sha256, sha512...", .default_text = "sha256"),
    { 0 },
};
/* clang-format on */

static int hash_content(struct state_run *run, const struct source_content *content,
                        const char *form, struct value *ret, struct err *err)
{
    const struct digest *digest = digest_find(str_from(form));
    char hex[DIGEST_HEX_MAX];

    if (!digest)
        return err_set(err, ERR_INVALID, "unknown hash '%s'", form);
    if (state_source_digest(content, digest, hex, err) < 0)
        return -1;
    *ret = value_text(arena_strdup(run->arena, hex));
    return 0;
}

static int hash_text(struct state_run *run, struct str text, const char *form, struct value *ret,
                     struct err *err)
{
    const struct source_content content = { .text = text };

    return hash_content(run, &content, form, ret, err);
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

static int read_hashutil_file(struct state_run *run, struct str name, struct str *ret,
                              struct err *err)
{
    const char *path = arena_str(run->arena, name).p;

    if (fs_read(run->arena, path, TEXT_MAX, ret, err) < 0)
        return -1;
    return ret->p ? 0 : err_set(err, ERR_NOT_FOUND, "%s does not exist", path);
}

static int call_digest_file(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const struct hash_args *want = args;
    const struct source_content content = {
        .file = arena_strndup(run->arena, want->text.p, want->text.n),
    };

    return hash_content(run, &content, want->form, ret, err);
}

static int call_encode(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);

    (void)err;
    base64_encode(((const struct hash_args *)args)->text, BASE64_STANDARD, &out);
    *ret = value_str(buf_copy(&out, run->arena));
    return 0;
}

/* In lines, each with its end. */
static struct value encode_lines(struct state_run *run, struct str rest)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);

    while (rest.n > 0) {
        const size_t n = rest.n < LINE_BYTES ? rest.n : LINE_BYTES;

        base64_encode(str_slice(rest, 0, n), BASE64_STANDARD, &out);
        buf_add_text(&out, "\n");
        rest = str_from_offset(rest, n);
    }
    return value_str(buf_copy(&out, run->arena));
}

static int call_encode_lines(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    (void)err;
    *ret = encode_lines(run, ((const struct hash_args *)args)->text);
    return 0;
}

static int call_encode_file(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    struct str text;

    if (read_hashutil_file(run, ((const struct hash_args *)args)->text, &text, err) < 0)
        return -1;
    *ret = encode_lines(run, text);
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

/* --- with a secret ---------------------------------------------------------------------------- */

enum hmac_form { HMAC_BASE64, HMAC_HEX };

static void print_hmac(const struct hash_args *want, enum hmac_form form, struct buf *out)
{
    unsigned char digest[SHA256_SIZE];
    const struct str bytes = { (const char *)digest, sizeof(digest) };

    sha256_hmac(str_from(want->secret), want->text, digest);
    if (form == HMAC_BASE64)
        base64_encode(bytes, BASE64_STANDARD, out);
    else
        for (size_t i = 0; i < sizeof(digest); i++)
            buf_printf(out, "%02x", digest[i]);
}

static int call_hmac_compute(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);

    (void)err;
    print_hmac(args, HMAC_HEX, &out);
    *ret = value_str(buf_copy(&out, run->arena));
    return 0;
}

static int call_hmac_signature(struct state_run *run, const void *args, struct value *ret,
                               struct err *err)
{
    const struct hash_args *want = args;
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);

    (void)run;
    (void)err;
    print_hmac(want, HMAC_BASE64, &out);
    *ret = value_bool(str_is(buf_view(&out), want->challenge));
    return 0;
}

/* The header of a webhook of GitHub: "sha256=...". */
static int call_github_signature(struct state_run *run, const void *args, struct value *ret,
                                 struct err *err)
{
    const struct hash_args *want = args;
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct str given = str_from(want->challenge);
    const struct str form = str_cut(&given, '=');

    (void)run;
    if (!given.p || !str_is(form, "sha256"))
        return err_set(err, ERR_INVALID, "'challenge_hmac' must be of the form sha256=...");
    print_hmac(want, HMAC_HEX, &out);
    *ret = value_bool(str_eq(buf_view(&out), given));
    return 0;
}

/* --- chance ------------------------------------------------------------------------------ */

static int call_shadow_hash(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const struct hash_args *want = args;
    const char *password = arena_str(run->arena, want->text).p, *hash;
    struct value word;

    if (strcmp(want->form, "sha512") != 0)
        return err_set(err, ERR_UNSUPPORTED, "only sha512 hashes are made");
    if (!want->text.p) {
        const struct hash_args some = { .length = 20 };

        if (call_get_str(run, &some, &word, err) < 0)
            return -1;
        password = word.s.p;
    }
    if (passhash_make(run->arena, password, &hash, err) < 0)
        return -1;
    *ret = value_text(hash);
    return 0;
}

/* The same for one hash, or for one machine as long as its id stays. */
static int call_seed(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct hash_args *want = args;
    const struct value *id = value_get(state_grains(run), "id");
    const struct str seed = want->form                ? str_from(want->form)
                            : value_is(id, VALUE_STR) ? id->s
                                                      : STR("");
    uint64_t number = 0;
    struct value hex;

    if (hash_text(run, seed, "md5", &hex, err) < 0)
        return -1;
    for (size_t i = 0; i < hex.s.n; i++)
        number = (number * 16 +
                  (uint64_t)(hex.s.p[i] <= '9' ? hex.s.p[i] - '0' : hex.s.p[i] - 'a' + 10)) %
                 (uint64_t)want->length;
    *ret = value_int((int64_t)number);
    return 0;
}

/* Items in random order, the first `size` of them. */
static int pick_hash_items(struct state_run *run, const struct value *from, int64_t size,
                           struct value *ret, struct err *err)
{
    struct value_list *list = value_list_new(run->arena, 8);

    if (!value_is(from, VALUE_LIST) || size > (int64_t)from->list->count)
        return err_set(err, ERR_INVALID, "'value' must be a list of at least 'size' items");
    for (size_t i = 0; i < from->list->count; i++)
        value_list_push(run->arena, list, from->list->items[i]);
    for (size_t i = 0; i + 1 < list->count; i++) {
        const size_t k = i + chance_number() % (list->count - i);
        const struct value one = list->items[i];

        list->items[i] = list->items[k];
        list->items[k] = one;
    }
    list->count = size >= 0 ? (size_t)size : list->count;
    *ret = value_list(list);
    return 0;
}

static int call_sample(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct hash_args *want = args;

    return pick_hash_items(run, want->items, want->length, ret, err);
}

static int call_shuffle(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    return pick_hash_items(run, ((const struct hash_args *)args)->items, -1, ret, err);
}

/* clang-format off */
#define ROW(table, function) .params = table, .args_size = sizeof(ARGS), .call = function

const struct module functions_hashutil[] = {
    { .name = "hashutil.base64_b64decode", .summary = "decode base64", ROW(text_params, call_decode) },
    { .name = "hashutil.base64_b64encode", .summary = "encode a text as base64", ROW(text_params, call_encode) },
    { .name = "hashutil.base64_decodestring", .summary = "decode base64", ROW(text_params, call_decode) },
    { .name = "hashutil.base64_encodefile", .summary = "encode a file as lines of base64", ROW(name_params, call_encode_file) },
    { .name = "hashutil.base64_encodestring", .summary = "encode a text as lines of base64", ROW(text_params, call_encode_lines) },
    { .name = "hashutil.digest", .summary = "the hash of a text", ROW(digest_params, call_digest) },
    { .name = "hashutil.digest_file", .summary = "the hash of a file", ROW(file_params, call_digest_file) },
    { .name = "hashutil.github_signature", .summary = "whether this is the signature of a webhook of GitHub", ROW(signature_params, call_github_signature) },
    { .name = "hashutil.hmac_compute", .summary = "HMAC with SHA-256 as hexadecimal digits", ROW(hmac_params, call_hmac_compute) },
    { .name = "hashutil.hmac_signature", .summary = "whether this is the HMAC with SHA-256 of a text, in base64", ROW(signature_params, call_hmac_signature) },
    { .name = "hashutil.md5_digest", .summary = "the md5 of a text", ROW(text_params, call_md5) },
    { .name = "hashutil.sha256_digest", .summary = "the sha256 of a text", ROW(text_params, call_sha256) },
    { .name = "hashutil.sha512_digest", .summary = "the sha512 of a text", ROW(text_params, call_sha512) },
    { .name = "random.get_str", .summary = "random letters and digits", ROW(string_params, call_get_str) },
    { .name = "random.hash", .summary = "the hash of a text", ROW(hash_params, call_digest) },
    { .name = "random.rand_int", .summary = "a random number", ROW(range_params, call_rand_int) },
    { .name = "random.sample", .summary = "random items of a list", ROW(sample_params, call_sample) },
    { .name = "random.seed", .summary = "a number that is always the same on a machine, or for a hash", ROW(seed_params, call_seed) },
    { .name = "random.shadow_hash", .summary = "the hash of a password for /etc/shadow", ROW(shadow_params, call_shadow_hash) },
    { .name = "random.shuffle", .summary = "the items of a list in random order", ROW(shuffle_params, call_shuffle) },
    { .name = "random.str_encode", .summary = "encode a text as base64", ROW(text_params, call_encode) },
    { .name = "test.random_hash", .summary = "a random hash", ROW(random_hash_params, call_random_hash) },
    { 0 },
};
/* clang-format on */
