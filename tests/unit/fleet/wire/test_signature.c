#include "fleet/wire/signature.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "test.h"
#include "fleet/wire/canary.h"
#include "fleet/wire/fileset.h"
#include "fleet/wire/job.h"

#define PLACE "state-files/" FILESET_MANIFEST

static const unsigned char seed[ED25519_SEED_SIZE] = { 1, 2, 3 };

/* Good until the next call. */
static const struct ed25519_pair *pair_of(const unsigned char *secret)
{
    static unsigned char public_key[ED25519_PUBLIC_SIZE];
    static struct ed25519_pair pair;

    ed25519_public(secret, public_key);
    pair = (struct ed25519_pair){ secret, public_key };
    return &pair;
}

static const struct signature_mark mark = { .revision = 14, .time = 1794765600123456789 };

static const char *sum_of(struct arena *arena, const char *manifest)
{
    char *sum = arena_alloc(arena, SHA256_HEX_SIZE);

    sha256_hex(manifest, strlen(manifest), sum);
    return sum;
}

static int check(const char *place, const char *sum, struct str stored)
{
    unsigned char account[ED25519_PUBLIC_SIZE];
    struct signature_mark got;
    struct err err;
    int result;

    ed25519_public(seed, account);
    result = signature_check_tree(account, place, sum, stored, &got, &err);
    if (result < 0)
        CHECK_INT(err.code, ERR_UNSAFE);
    else
        CHECK(got.revision == mark.revision && got.time == mark.time);
    return result;
}

TEST(a_manifest_that_the_account_signed_for_this_place_is_accepted)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *sum = sum_of(&arena, "files");
    const struct str stored = signature_sign_tree(&arena, pair_of(seed), PLACE, sum, &mark);
    struct signature_mark got;
    struct err err;

    CHECK(stored.n <= SIGNATURE_TREE_MAX);
    CHECK_INT(check(PLACE, sum, stored), 0);
    CHECK_INT(signature_read_mark(stored, &got, &err), 0);
    CHECK(got.revision == 14 && got.time == mark.time);
}

TEST(another_manifest_place_or_key_is_refused)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    static const unsigned char other[ED25519_SEED_SIZE] = { 1, 2, 4 };
    const char *sum = sum_of(&arena, "files");
    const struct str stored = signature_sign_tree(&arena, pair_of(seed), PLACE, sum, &mark);

    CHECK_INT(check(PLACE, sum_of(&arena, "other files"), stored), -1);
    CHECK_INT(check("settings-files/" FILESET_MANIFEST, sum, stored), -1);
    CHECK_INT(check(PLACE, sum, signature_sign_tree(&arena, pair_of(other), PLACE, sum, &mark)),
              -1);
}

/* Also those of revision and time: another mark would be another tree. */
TEST(no_bit_of_a_signature_can_be_flipped)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *sum = sum_of(&arena, "files");
    const struct str stored = signature_sign_tree(&arena, pair_of(seed), PLACE, sum, &mark);
    char bytes[SIGNATURE_TREE_MAX];

    for (size_t bit = 0; bit < stored.n * 8; bit++) {
        memcpy(bytes, stored.p, stored.n);
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        CHECK_INT(check(PLACE, sum, (struct str){ bytes, stored.n }), -1);
    }
    for (size_t n = 0; n < stored.n; n++)
        CHECK_INT(check(PLACE, sum, str_slice(stored, 0, n)), -1);
}

TEST(what_is_not_a_signature_is_refused_with_the_reason)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(4096);
    char room[4096] = "";
    const struct signature_tree forms[] = {
        { .revision = 1, .time = 1, .signature = { room, ED25519_SIGNATURE_SIZE - 1 } },
        { .revision = 1, .time = 1, .signature = { room, ED25519_SIGNATURE_SIZE + 1 } },
        { .revision = 1, .time = 0, .signature = { room, ED25519_SIGNATURE_SIZE } },
        { .revision = 1, .time = -1, .signature = { room, ED25519_SIGNATURE_SIZE } },
        { .revision = 1, .time = 1, .signature = { room, 2000 } },
    };
    const char *sum = sum_of(&arena, "files");
    struct signature_mark got;
    struct err err;

    CHECK_INT(check(PLACE, sum, STR("")), -1);
    CHECK_INT(check(PLACE, sum, STR("\xc1")), -1);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        buf_clear(&bytes);
        CHECK_INT(record_encode(&bytes, &signature_tree_type, &forms[i], &err), 0);
        CHECK_INT(check(PLACE, sum, buf_view(&bytes)), -1);
        CHECK_INT(signature_read_mark(buf_view(&bytes), &got, &err), -1);
    }
}

TEST(a_signature_is_beside_its_manifest)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    CHECK_STR(signature_key(&arena, FILESET_MANIFEST), FILESET_SIGNATURE);
    CHECK_STR(signature_key(&arena, CANARY_MANIFEST), CANARY_SIGNATURE);
    CHECK_STR(signature_key(&arena, "states.manifest.7"), "states.signature.7");
    CHECK_STR(signature_key(&arena, "odd"), "odd.signature");
    CHECK_STR(signature_place(&arena, "state-files", FILESET_MANIFEST), PLACE);
}

/* --- requests ----------------------------------------------------------------------- */

static const struct signature_request request = { .subject = { "zester.cmd.web-01", 17 },
                                                  .payload = { "work", 4 },
                                                  .time = 1794765600123456789 };

static int check_line(struct signature_request asked, struct str line)
{
    unsigned char account[ED25519_PUBLIC_SIZE];
    struct err err;
    int result;

    ed25519_public(seed, account);
    asked.time = 0;
    result = signature_check_request(account, line, &asked, &err);
    if (result < 0)
        CHECK_INT(err.code, ERR_UNSAFE);
    else
        CHECK(asked.time == request.time);
    return result;
}

TEST(a_request_is_good_for_its_peel_its_payload_and_its_kind_of_answer)
{
    AUTO_BUF struct buf line = BUF_INIT(SIGNATURE_LINE_MAX);
    struct signature_request other;

    signature_sign_request(pair_of(seed), &request, &line);
    CHECK(!line.full);
    CHECK_INT(check_line(request, buf_view(&line)), 0);
    other = request;
    other.subject = STR("zester.cmd.web-02");
    CHECK_INT(check_line(other, buf_view(&line)), -1);
    other = request;
    other.payload = STR("Work");
    CHECK_INT(check_line(other, buf_view(&line)), -1);
    other = request;
    other.is_direct = true;
    CHECK_INT(check_line(other, buf_view(&line)), -1);
}

TEST(no_bit_of_the_line_of_a_request_can_be_flipped)
{
    AUTO_BUF struct buf line = BUF_INIT(SIGNATURE_LINE_MAX);
    char bytes[SIGNATURE_LINE_MAX];

    signature_sign_request(pair_of(seed), &request, &line);
    for (size_t bit = 0; bit < line.n * 8; bit++) {
        memcpy(bytes, line.p, line.n);
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        CHECK_INT(check_line(request, (struct str){ bytes, line.n }), -1);
    }
    for (size_t n = 0; n < line.n; n++)
        CHECK_INT(check_line(request, str_slice(buf_view(&line), 0, n)), -1);
}

TEST(what_is_not_the_line_of_a_request_is_refused)
{
    static const char *const lines[] = {
        "",
        "1",
        "1 ",
        "1  ",
        "1 1794765600123456789",
        "1 1794765600123456789 ",
        "1 x y",
        "2 1 AAAA",
        "1 99999999999999999999999 AAAA",
        "1 1 !!!!",
    };
    char long_line[SIGNATURE_LINE_MAX + 2];

    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        CHECK_INT(check_line(request, str_from(lines[i])), -1);
    memset(long_line, 'A', sizeof(long_line));
    long_line[0] = long_line[2] = '1';
    long_line[1] = long_line[3] = ' ';
    CHECK_INT(check_line(request, (struct str){ long_line, sizeof(long_line) }), -1);
}

/* --- jobs --------------------------------------------------------------------------- */

static struct job make_job(struct arena *arena)
{
    static const char *const targets[] = { "web-01", "web-02" };
    struct job job = { .jid = "J1",
                       .function = "cmd.run",
                       .args = value_map(value_map_new(arena, 2)),
                       .targets = { 2, (const char **)(uintptr_t)targets },
                       .timeout = 5,
                       .status = JOB_CLAIMED,
                       .created = { .seconds = 100 },
                       .deadline = { .seconds = 200 },
                       .user = "root",
                       .owner = "master-1",
                       .state_id = "",
                       .target_expr = "web*",
                       .metadata = value_map(value_map_new(arena, 1)) };

    value_map_set(arena, job.args.map, value_text("name"), value_text("date"));
    value_map_set(arena, job.args.map, value_text("count"), value_int(300));
    value_map_set(arena, job.metadata.map, value_text("batch"), value_text("2"));
    return job;
}

/* As another master reads it from the bucket. */
static struct job store_and_read(struct arena *arena, const struct job *job)
{
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 16);
    struct job read = { 0 };
    struct err err;

    CHECK_INT(record_encode(&bytes, &job_type, job, &err), 0);
    CHECK_INT(record_decode(arena, &job_type, 1, buf_copy(&bytes, arena), &read, &err), 0);
    return read;
}

TEST(a_record_of_a_job_is_signed_without_what_changes_while_it_runs)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(SIGNATURE_LINE_MAX);
    static const char *const others[] = { "web-01", "db-01" };
    unsigned char account[ED25519_PUBLIC_SIZE];
    struct job job = make_job(&arena), changed;

    ed25519_public(seed, account);
    CHECK(!signature_is_of_job(account, &job));
    signature_sign_job(pair_of(seed), &job, &text);
    job.signature = buf_text(&text);
    CHECK(signature_is_of_job(account, &job));
    changed = store_and_read(&arena, &job);
    CHECK(signature_is_of_job(account, &changed));
    changed.status = JOB_RUNNING;
    changed.owner = "master-2";
    changed.reclaim_count = 1;
    changed.return_count = 1;
    changed.updated.seconds = 150;
    CHECK(signature_is_of_job(account, &changed));

    changed = store_and_read(&arena, &job);
    changed.targets.p = (const char **)(uintptr_t)others;
    CHECK(!signature_is_of_job(account, &changed));
    changed = store_and_read(&arena, &job);
    changed.function = "cmd.script";
    CHECK(!signature_is_of_job(account, &changed));
    changed = store_and_read(&arena, &job);
    changed.deadline.seconds = 100000;
    CHECK(!signature_is_of_job(account, &changed));
    changed = store_and_read(&arena, &job);
    changed.sent_epoch = 9;
    CHECK(!signature_is_of_job(account, &changed));
    changed = store_and_read(&arena, &job);
    value_map_set(&arena, changed.args.map, value_text("name"), value_text("reboot"));
    CHECK(!signature_is_of_job(account, &changed));
}
