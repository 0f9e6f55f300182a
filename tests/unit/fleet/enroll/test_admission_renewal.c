#include "fleet/enroll/desk.h"

TEST(credentials_that_are_good_are_renewed_for_their_own_key_alone)
{
    const int64_t soon = NOW / NUMBER_NS_PER_S + 1;
    const struct {
        enum enrollment_state state;
        int64_t expires;
        bool renew, other_curve;
        const char *then;
    } cases[] = {
        { ENROLLMENT_ACTIVE, soon, true, false, "approved" },
        { ENROLLMENT_ISSUED, soon, true, false, "approved" },
        { ENROLLMENT_ACTIVE, soon, false, false, "pending" },
        { ENROLLMENT_ACTIVE, soon, true, true, "pending" },
        { ENROLLMENT_ACTIVE, soon - 1, true, false, "pending" },
        { ENROLLMENT_APPROVED, soon, true, false, "pending" },
        { ENROLLMENT_REVOKED, soon, true, false, "pending" },
        { ENROLLMENT_REJECTED, soon, true, false, "pending" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct admission_request request;
        struct admission_answer answer;
        struct master master;

        master_begin(&master);
        enroll(&master);
        store_until(&master, cases[i].state, cases[i].expires);
        if (cases[i].other_curve) {
            AUTO_BUF struct buf bytes = BUF_INIT(4096);
            struct enrollment record = read_stored(&master);
            struct err err;

            record.curve_public_key = "XOTHER";
            CHECK_INT(record_encode(&bytes, &enrollment_type, &record, &err), 0);
            master.stored.record.value = buf_copy(&bytes, &master.arena);
        }
        get_nonce(&master, master.mine_public);
        memcpy(master.moment.ksuid, SECOND, sizeof(SECOND));
        request = good_request(&master, &master.mine);
        request.renew = cases[i].renew;
        submit(&master, &request, &answer);
        CHECK_INT(answer.status, 201);
        CHECK_STR(text_of(&answer, "state"), cases[i].then);
        arena_done(&master.arena);
    }
}

TEST(who_asks_for_a_renewal_only_makes_no_record_that_somebody_has_to_decide_about)
{
    const int64_t soon = NOW / NUMBER_NS_PER_S + 1;
    const struct {
        enum enrollment_state state;
        int64_t expires, status;
    } cases[] = {
        { ENROLLMENT_ACTIVE, soon, 201 },     { ENROLLMENT_ISSUED, soon, 201 },
        { ENROLLMENT_ACTIVE, soon - 1, 403 }, { ENROLLMENT_APPROVED, soon, 403 },
        { ENROLLMENT_PENDING, soon, 403 },    { ENROLLMENT_REVOKED, soon, 403 },
        { ENROLLMENT_REJECTED, soon, 403 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct admission_request request;
        struct admission_answer answer;
        struct master master;

        master_begin(&master);
        enroll(&master);
        store_until(&master, cases[i].state, cases[i].expires);
        get_nonce(&master, master.mine_public);
        memcpy(master.moment.ksuid, SECOND, sizeof(SECOND));
        request = good_request(&master, &master.mine);
        request.renew = request.only_renew = true;
        submit(&master, &request, &answer);
        CHECK_INT(answer.status, cases[i].status);
        if (cases[i].status == 403)
            CHECK_INT(answer.change_count, 0);
        arena_done(&master.arena);
    }
}

/* It was killed between both. */
TEST(a_renewal_that_was_approved_and_not_fetched_is_approved_again)
{
    const int64_t soon = NOW / NUMBER_NS_PER_S + 1;
    struct enrollment record;
    struct admission_request request;
    struct admission_answer answer;
    struct master master;
    struct err err;

    master_begin(&master);
    enroll(&master);
    store_until(&master, ENROLLMENT_ACTIVE, soon);
    for (int i = 0; i < 2; i++) {
        memcpy(master.moment.ksuid, FIRST, sizeof(FIRST));
        get_nonce(&master, master.mine_public);
        memcpy(master.moment.ksuid, SECOND, sizeof(SECOND));
        request = good_request(&master, &master.mine);
        request.renew = request.only_renew = true;
        submit(&master, &request, &answer);
        CHECK_INT(answer.status, 201);
        CHECK_STR(text_of(&answer, "state"), "approved");
        CHECK_INT(record_decode(&master.arena, &enrollment_type, 1, answer.changes[1].value,
                                &record, &err),
                  0);
        CHECK_INT(record.expires_at.seconds, soon);
        apply(&master, &answer);
    }
    arena_done(&master.arena);
}

TEST(during_a_pause_only_renewals_make_records)
{
    const int64_t soon = NOW / NUMBER_NS_PER_S + 1;
    const struct {
        enum enrollment_state state;
        bool renew;
        int status;
    } cases[] = {
        { ENROLLMENT_ACTIVE, true, 201 },
        { ENROLLMENT_ACTIVE, false, 503 },
        { ENROLLMENT_PENDING, false, 200 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct admission_request request;
        struct admission_answer answer;
        struct master master;

        master_begin(&master);
        enroll(&master);
        store_until(&master, cases[i].state, soon);
        get_nonce(&master, master.mine_public);
        memcpy(master.moment.ksuid, SECOND, sizeof(SECOND));
        master.policy.pause = "moving";
        request = good_request(&master, &master.mine);
        request.renew = cases[i].renew;
        submit(&master, &request, &answer);
        CHECK_INT(answer.status, cases[i].status);
        CHECK(answer.status != 503 || strstr(text_of(&answer, "error"), "paused: moving"));
        arena_done(&master.arena);
    }
}
