#include "fleet/enroll/admission.h"

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "fleet/bus/claims.h"
#include "fleet/enroll/desk.h"
#include "fleet/nats/nkey.h"
#include "test.h"

/* --- nonce --------------------------------------------------------------------------- */

TEST(a_nonce_is_stored_for_five_minutes_and_sent_in_base64)
{
    struct master master;
    struct admission_answer answer;
    struct enrollment_challenge challenge;
    struct err err;

    master_begin(&master);
    admission_nonce(&master.arena, STR(PEEL), str_from(master.mine_public), &master.moment,
                    &answer);
    CHECK_INT(answer.status, 200);
    CHECK_STR(text_of(&answer, "challenge_id"), "chl-" FIRST);
    CHECK_STR(text_of(&answer, "challenge"), "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=");
    CHECK_STR(text_of(&answer, "expires_at"), "2027-01-15T08:05:00Z");
    CHECK_INT(answer.change_count, 1);
    CHECK_INT(answer.changes[0].bucket, STORE_ENROLL_CHALLENGES);
    CHECK_STR(answer.changes[0].key, "chl-" FIRST);
    CHECK_INT(answer.changes[0].revision, 0);
    CHECK_INT(record_decode(&master.arena, &enrollment_challenge_type, 1, answer.changes[0].value,
                            &challenge, &err),
              0);
    CHECK_STR(challenge.peel_id, PEEL);
    CHECK(!challenge.used);
    arena_done(&master.arena);
}

TEST(a_nonce_is_for_valid_ids_and_user_keys_only)
{
    static const char *const ids[] = { "", "a.b", "-a", "_master", "a b", "*", ">" };
    struct master master;
    struct admission_answer answer;
    char account[NATS_NKEY_TEXT_SIZE];

    master_begin(&master);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        admission_nonce(&master.arena, str_from(ids[i]), str_from(master.mine_public),
                        &master.moment, &answer);
        CHECK_INT(answer.status, 400);
        CHECK_STR(text_of(&answer, "error"), "peel_id is not valid");
        CHECK_INT(answer.change_count, 0);
    }
    nats_nkey_print_public(&master.account, account);
    admission_nonce(&master.arena, STR(PEEL), str_from(account), &master.moment, &answer);
    CHECK_INT(answer.status, 400);
    admission_nonce(&master.arena, STR(PEEL), STR("U"), &master.moment, &answer);
    CHECK_INT(answer.status, 400);
    arena_done(&master.arena);
}

/* --- bodies -------------------------------------------------------------------------- */

TEST(a_malformed_body_is_answered_400_with_the_reason)
{
    /* U, X: a good key in its place */
    static const struct {
        const char *body, *error;
    } cases[] = {
        { "", "" },
        { "[]", "" },
        { "{", "" },
        { "{}", "peel_id" },
        { "{\"peel_id\": 1}", "peel_id" },
        { "{\"peel_id\":\"a.b\",\"public_key\":\"U\",\"curve_public_key\":\"X\","
          "\"challenge_id\":\"c\",\"signature\":\"s\"}",
          "peel_id is not valid" },
        { "{\"peel_id\":\"a\",\"public_key\":\"q\",\"curve_public_key\":\"X\","
          "\"challenge_id\":\"c\",\"signature\":\"s\"}",
          "public_key is not a user's public key" },
        { "{\"peel_id\":\"a\",\"public_key\":\"U\",\"curve_public_key\":\"U\","
          "\"challenge_id\":\"c\",\"signature\":\"s\"}",
          "curve_public_key is not a curve key" },
        { "{\"peel_id\":\"a\",\"public_key\":\"U\",\"curve_public_key\":\"X\","
          "\"challenge_id\":\"c\"}",
          "signature" },
        { "{\"peel_id\":\"a\",\"public_key\":\"U\",\"curve_public_key\":\"X\","
          "\"challenge_id\":\"c\",\"signature\":\"s\",\"metadata\":{\"a\":1}}",
          "metadata is not a map of texts" },
        { "{\"peel_id\":\"a\",\"public_key\":\"U\",\"curve_public_key\":\"X\","
          "\"challenge_id\":\"c\",\"signature\":\"s\",\"trusted_ca_spki\":\"" OUR_PIN "\"}",
          "trusted_ca_spki and trust_signature go together" },
        { "{\"peel_id\":\"a\",\"public_key\":\"U\",\"curve_public_key\":\"X\","
          "\"challenge_id\":\"c\",\"signature\":\"s\",\"trusted_ca_spki\":\"md5:0\","
          "\"trust_signature\":\"t\"}",
          "trusted_ca_spki is not sha256:" },
        { "{\"peel_id\":\"a\",\"public_key\":\"U\",\"curve_public_key\":\"X\","
          "\"challenge_id\":\"c\",\"signature\":\"s\",\"later\":[1]}",
          NULL },
    };
    struct master master;

    master_begin(&master);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf body = BUF_INIT(8192);
        struct admission_request request;
        struct admission_answer answer;
        bool read;

        for (const char *p = cases[i].body; *p; p++)
            if (strncmp(p, "\"U\"", 3) == 0 || strncmp(p, "\"X\"", 3) == 0) {
                buf_printf(&body, "\"%s\"", p[1] == 'U' ? master.mine_public : master.curve);
                p += 2;
            } else {
                buf_add_char(&body, *p);
            }
        read = admission_read(&master.arena, buf_view(&body), &request, &answer);
        CHECK_INT(read, cases[i].error == NULL);
        if (read)
            continue;
        CHECK_INT(answer.status, 400);
        CHECK_HAS(text_of(&answer, "error"), cases[i].error);
    }
    arena_done(&master.arena);
}

TEST(a_body_above_4_kib_is_refused_unread)
{
    struct master master;
    AUTO_BUF struct buf body = BUF_INIT(8192);
    struct admission_request request;
    struct admission_answer answer;

    master_begin(&master);
    buf_fill(&body, ' ', ADMISSION_BODY_MAX + 1);
    CHECK(!admission_read(&master.arena, buf_view(&body), &request, &answer));
    CHECK_INT(answer.status, 400);
    CHECK_STR(text_of(&answer, "error"), "the request is too large");
    arena_done(&master.arena);
}

/* --- submit -------------------------------------------------------------------------- */

TEST(a_good_answer_makes_a_pending_record_and_its_index_last)
{
    struct master master;
    struct admission_request request;
    struct admission_answer answer;
    struct enrollment record;

    master_begin(&master);
    get_nonce(&master, master.mine_public);
    request = good_request(&master, &master.mine);
    submit(&master, &request, &answer);
    CHECK_INT(answer.status, 201);
    CHECK_STR(text_of(&answer, "id"), "enr-" FIRST);
    CHECK_STR(text_of(&answer, "peel_id"), PEEL);
    CHECK_STR(text_of(&answer, "state"), "pending");
    CHECK_INT(answer.change_count, 3);
    CHECK_STR(answer.changes[0].key, "chl-" FIRST);
    CHECK_INT(answer.changes[0].revision, 11);
    CHECK_STR(answer.changes[1].key, "enr-" FIRST);
    CHECK_INT(answer.changes[1].revision, 0);
    CHECK_STR(answer.changes[2].key, "peel." PEEL);
    CHECK_INT(answer.changes[2].revision, 0);
    CHECK(str_eq_text(answer.changes[2].value, "enr-" FIRST));
    CHECK(answer.created != NULL);
    apply(&master, &answer);
    record = read_stored(&master);
    CHECK_STR(record.remote_addr, "10.1.2.3");
    CHECK_STR(record.hostname, "web-01.example.com");
    CHECK_STR(admission_trust(&record), "ok");
    arena_done(&master.arena);
}

static void break_id(struct master *master, struct admission_request *request)
{
    (void)master;
    request->challenge_id = "chl-unknown";
}

static void break_time(struct master *master, struct admission_request *request)
{
    (void)request;
    master->moment.now += 5 * MINUTE;
}

static void break_peel(struct master *master, struct admission_request *request)
{
    (void)master;
    request->peel_id = "web-02";
}

static void break_signature(struct master *master, struct admission_request *request)
{
    request->signature = sign_challenge(master, &master->other, str_from(master->curve));
}

static void break_curve(struct master *master, struct admission_request *request)
{
    request->signature = sign_challenge(master, &master->mine, STR("XOTHER"));
}

static void break_base64(struct master *master, struct admission_request *request)
{
    (void)master;
    request->signature = "!";
}

static void break_store(struct master *master, struct admission_request *request)
{
    (void)request;
    master->stored.challenge = (struct admission_entry){ 0 };
}

static void break_bytes(struct master *master, struct admission_request *request)
{
    (void)request;
    master->stored.challenge.value = STR("\xc1");
}

TEST(a_challenge_or_signature_that_does_not_hold_is_answered_401)
{
    static const struct {
        void (*fn)(struct master *master, struct admission_request *request);
        const char *error;
    } cases[] = {
        { break_id, "unknown challenge" },
        { break_store, "unknown challenge" },
        { break_bytes, "unknown challenge" },
        { break_time, "the challenge has expired" },
        { break_peel, "the challenge is for another peel or key" },
        { break_signature, "the signature does not match" },
        { break_curve, "the signature does not match" },
        { break_base64, "the signature does not match" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct master master;
        struct admission_request request;
        struct admission_answer answer;

        master_begin(&master);
        get_nonce(&master, master.mine_public);
        request = good_request(&master, &master.mine);
        cases[i].fn(&master, &request);
        submit(&master, &request, &answer);
        CHECK_INT(answer.status, 401);
        CHECK_HAS(text_of(&answer, "error"), cases[i].error);
        CHECK_INT(answer.change_count, 0);
        arena_done(&master.arena);
    }
}

TEST(a_challenge_is_used_once)
{
    struct master master;
    struct admission_request request;
    struct admission_answer answer, lost;

    master_begin(&master);
    enroll(&master);
    request = good_request(&master, &master.mine);
    submit(&master, &request, &answer);
    CHECK_INT(answer.status, 401);
    CHECK_STR(text_of(&answer, "error"), "the challenge was used already");

    /* two at once: the second finds another revision */
    master.stored = (struct admission_stored){ 0 };
    get_nonce(&master, master.mine_public);
    submit(&master, &request, &answer);
    admission_conflict(&master.arena, &answer, 0, &lost);
    CHECK_INT(lost.status, 401);
    admission_conflict(&master.arena, &answer, 2, &lost);
    CHECK_INT(lost.status, 409);
    arena_done(&master.arena);
}

TEST(enrolling_again_depends_on_the_record_and_the_key)
{
    static const struct {
        enum enrollment_state state;
        int same_key, other_key;
    } cases[] = {
        { ENROLLMENT_PENDING, 200, 409 },  { ENROLLMENT_APPROVED, 201, 409 },
        { ENROLLMENT_ISSUED, 201, 409 },   { ENROLLMENT_ACTIVE, 201, 409 },
        { ENROLLMENT_REJECTED, 201, 201 }, { ENROLLMENT_REVOKED, 201, 201 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int other = 0; other < 2; other++) {
            struct master master;
            struct admission_request request;
            struct admission_answer answer;
            int status = other ? cases[i].other_key : cases[i].same_key;

            master_begin(&master);
            enroll(&master);
            store_state(&master, cases[i].state);
            get_nonce(&master, other ? master.other_public : master.mine_public);
            memcpy(master.moment.ksuid, SECOND, sizeof(SECOND));
            request = good_request(&master, other ? &master.other : &master.mine);
            submit(&master, &request, &answer);
            CHECK_INT(answer.status, status);
            CHECK_INT(answer.change_count, status == 201 ? 3 : status == 200 ? 1 : 0);
            if (status == 201) { /* replaces the old one, if nobody else has */
                CHECK_STR(text_of(&answer, "id"), "enr-" SECOND);
                CHECK_INT(answer.changes[2].revision, 12);
            }
            if (status == 200)
                CHECK_STR(text_of(&answer, "id"), "enr-" FIRST);
            arena_done(&master.arena);
        }
}

TEST(a_join_token_takes_a_name_from_a_stranger_who_waits_and_from_nobody_else)
{
    static const struct {
        enum enrollment_state state;
        const char *sponsor;
        int status;
    } cases[] = {
        { ENROLLMENT_PENDING, "", 201 },  { ENROLLMENT_PENDING, "token:1", 409 },
        { ENROLLMENT_APPROVED, "", 409 }, { ENROLLMENT_ISSUED, "", 409 },
        { ENROLLMENT_ACTIVE, "", 409 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct master master;
        struct admission_request request;
        struct admission_answer answer;

        master_begin(&master);
        master.moment.sponsor = cases[i].sponsor;
        enroll(&master);
        store_state(&master, cases[i].state);
        get_nonce(&master, master.other_public);
        memcpy(master.moment.ksuid, SECOND, sizeof(SECOND));
        master.moment.sponsor = "token:2";
        master.moment.crowd = "too many"; /* not for who has a token */
        request = good_request(&master, &master.other);
        submit(&master, &request, &answer);
        CHECK_INT(answer.status, cases[i].status);
        CHECK_INT(answer.change_count, cases[i].status == 201 ? 4 : 0);
        CHECK((answer.replaced != NULL) == (cases[i].status == 201));
        if (answer.replaced) {
            CHECK_STR(answer.changes[1].key, "enr-" FIRST);
            CHECK_STR(answer.replaced->decided_by, "token:2");
            CHECK_INT(answer.replaced->state, ENROLLMENT_REJECTED);
        }
        arena_done(&master.arena);
    }
}

TEST(no_more_strangers_may_wait_than_there_is_room_for)
{
    struct master master;
    struct admission_request request;
    struct admission_answer answer;

    master_begin(&master);
    get_nonce(&master, master.mine_public);
    master.moment.crowd = "too many machines wait";
    request = good_request(&master, &master.mine);
    submit(&master, &request, &answer);
    CHECK_INT(answer.status, 429);
    CHECK_INT(answer.change_count, 0);
    CHECK_STR(text_of(&answer, "error"), "too many machines wait");
    arena_done(&master.arena);
}

TEST(an_index_without_its_record_holds_nobody_back)
{
    struct master master;
    struct admission_request request;
    struct admission_answer answer;

    master_begin(&master);
    get_nonce(&master, master.mine_public);
    master.stored.index = (struct admission_entry){ 12, STR("enr-gone") };
    request = good_request(&master, &master.mine);
    submit(&master, &request, &answer);
    CHECK_INT(answer.status, 201);
    CHECK_INT(answer.changes[2].revision, 12);
    arena_done(&master.arena);
}

/* --- trust --------------------------------------------------------------------------- */

TEST(a_wrong_trust_binding_is_pending_and_shown_as_a_mismatch)
{
    static const struct {
        const char *our_pin, *pin;
        bool good_signature;
        const char *trust;
        bool needs_force;
    } cases[] = {
        { OUR_PIN, OUR_PIN, true, "ok", false },
        { OUR_PIN, EVIL_PIN, true, "MISMATCH!", true },
        { OUR_PIN, OUR_PIN, false, "MISMATCH!", true },
        { OUR_PIN, "", true, "-", true },
        { NULL, OUR_PIN, true, "unverified", false },
        { NULL, OUR_PIN, false, "MISMATCH!", true },
        { NULL, "", true, "-", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct enrollment_request decision = { .id = "x", .operator_name = "root", .reason = "" };
        struct master master;
        struct admission_request request;
        struct admission_answer answer;
        struct enrollment record, approved;
        struct err err;

        master_begin(&master);
        master.policy.ca_pin = cases[i].our_pin;
        get_nonce(&master, master.mine_public);
        request = good_request(&master, &master.mine);
        request.trusted_ca_spki = cases[i].pin;
        request.trust_signature =
            !cases[i].pin[0]
                ? ""
                : bind_pin(&master, cases[i].good_signature ? &master.mine : &master.other,
                           cases[i].pin);
        submit(&master, &request, &answer);
        CHECK_INT(answer.status, 201);
        apply(&master, &answer);
        record = read_stored(&master);
        CHECK_STR(admission_trust(&record), cases[i].trust);
        CHECK_INT(admission_decide(ADMISSION_APPROVE, &record, &decision, &master.policy, NOW,
                                   &approved, &err),
                  cases[i].needs_force ? -1 : 0);
        if (cases[i].needs_force)
            CHECK_HAS(err.text, "--force");
        decision.force = true;
        CHECK_INT(admission_decide(ADMISSION_APPROVE, &record, &decision, &master.policy, NOW,
                                   &approved, &err),
                  0);
        arena_done(&master.arena);
    }
}

/* --- decisions ----------------------------------------------------------------------- */

TEST(a_decision_follows_the_table_of_states)
{
    static const enum enrollment_state to[] = { ENROLLMENT_APPROVED, ENROLLMENT_REJECTED,
                                                ENROLLMENT_REVOKED };
    const struct enrollment_request request = { .operator_name = "root", .reason = "lost" };
    const struct admission_policy policy = { 0 };

    for (int from = 0; from < ENROLLMENT_STATES; from++)
        for (int decision = 0; decision <= ADMISSION_REVOKE; decision++) {
            if (from == ENROLLMENT_REVOKED && decision == ADMISSION_REVOKE)
                continue; /* again: see below */
            const struct enrollment record = { .id = "enr-1",
                                               .state = (enum enrollment_state)from,
                                               .trusted_ca_spki = "",
                                               .reject_reason = "" };
            bool may = enrollment_may_follow(record.state, to[decision]);
            struct enrollment decided;
            struct err err;

            CHECK_INT(admission_decide((enum admission_decision)decision, &record, &request,
                                       &policy, NOW, &decided, &err),
                      may ? 0 : -1);
            if (!may) {
                CHECK_HAS(err.text, enrollment_state_name(record.state));
                continue;
            }
            CHECK_INT(decided.state, to[decision]);
            CHECK_STR(decided.decided_by, "root");
            CHECK_INT(decided.decided_at.seconds, NOW / NUMBER_NS_PER_S);
            CHECK_STR(decided.reject_reason, decision == ADMISSION_APPROVE ? "" : "lost");
        }
}

TEST(revoking_again_changes_nothing_and_a_peel_that_was_seen_is_active)
{
    struct enrollment record = { .id = "enr-1",
                                 .state = ENROLLMENT_REVOKED,
                                 .trusted_ca_spki = "",
                                 .decided_by = "alice",
                                 .reject_reason = "lost" };
    const struct enrollment_request request = { .operator_name = "bob", .reason = "again" };
    const struct admission_policy policy = { 0 };
    struct enrollment decided;
    struct err err;

    CHECK_INT(admission_decide(ADMISSION_REVOKE, &record, &request, &policy, NOW, &decided, &err),
              0);
    CHECK_STR(decided.decided_by, "alice");
    CHECK_STR(decided.reject_reason, "lost");
    CHECK_INT(admission_decide(ADMISSION_ACTIVATE, &record, &request, &policy, NOW, &decided, &err),
              -1);
    record.state = ENROLLMENT_ISSUED;
    CHECK_INT(admission_decide(ADMISSION_ACTIVATE, &record, &request, &policy, NOW, &decided, &err),
              0);
    CHECK_INT(decided.state, ENROLLMENT_ACTIVE);
    CHECK_STR(decided.decided_by, "alice");
}

/* --- status and credentials ------------------------------------------------------------ */

TEST(a_status_is_reported_for_known_records)
{
    struct master master;
    struct admission_answer answer;

    master_begin(&master);
    admission_status(&master.arena, &master.stored.record, &answer);
    CHECK_INT(answer.status, 404);
    enroll(&master);
    admission_status(&master.arena, &master.stored.record, &answer);
    CHECK_INT(answer.status, 200);
    CHECK_STR(text_of(&answer, "state"), "pending");
    master.stored.record.value = STR("\xc1");
    admission_status(&master.arena, &master.stored.record, &answer);
    CHECK_INT(answer.status, 500);
    arena_done(&master.arena);
}

static void claim(struct master *master, const char *authorization, struct admission_answer *ret)
{
    admission_creds(&master->arena,
                    &(struct admission_claim){ .id = "enr-" FIRST,
                                               .authorization = str_from(authorization),
                                               .record = master->stored.record,
                                               .index = master->stored.index },
                    &master->policy, &master->moment, ret);
}

static const char *authorize(struct master *master, const struct nats_nkey *key, const char *id)
{
    return arena_printf(&master->arena, "Nkey %s:%s",
                        key == &master->mine ? master->mine_public : master->other_public,
                        sign_text(&master->arena, key, str_from(id), BASE64_URL));
}

TEST(credentials_depend_on_the_state)
{
    static const struct {
        enum enrollment_state state;
        int status;
    } cases[] = {
        { ENROLLMENT_PENDING, 403 }, { ENROLLMENT_APPROVED, 200 }, { ENROLLMENT_REJECTED, 403 },
        { ENROLLMENT_ISSUED, 409 },  { ENROLLMENT_ACTIVE, 409 },   { ENROLLMENT_REVOKED, 403 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct master master;
        struct admission_answer answer;

        master_begin(&master);
        enroll(&master);
        store_state(&master, cases[i].state);
        claim(&master, authorize(&master, &master.mine, "enr-" FIRST), &answer);
        CHECK_INT(answer.status, cases[i].status);
        CHECK_INT(answer.change_count, cases[i].status == 200);
        arena_done(&master.arena);
    }
}

TEST(credentials_are_for_the_holder_of_the_key)
{
    struct master master;
    struct admission_answer answer;
    const char *bad[6];

    master_begin(&master);
    claim(&master, authorize(&master, &master.mine, "enr-" FIRST), &answer);
    CHECK_INT(answer.status, 404);
    enroll(&master);
    store_state(&master, ENROLLMENT_APPROVED);
    bad[0] = "";
    bad[1] = "Bearer x";
    bad[2] = arena_printf(&master.arena, "Nkey %s", master.mine_public);
    bad[3] = authorize(&master, &master.other, "enr-" FIRST);
    bad[4] = authorize(&master, &master.mine, "enr-" SECOND);
    bad[5] = arena_printf(&master.arena, "Nkey %s:%s", master.mine_public,
                          sign_text(&master.arena, &master.other, STR("enr-" FIRST), BASE64_URL));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        claim(&master, bad[i], &answer);
        CHECK_INT(answer.status, 401);
        CHECK_INT(answer.change_count, 0);
    }
    arena_done(&master.arena);
}

TEST(issued_credentials_are_a_jwt_of_the_account_and_are_issued_once)
{
    struct master master;
    struct admission_answer answer, lost;
    AUTO_BUF struct buf jwt = BUF_INIT(65536);
    struct claims_user claims;
    struct enrollment record;
    struct err err;

    master_begin(&master);
    enroll(&master);
    store_state(&master, ENROLLMENT_APPROVED);
    claim(&master, authorize(&master, &master.mine, "enr-" FIRST), &answer);
    CHECK_INT(answer.status, 200);
    CHECK_STR(text_of(&answer, "peel_id"), PEEL);
    CHECK_INT(base64_decode(str_from(text_of(&answer, "creds_data")), BASE64_STANDARD, &jwt, &err),
              0);
    CHECK_INT(claims_read_user(&master.arena, buf_view(&jwt), &claims, &err), 0);
    CHECK_STR(claims.head.name, PEEL);
    CHECK_STR(claims.head.sub, master.mine_public);
    CHECK_STR(text_of(&answer, "expires_at"), "2027-07-14T08:00:00Z");
    CHECK_INT(answer.changes[0].revision, 13);
    admission_conflict(&master.arena, &answer, 0, &lost);
    CHECK_INT(lost.status, 409);
    apply(&master, &answer);
    record = read_stored(&master);
    CHECK_INT(record.state, ENROLLMENT_ISSUED);
    CHECK_INT(record.expires_at.seconds, claims.head.exp);

    master.stored.index.value = STR("enr-" SECOND); /* enrolled again meanwhile */
    store_state(&master, ENROLLMENT_APPROVED);
    claim(&master, authorize(&master, &master.mine, "enr-" FIRST), &answer);
    CHECK_INT(answer.status, 409);
    arena_done(&master.arena);
}
