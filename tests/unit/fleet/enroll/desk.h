/*
 * master - what enrollment has stored, and a machine that asks; for tests of
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
struct master {
    struct arena arena;
    struct nats_nkey mine, other, account;
    char mine_public[NATS_NKEY_TEXT_SIZE], other_public[NATS_NKEY_TEXT_SIZE];
    const char *curve;
    struct admission_policy policy;
    struct admission_moment moment;
    struct admission_stored stored; /* challenge, index, record; revisions 11, 12, 13 */
};

static inline void master_begin(struct master *master)
{
    *master = (struct master){ .arena = ARENA_INIT,
                               .moment = { .now = NOW, .remote_addr = "10.1.2.3", .sponsor = "" } };
    make_key(NATS_NKEY_USER, 1, &master->mine);
    make_key(NATS_NKEY_USER, 2, &master->other);
    make_key(NATS_NKEY_ACCOUNT, 3, &master->account);
    nats_nkey_print_public(&master->mine, master->mine_public);
    nats_nkey_print_public(&master->other, master->other_public);
    master->curve = curve_key(&master->arena);
    master->policy =
        (struct admission_policy){ .ca_pin = OUR_PIN, .issuer = { .account = &master->account } };
    memset(master->moment.bytes, 7, sizeof(master->moment.bytes));
    memcpy(master->moment.ksuid, FIRST, sizeof(FIRST));
}

static inline const char *text_of(const struct admission_answer *answer, const char *key)
{
    const char *text = value_get_text(&answer->body, key);

    return text ? text : "(none)";
}

/* Keep what an answer changes, as the buckets would. */
static inline void apply(struct master *master, const struct admission_answer *answer)
{
    for (size_t i = 0; i < answer->change_count; i++) {
        const struct admission_change *change = &answer->changes[i];
        struct admission_entry entry = { 0, change->value };

        if (change->bucket == STORE_ENROLL_CHALLENGES) {
            entry.revision = 11;
            master->stored.challenge = entry;
        } else if (strncmp(change->key, ADMISSION_INDEX, strlen(ADMISSION_INDEX)) == 0) {
            entry.revision = 12;
            master->stored.index = entry;
        } else {
            entry.revision = 13;
            master->stored.record = entry;
        }
    }
}

static inline void get_nonce(struct master *master, const char *public_key)
{
    struct admission_answer answer;

    admission_nonce(&master->arena, STR(PEEL), str_from(public_key), &master->moment, &answer);
    CHECK_INT(answer.status, 200);
    apply(master, &answer);
}

static inline const char *sign_challenge(struct master *master, const struct nats_nkey *key,
                                         struct str more)
{
    AUTO_BUF struct buf text = BUF_INIT(4096);

    buf_add(&text, master->moment.bytes, sizeof(master->moment.bytes));
    buf_add_str(&text, more);
    return sign_text(&master->arena, key, buf_view(&text), BASE64_STANDARD);
}

static inline const char *bind_pin(struct master *master, const struct nats_nkey *key,
                                   const char *pin)
{
    AUTO_BUF struct buf text = BUF_INIT(4096);

    buf_add_str(&text, STR("zester-enroll-trust-v1\0bind\0"));
    buf_add_text(&text, pin);
    return sign_challenge(master, key, buf_view(&text));
}

/* A request with everything right, by a key. */
static inline struct admission_request good_request(struct master *master,
                                                    const struct nats_nkey *key)
{
    return (struct admission_request){
        .peel_id = PEEL,
        .public_key = key == &master->mine ? master->mine_public : master->other_public,
        .curve_public_key = master->curve,
        .hostname = "web-01.example.com",
        .challenge_id = ADMISSION_CHALLENGE_ID FIRST,
        .signature = sign_challenge(master, key, str_from(master->curve)),
        .trusted_ca_spki = OUR_PIN,
        .trust_signature = bind_pin(master, key, OUR_PIN),
    };
}

static inline void submit(struct master *master, const struct admission_request *request,
                          struct admission_answer *ret)
{
    admission_submit(&master->arena, request, &master->stored, &master->policy, &master->moment,
                     ret);
}

static inline struct enrollment read_stored(struct master *master)
{
    struct enrollment record;
    struct err err;

    CHECK_INT(record_decode(&master->arena, &enrollment_type, 1, master->stored.record.value,
                            &record, &err),
              0);
    return record;
}

/* A record of my key in some state. */
static inline void store_until(struct master *master, enum enrollment_state state, int64_t expires)
{
    AUTO_BUF struct buf bytes = BUF_INIT(4096);
    struct enrollment record = read_stored(master);
    struct err err;

    record.state = state;
    record.expires_at.seconds = expires;
    CHECK_INT(record_encode(&bytes, &enrollment_type, &record, &err), 0);
    master->stored.record.value = buf_copy(&bytes, &master->arena);
}

static inline void store_state(struct master *master, enum enrollment_state state)
{
    store_until(master, state, 0);
}

static inline void enroll(struct master *master)
{
    struct admission_request request = good_request(master, &master->mine);
    struct admission_answer answer;

    get_nonce(master, master->mine_public);
    submit(master, &request, &answer);
    CHECK_INT(answer.status, 201);
    apply(master, &answer);
}

#endif
