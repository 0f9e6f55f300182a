#include "fleet/enroll/registry.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "fleet/bus/store.h"
#include "fleet/enroll/signing.h"
#include "fleet/nats/js_scene.h"
#include "core/sys/clock.h"
#include "test.h"

#define PEEL "web-01"

/* A server with the buckets, a registry on it, and the last answer. */
struct enrolling {
    struct js_scene world;
    struct arena arena;
    struct registry registry;
    struct nats_nkey account, mine, other;
    int count;
    enum admission_status status;
    int statuses;          /* the sum of all */
    const char *id, *text; /* of the last answer: id or challenge, error */
    const char *challenge;
    enum enrollment_state state;
};

static void on_ready(void *self, const struct store_result *result)
{
    CHECK_INT(result->problem_count, 0);
    ((struct enrolling *)self)->count++;
}

static void enrolling_begin(struct enrolling *enrolling)
{
    *enrolling = (struct enrolling){ .arena = ARENA_INIT };
    js_scene_begin(&enrolling->world);
    make_key(NATS_NKEY_ACCOUNT, 3, &enrolling->account);
    make_key(NATS_NKEY_USER, 1, &enrolling->mine);
    make_key(NATS_NKEY_USER, 2, &enrolling->other);
    enrolling->registry =
        (struct registry){ .js = enrolling->world.js,
                           .policy = { .issuer = { .account = &enrolling->account } } };
    CHECK_INT(store_ensure(&enrolling->world.js, &(struct store_options){ 0 }, on_ready, enrolling,
                           &enrolling->world.scene.err),
              0);
    SCENE_RUN(&enrolling->world.scene, enrolling->count == 1);
    enrolling->count = 0;
}

static void enrolling_end(struct enrolling *enrolling)
{
    js_scene_end(&enrolling->world);
    arena_done(&enrolling->arena);
}

static const char *copy_text(struct enrolling *enrolling, const struct value *body, const char *key)
{
    const char *text = value_get_text(body, key);

    return arena_strdup(&enrolling->arena, text ? text : "");
}

static void on_answer(void *self, const struct admission_answer *answer)
{
    struct enrolling *enrolling = self;

    enrolling->count++;
    enrolling->status = answer->status;
    enrolling->statuses += (int)answer->status;
    enrolling->text = copy_text(enrolling, &answer->body, "error");
    if (value_get(&answer->body, "challenge_id")) {
        enrolling->id = copy_text(enrolling, &answer->body, "challenge_id");
        enrolling->challenge = copy_text(enrolling, &answer->body, "challenge");
    } else if (value_get(&answer->body, "id")) {
        enrolling->id = copy_text(enrolling, &answer->body, "id");
    }
}

static void on_decided(void *self, const struct registry_verdict *verdict)
{
    struct enrolling *enrolling = self;

    enrolling->count++;
    enrolling->text = arena_strdup(&enrolling->arena, verdict->error ? verdict->error : "");
    if (verdict->record)
        enrolling->state = verdict->record->state;
}

static void await_count(struct enrolling *enrolling, int count)
{
    SCENE_RUN(&enrolling->world.scene, enrolling->count == count);
    enrolling->count = 0;
}

static const char *public_of(struct enrolling *enrolling, const struct nats_nkey *key)
{
    char text[NATS_NKEY_TEXT_SIZE];

    nats_nkey_print_public(key, text);
    return arena_strdup(&enrolling->arena, text);
}

/* Ask for a nonce, and answer it: the body of a request. */
static struct str make_body(struct enrolling *enrolling, const struct nats_nkey *key)
{
    AUTO_BUF struct buf text = BUF_INIT(4096), body = BUF_INIT(4096);
    const char *curve = curve_key(&enrolling->arena);
    struct err err;

    registry_nonce(&enrolling->registry, STR(PEEL), str_from(public_of(enrolling, key)), on_answer,
                   enrolling);
    await_count(enrolling, 1);
    CHECK_INT(enrolling->status, 200);
    CHECK_INT(base64_decode(str_from(enrolling->challenge), BASE64_STANDARD, &text, &err), 0);
    buf_add_text(&text, curve);
    buf_printf(&body,
               "{\"peel_id\":\"" PEEL "\",\"public_key\":\"%s\",\"curve_public_key\":\"%s\","
               "\"challenge_id\":\"%s\",\"signature\":\"%s\"}",
               public_of(enrolling, key), curve, enrolling->id,
               sign_text(&enrolling->arena, key, buf_view(&text), BASE64_STANDARD));
    return buf_copy(&body, &enrolling->arena);
}

static void submit(struct enrolling *enrolling, const struct nats_nkey *key)
{
    struct str body = make_body(enrolling, key);

    registry_submit(&enrolling->registry, body, &(struct registry_sender){ "10.0.0.1", "", NULL },
                    on_answer, enrolling);
    await_count(enrolling, 1);
}

static void decide(struct enrolling *enrolling, enum admission_decision decision, const char *id)
{
    registry_decide(&enrolling->registry, decision,
                    &(struct enrollment_request){ .id = id, .operator_name = "root", .reason = "" },
                    on_decided, enrolling);
    await_count(enrolling, 1);
}

static void claim(struct enrolling *enrolling, const struct nats_nkey *key, const char *id)
{
    const char *header = arena_printf(&enrolling->arena, "Nkey %s:%s", public_of(enrolling, key),
                                      sign_text(&enrolling->arena, key, str_from(id), BASE64_URL));

    registry_creds(&enrolling->registry, id, str_from(header), on_answer, enrolling);
    await_count(enrolling, 1);
}

TEST(a_machine_is_enrolled_approved_issued_and_revoked_on_real_buckets)
{
    struct enrolling enrolling;
    const char *id;

    enrolling_begin(&enrolling);
    submit(&enrolling, &enrolling.mine);
    CHECK_STR(enrolling.text, "");
    CHECK_INT(enrolling.status, 201);
    id = enrolling.id;
    claim(&enrolling, &enrolling.mine, id);
    CHECK_INT(enrolling.status, 403);
    submit(&enrolling, &enrolling.mine);
    CHECK_INT(enrolling.status, 200);
    CHECK_STR(enrolling.id, id);
    submit(&enrolling, &enrolling.other);
    CHECK_INT(enrolling.status, 409);
    decide(&enrolling, ADMISSION_APPROVE, PEEL);
    CHECK_STR(enrolling.text, "");
    CHECK_INT(enrolling.state, ENROLLMENT_APPROVED);
    decide(&enrolling, ADMISSION_APPROVE, id);
    CHECK_HAS(enrolling.text, "is approved: it cannot be approved");
    claim(&enrolling, &enrolling.other, id);
    CHECK_INT(enrolling.status, 401);
    claim(&enrolling, &enrolling.mine, id);
    CHECK_INT(enrolling.status, 200);
    claim(&enrolling, &enrolling.mine, id);
    CHECK_INT(enrolling.status, 409);
    registry_status(&enrolling.registry, id, on_answer, &enrolling);
    await_count(&enrolling, 1);
    CHECK_INT(enrolling.status, 200);
    decide(&enrolling, ADMISSION_REVOKE, id);
    CHECK_INT(enrolling.state, ENROLLMENT_REVOKED);
    submit(&enrolling, &enrolling.other); /* free again */
    CHECK_INT(enrolling.status, 201);
    enrolling_end(&enrolling);
}

/* Have the server answer in place of an entry, as whoever may ask it anything can. */
static void overwrite_entry(struct enrolling *enrolling, const char *key, const char *request)
{
    CHECK_INT(nats_publish(enrolling->world.conn.conn,
                           &(struct nats_pub){ .subject = str_from(request),
                                               .reply = str_from(arena_printf(
                                                   &enrolling->arena, "$KV.enrollments.%s", key)),
                                               .payload = STR("") },
                           &enrolling->world.scene.err),
              0);
}

TEST(a_name_whose_index_or_record_cannot_be_read_is_given_to_nobody)
{
    static const char *const requests[] = {
        "$KV.facts." PEEL,                             /* that it is stored */
        "$JS.API.DIRECT.GET.KV_facts.$KV.facts." PEEL, /* a copy of that */
        "$JS.API.DIRECT.GET.KV_facts.$KV.facts.none",  /* that there is nothing */
    };

    for (size_t i = 0; i < 2 * ARRAY_LEN(requests); i++) {
        int64_t deadline = clock_now() + SCENE_SECONDS * CLOCK_SECOND;
        struct enrolling enrolling;

        enrolling_begin(&enrolling);
        submit(&enrolling, &enrolling.mine);
        overwrite_entry(&enrolling, i % 2 ? enrolling.id : "peel." PEEL, requests[0]);
        overwrite_entry(&enrolling, i % 2 ? enrolling.id : "peel." PEEL, requests[i / 2]);
        do
            submit(&enrolling, &enrolling.other);
        while (enrolling.status == ADMISSION_TAKEN && clock_now() < deadline);
        CHECK_INT(enrolling.status, 500);
        CHECK_HAS(enrolling.text, "the enrollment of this peel id cannot be read");
        enrolling_end(&enrolling);
    }
}

/* Somebody who goes on with a record the moment that it is stored. */
struct hasty {
    struct enrolling *enrolling;
    enum enrollment_state from, to;
    bool is_stranger; /* who has decided by himself */
};

static void on_stored(void *self, const struct nats_msg *msg)
{
    const struct hasty *hasty = self;
    struct enrolling *enrolling = hasty->enrolling;
    AUTO_BUF struct buf bytes = BUF_INIT(4096);
    struct enrollment record;
    struct err err;

    if (record_decode(&enrolling->arena, &enrollment_type, 1,
                      arena_str(&enrolling->arena, msg->payload), &record, &err) < 0 ||
        record.state != hasty->from)
        return;
    record.state = hasty->to;
    record.decided_at.seconds += hasty->is_stranger;
    CHECK_INT(record_encode(&bytes, &enrollment_type, &record, &err), 0);
    CHECK_INT(
        nats_publish(enrolling->world.conn.conn,
                     &(struct nats_pub){ .subject = arena_str(&enrolling->arena, msg->subject),
                                         .payload = buf_view(&bytes) },
                     &err),
        0);
}

static void hasten(struct hasty *hasty)
{
    CHECK(nats_sub_new(hasty->enrolling->world.conn.conn,
                       &(struct nats_sub_options){
                           .subject = "$KV.enrollments.*", .message = on_stored, .self = hasty },
                       &hasty->enrolling->world.scene.err));
}

TEST(a_decision_holds_although_what_comes_of_it_is_stored_before_it_is_answered)
{
    struct enrolling enrolling;
    struct hasty hasty = { &enrolling, ENROLLMENT_APPROVED, ENROLLMENT_ISSUED, false };

    enrolling_begin(&enrolling);
    submit(&enrolling, &enrolling.mine);
    hasten(&hasty);
    decide(&enrolling, ADMISSION_APPROVE, enrolling.id);
    CHECK_STR(enrolling.text, "");
    CHECK_INT(enrolling.state, ENROLLMENT_APPROVED);
    enrolling_end(&enrolling);
}

TEST(credentials_are_handed_out_although_their_machine_is_active_at_once)
{
    struct enrolling enrolling;
    struct hasty hasty = { &enrolling, ENROLLMENT_ISSUED, ENROLLMENT_ACTIVE, false };

    enrolling_begin(&enrolling);
    submit(&enrolling, &enrolling.mine);
    decide(&enrolling, ADMISSION_APPROVE, enrolling.id);
    hasten(&hasty);
    claim(&enrolling, &enrolling.mine, enrolling.id);
    CHECK_STR(enrolling.text, "");
    CHECK_INT(enrolling.status, 200);
    enrolling_end(&enrolling);
}

TEST(of_two_decisions_the_one_that_is_not_the_last_is_refused)
{
    struct enrolling enrolling;
    struct hasty hasty = { &enrolling, ENROLLMENT_APPROVED, ENROLLMENT_REJECTED, true };

    enrolling_begin(&enrolling);
    submit(&enrolling, &enrolling.mine);
    hasten(&hasty);
    decide(&enrolling, ADMISSION_APPROVE, enrolling.id);
    CHECK_STR(enrolling.text, "changed by another request; try again");
    enrolling_end(&enrolling);
}

TEST(what_is_not_there_or_cannot_be_a_key_is_unknown)
{
    static const char *const ids[] = { "enr-x", ("peel." PEEL), "", "*", "enr->", "enr-a b" };
    struct enrolling enrolling;

    enrolling_begin(&enrolling);
    submit(&enrolling, &enrolling.mine);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        registry_status(&enrolling.registry, ids[i], on_answer, &enrolling);
        await_count(&enrolling, 1);
        CHECK_INT(enrolling.status, 404);
        claim(&enrolling, &enrolling.mine, ids[i]);
        CHECK_INT(enrolling.status, 404);
        decide(&enrolling, ADMISSION_APPROVE, ids[i]);
        CHECK_HAS(enrolling.text, "no such enrollment");
    }
    registry_submit(&enrolling.registry, STR("{}"), &(struct registry_sender){ "", "", NULL },
                    on_answer, &enrolling);
    CHECK_INT(enrolling.status, 400);
    enrolling_end(&enrolling);
}

/* Both at once; what the two answers add up to. */
static int submit_both(struct enrolling *enrolling, struct str first, struct str second)
{
    enrolling->statuses = 0;
    registry_submit(&enrolling->registry, first, &(struct registry_sender){ "", "", NULL },
                    on_answer, enrolling);
    registry_submit(&enrolling->registry, second, &(struct registry_sender){ "", "", NULL },
                    on_answer, enrolling);
    await_count(enrolling, 2);
    return enrolling->statuses;
}

TEST(of_two_answers_to_one_challenge_one_is_admitted)
{
    struct enrolling enrolling;
    struct str body;

    enrolling_begin(&enrolling);
    body = make_body(&enrolling, &enrolling.mine);
    CHECK_INT(submit_both(&enrolling, body, body), 201 + 401);
    enrolling_end(&enrolling);
}

TEST(two_machines_that_ask_for_one_name_at_once_are_told_apart)
{
    struct enrolling enrolling;
    struct str mine, other;

    enrolling_begin(&enrolling);
    mine = make_body(&enrolling, &enrolling.mine);
    other = make_body(&enrolling, &enrolling.other);
    CHECK_INT(submit_both(&enrolling, mine, other), 201 + 409);
    enrolling_end(&enrolling);
}

TEST(a_connection_that_ends_meanwhile_is_answered_500)
{
    struct enrolling enrolling;

    enrolling_begin(&enrolling);
    registry_status(&enrolling.registry, "enr-x", on_answer, &enrolling);
    nats_conn_free(enrolling.world.conn.conn);
    enrolling.world.conn.conn = NULL;
    await_count(&enrolling, 1);
    CHECK_INT(enrolling.status, 500);
    enrolling_end(&enrolling);
}
