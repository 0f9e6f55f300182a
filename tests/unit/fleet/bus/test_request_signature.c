#include "fleet/bus/request_signature.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/claims.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/header.h"
#include "fleet/nats/nkey.h"
#include "core/sys/clock.h"
#include "test.h"
#include "fleet/wire/signature.h"

#define SUBJECT "zester.cmd.web-01"

/* An account, and an operator whom it lets ask peels. */
struct court {
    struct arena arena;
    struct nats_nkey account, operator_key;
    const char *jwt;
    struct request_signature_memory *memory;
    const char *revoked; /* a key; NULL: none */
    int64_t revoked_at;
};

static const char *issue(struct court *court, const struct nats_nkey *issuer, const char *publish,
                         int64_t exp)
{
    AUTO_BUF struct buf text = BUF_INIT(1 << 16);
    const char *const allowed[] = { publish };
    char user[NATS_NKEY_TEXT_SIZE];
    struct claims_user claims = { .head = { .exp = exp, .name = "ann" },
                                  .publish = { 1, (const char **)(uintptr_t)allowed } };
    struct err err;

    nats_nkey_print_public(&court->operator_key, user);
    claims.head.sub = user;
    CHECK_INT(claims_sign_user(&claims, issuer, &text, &err), 0);
    return buf_copy(&text, &court->arena).p;
}

static void court_begin(struct court *court)
{
    *court = (struct court){ .arena = ARENA_INIT };
    nats_nkey_make(NATS_NKEY_ACCOUNT, (const unsigned char[ED25519_SEED_SIZE]){ 1 },
                   &court->account);
    nats_nkey_make(NATS_NKEY_USER, (const unsigned char[ED25519_SEED_SIZE]){ 2 },
                   &court->operator_key);
    court->jwt = issue(court, &court->account, "zester.cmd.*", 0);
    court->memory = arena_zalloc(&court->arena, sizeof(*court->memory));
    clock_fake(CLOCK_SECOND, 1794765600 * CLOCK_SECOND);
}

static void court_end(struct court *court)
{
    clock_restore();
    arena_done(&court->arena);
}

/* A message as it arrives. `jwt` NULL: of a master. */
static struct nats_msg send_message(struct court *court, const char *jwt)
{
    const struct request_signature_signer signer = { jwt ? &court->operator_key : &court->account,
                                                     jwt };
    struct nats_pub pub = { .subject = STR(SUBJECT), .payload = STR("work") };
    struct err err;

    CHECK_INT(request_signature_add(&court->arena, &signer, jwt != NULL, &pub, &err), 0);
    return (struct nats_msg){ .subject = pub.subject,
                              .reply = jwt ? STR("_INBOX.1") : STR(""),
                              .header = pub.header,
                              .payload = pub.payload };
}

static bool is_revoked(void *self, const char *key, int64_t issued)
{
    const struct court *court = self;

    return court->revoked && strcmp(court->revoked, key) == 0 && issued <= court->revoked_at;
}

/* NULL: it may be done. */
static const char *judge(struct court *court, const struct nats_msg *msg)
{
    const struct request_verifier rules = { .account = &court->account,
                                            .is_revoked = is_revoked,
                                            .self = court };
    struct err err;

    if (request_signature_check(court->memory, &rules, msg, &err) == 0)
        return NULL;
    CHECK_INT(err.code, ERR_UNSAFE);
    return arena_strdup(&court->arena, err.text);
}

TEST(what_an_operator_signed_whose_key_was_revoked_is_refused)
{
    char user[NATS_NKEY_TEXT_SIZE];
    struct court court;
    struct nats_msg msg;

    court_begin(&court);
    nats_nkey_print_public(&court.operator_key, user);
    court.revoked = user;
    court.revoked_at = -1; /* before the JWT was issued */
    msg = send_message(&court, court.jwt);
    CHECK(!judge(&court, &msg));
    court.revoked_at = 0;
    clock_fake(2 * CLOCK_SECOND, 1794765601 * CLOCK_SECOND);
    msg = send_message(&court, court.jwt);
    CHECK_STR(judge(&court, &msg), "the credentials of 'ann', who signed it, were revoked");
    msg = send_message(&court, NULL);
    CHECK(!judge(&court, &msg));
    court_end(&court);
}

TEST(what_a_master_signed_is_good_for_a_while_and_for_nothing_else)
{
    struct court court;
    struct nats_msg msg, other;

    court_begin(&court);
    msg = send_message(&court, NULL);
    CHECK(!judge(&court, &msg));
    CHECK(!judge(&court, &msg)); /* sent again: the job knows */
    other = msg;
    other.subject = STR("zester.cmd.web-02");
    CHECK_HAS(judge(&court, &other), "does not match");
    other = msg;
    other.payload = STR("more work");
    CHECK_HAS(judge(&court, &other), "does not match");
    other = msg;
    other.reply = STR("_INBOX.1"); /* would not be noted as a job */
    CHECK_HAS(judge(&court, &other), "does not match");
    other = msg;
    other.header = STR("");
    CHECK_HAS(judge(&court, &other), "not signed");
    clock_turn(SIGNATURE_REQUEST_NS + CLOCK_SECOND);
    CHECK_HAS(judge(&court, &msg), "signed 301 s ago");
    clock_turn(-2 * SIGNATURE_REQUEST_NS - 2 * CLOCK_SECOND);
    CHECK_HAS(judge(&court, &msg), "in the future");
    court_end(&court);
}

TEST(what_an_operator_signed_is_good_once)
{
    struct court court;
    struct nats_msg msg;

    court_begin(&court);
    msg = send_message(&court, court.jwt);
    CHECK(!judge(&court, &msg));
    CHECK_HAS(judge(&court, &msg), "delivered before");
    clock_turn(1);
    msg = send_message(&court, court.jwt);
    CHECK(!judge(&court, &msg));
    court_end(&court);
}

TEST(an_operator_needs_credentials_of_the_account_that_allow_it_and_have_not_expired)
{
    struct court court;
    struct nats_nkey other;
    struct nats_msg msg;

    court_begin(&court);
    nats_nkey_make(NATS_NKEY_ACCOUNT, (const unsigned char[ED25519_SEED_SIZE]){ 3 }, &other);
    msg = send_message(&court, issue(&court, &other, "zester.cmd.*", 0));
    CHECK_HAS(judge(&court, &msg), "another account");
    msg = send_message(&court, issue(&court, &court.account, "zester.cmd.web-02", 0));
    CHECK_HAS(judge(&court, &msg), "do not allow it");
    msg = send_message(&court, issue(&court, &court.account, "zester.cmd.*", 1794765600));
    CHECK_HAS(judge(&court, &msg), "have expired");
    msg = send_message(&court, issue(&court, &court.account, "zester.cmd.*", 1794765601));
    CHECK(!judge(&court, &msg));
    msg = send_message(&court, "not.a.jwt");
    CHECK_HAS(judge(&court, &msg), "cannot be read");
    court_end(&court);
}

TEST(credentials_that_are_too_long_and_signatures_of_another_key_are_refused)
{
    struct court court;
    struct nats_msg msg;
    char *jwt;

    court_begin(&court);
    jwt = arena_alloc(&court.arena, REQUEST_SIGNATURE_JWT_MAX + 2);
    memset(jwt, 'a', REQUEST_SIGNATURE_JWT_MAX + 1);
    jwt[REQUEST_SIGNATURE_JWT_MAX + 1] = '\0';
    msg = send_message(&court, jwt);
    CHECK_HAS(judge(&court, &msg), "cannot be read");
    nats_nkey_make(NATS_NKEY_USER, (const unsigned char[ED25519_SEED_SIZE]){ 9 },
                   &court.operator_key);
    msg = send_message(&court, court.jwt); /* of the first key */
    CHECK_HAS(judge(&court, &msg), "does not match");
    court_end(&court);
}

TEST(more_requests_than_are_remembered_wait_until_old_ones_are_over)
{
    struct court court;
    struct nats_msg msg, first;

    court_begin(&court);
    first = send_message(&court, court.jwt);
    CHECK(!judge(&court, &first));
    for (size_t i = 0; i < REQUEST_SIGNATURE_MEMORY; i++)
        if (court.memory->list[i].until == 0)
            court.memory->list[i].until = clock_wall() + CLOCK_SECOND;
    clock_turn(1);
    msg = send_message(&court, court.jwt);
    CHECK_HAS(judge(&court, &msg), "more than 1024 requests");
    clock_turn(2 * CLOCK_SECOND);
    msg = send_message(&court, court.jwt);
    CHECK(!judge(&court, &msg));
    CHECK_HAS(judge(&court, &first), "delivered before");
    court_end(&court);
}
