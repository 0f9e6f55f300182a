/*
 * desk - what enrollment has stored, and a machine that asks; for tests of
 * fleet/enroll/admission.h.
 */
#ifndef TESTS_UNIT_FLEET_ENROLL_DESK_H
#define TESTS_UNIT_FLEET_ENROLL_DESK_H

#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "fleet/enroll/admission.h"
#include "fleet/enroll/signing.h"
#include "fleet/nats/nkey.h"
#include "test.h"

#define NOW      (INT64_C(1800000000) * NUMBER_NS_PER_S)
#define MINUTE   (60 * NUMBER_NS_PER_S)
#define PEEL     "web-01"
#define OUR_PIN  "sha256:0000000000000000000000000000000000000000000000000000000000000001"
#define EVIL_PIN "sha256:0000000000000000000000000000000000000000000000000000000000000002"
#define FIRST    "111111111111111111111111111"
#define SECOND   "222222222222222222222222222"

/* A master without a bus: two keys of machines, an account, and a few entries. */
struct desk {
    struct arena arena;
    struct nats_nkey mine, other, account;
    char mine_public[NATS_NKEY_TEXT_SIZE], other_public[NATS_NKEY_TEXT_SIZE];
    const char *curve;
    struct admission_policy policy;
    struct admission_moment moment;
    struct admission_stored stored; /* challenge, index, record; revisions 11, 12, 13 */
};

static inline void desk_begin(struct desk *desk)
{
    *desk = (struct desk){ .arena = ARENA_INIT,
                           .moment = { .now = NOW, .remote_addr = "10.1.2.3", .sponsor = "" } };
    make_key(NATS_NKEY_USER, 1, &desk->mine);
    make_key(NATS_NKEY_USER, 2, &desk->other);
    make_key(NATS_NKEY_ACCOUNT, 3, &desk->account);
    nats_nkey_print_public(&desk->mine, desk->mine_public);
    nats_nkey_print_public(&desk->other, desk->other_public);
    desk->curve = curve_key(&desk->arena);
    desk->policy =
        (struct admission_policy){ .ca_pin = OUR_PIN, .issuer = { .account = &desk->account } };
    memset(desk->moment.bytes, 7, sizeof(desk->moment.bytes));
    memcpy(desk->moment.ksuid, FIRST, sizeof(FIRST));
}

static inline const char *text_of(const struct admission_answer *answer, const char *key)
{
    const char *text = value_get_text(&answer->body, key);

    return text ? text : "(none)";
}

/* Keep what an answer changes, as the buckets would. */
static inline void apply(struct desk *desk, const struct admission_answer *answer)
{
    for (size_t i = 0; i < answer->change_count; i++) {
        const struct admission_change *change = &answer->changes[i];
        struct admission_entry entry = { 0, change->value };

        if (change->bucket == STORE_ENROLL_CHALLENGES) {
            entry.revision = 11;
            desk->stored.challenge = entry;
        } else if (strncmp(change->key, ADMISSION_INDEX, strlen(ADMISSION_INDEX)) == 0) {
            entry.revision = 12;
            desk->stored.index = entry;
        } else {
            entry.revision = 13;
            desk->stored.record = entry;
        }
    }
}

static inline void get_nonce(struct desk *desk, const char *public_key)
{
    struct admission_answer answer;

    admission_nonce(&desk->arena, STR(PEEL), str_from(public_key), &desk->moment, &answer);
    CHECK_INT(answer.status, 200);
    apply(desk, &answer);
}

static inline const char *sign_challenge(struct desk *desk, const struct nats_nkey *key,
                                         struct str more)
{
    AUTO_BUF struct buf text = BUF_INIT(4096);

    buf_add(&text, desk->moment.bytes, sizeof(desk->moment.bytes));
    buf_add_str(&text, more);
    return sign_text(&desk->arena, key, buf_view(&text), BASE64_STANDARD);
}

static inline const char *bind_pin(struct desk *desk, const struct nats_nkey *key, const char *pin)
{
    AUTO_BUF struct buf text = BUF_INIT(4096);

    buf_add_str(&text, STR("zester-enroll-trust-v1\0bind\0"));
    buf_add_text(&text, pin);
    return sign_challenge(desk, key, buf_view(&text));
}

/* A request with everything right, by a key. */
static inline struct admission_request good_request(struct desk *desk, const struct nats_nkey *key)
{
    return (struct admission_request){
        .peel_id = PEEL,
        .public_key = key == &desk->mine ? desk->mine_public : desk->other_public,
        .curve_public_key = desk->curve,
        .hostname = "web-01.example.com",
        .challenge_id = ADMISSION_CHALLENGE_ID FIRST,
        .signature = sign_challenge(desk, key, str_from(desk->curve)),
        .trusted_ca_spki = OUR_PIN,
        .trust_signature = bind_pin(desk, key, OUR_PIN),
    };
}

static inline void submit(struct desk *desk, const struct admission_request *request,
                          struct admission_answer *ret)
{
    admission_submit(&desk->arena, request, &desk->stored, &desk->policy, &desk->moment, ret);
}

static inline struct enrollment read_stored(struct desk *desk)
{
    struct enrollment record;
    struct err err;

    CHECK_INT(
        record_decode(&desk->arena, &enrollment_type, 1, desk->stored.record.value, &record, &err),
        0);
    return record;
}

/* A record of my key in some state. */
static inline void store_until(struct desk *desk, enum enrollment_state state, int64_t expires)
{
    AUTO_BUF struct buf bytes = BUF_INIT(4096);
    struct enrollment record = read_stored(desk);
    struct err err;

    record.state = state;
    record.expires_at.seconds = expires;
    CHECK_INT(record_encode(&bytes, &enrollment_type, &record, &err), 0);
    desk->stored.record.value = buf_copy(&bytes, &desk->arena);
}

static inline void store_state(struct desk *desk, enum enrollment_state state)
{
    store_until(desk, state, 0);
}

static inline void enroll(struct desk *desk)
{
    struct admission_request request = good_request(desk, &desk->mine);
    struct admission_answer answer;

    get_nonce(desk, desk->mine_public);
    submit(desk, &request, &answer);
    CHECK_INT(answer.status, 201);
    apply(desk, &answer);
}

#endif
