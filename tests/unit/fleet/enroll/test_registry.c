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
struct office {
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
    ((struct office *)self)->count++;
}

static void office_begin(struct office *office)
{
    *office = (struct office){ .arena = ARENA_INIT };
    js_scene_begin(&office->world);
    make_key(NATS_NKEY_ACCOUNT, 3, &office->account);
    make_key(NATS_NKEY_USER, 1, &office->mine);
    make_key(NATS_NKEY_USER, 2, &office->other);
    office->registry = (struct registry){ .js = office->world.js,
                                          .policy = { .issuer = { .account = &office->account } } };
    CHECK_INT(store_ensure(&office->world.js, &(struct store_options){ 0 }, on_ready, office,
                           &office->world.scene.err),
              0);
    SCENE_RUN(&office->world.scene, office->count == 1);
    office->count = 0;
}

static void office_end(struct office *office)
{
    js_scene_end(&office->world);
    arena_done(&office->arena);
}

static const char *copy_text(struct office *office, const struct value *body, const char *key)
{
    const char *text = value_get_text(body, key);

    return arena_strdup(&office->arena, text ? text : "");
}

static void on_answer(void *self, const struct admission_answer *answer)
{
    struct office *office = self;

    office->count++;
    office->status = answer->status;
    office->statuses += (int)answer->status;
    office->text = copy_text(office, &answer->body, "error");
    if (value_get(&answer->body, "challenge_id")) {
        office->id = copy_text(office, &answer->body, "challenge_id");
        office->challenge = copy_text(office, &answer->body, "challenge");
    } else if (value_get(&answer->body, "id")) {
        office->id = copy_text(office, &answer->body, "id");
    }
}

static void on_decided(void *self, const struct registry_verdict *verdict)
{
    struct office *office = self;

    office->count++;
    office->text = arena_strdup(&office->arena, verdict->error ? verdict->error : "");
    if (verdict->record)
        office->state = verdict->record->state;
}

static void await_count(struct office *office, int count)
{
    SCENE_RUN(&office->world.scene, office->count == count);
    office->count = 0;
}

static const char *public_of(struct office *office, const struct nats_nkey *key)
{
    char text[NATS_NKEY_TEXT_SIZE];

    nats_nkey_print_public(key, text);
    return arena_strdup(&office->arena, text);
}

/* Ask for a nonce, and answer it: the body of a request. */
static struct str make_body(struct office *office, const struct nats_nkey *key)
{
    AUTO_BUF struct buf text = BUF_INIT(4096), body = BUF_INIT(4096);
    const char *curve = curve_key(&office->arena);
    struct err err;

    registry_nonce(&office->registry, STR(PEEL), str_from(public_of(office, key)), on_answer,
                   office);
    await_count(office, 1);
    CHECK_INT(office->status, 200);
    CHECK_INT(base64_decode(str_from(office->challenge), BASE64_STANDARD, &text, &err), 0);
    buf_add_text(&text, curve);
    buf_printf(&body,
               "{\"peel_id\":\"" PEEL "\",\"public_key\":\"%s\",\"curve_public_key\":\"%s\","
               "\"challenge_id\":\"%s\",\"signature\":\"%s\"}",
               public_of(office, key), curve, office->id,
               sign_text(&office->arena, key, buf_view(&text), BASE64_STANDARD));
    return buf_copy(&body, &office->arena);
}

static void submit(struct office *office, const struct nats_nkey *key)
{
    struct str body = make_body(office, key);

    registry_submit(&office->registry, body, &(struct registry_sender){ "10.0.0.1", "", NULL },
                    on_answer, office);
    await_count(office, 1);
}

static void decide(struct office *office, enum admission_decision decision, const char *id)
{
    registry_decide(&office->registry, decision,
                    &(struct enrollment_request){ .id = id, .operator_name = "root", .reason = "" },
                    on_decided, office);
    await_count(office, 1);
}

static void claim(struct office *office, const struct nats_nkey *key, const char *id)
{
    const char *header = arena_printf(&office->arena, "Nkey %s:%s", public_of(office, key),
                                      sign_text(&office->arena, key, str_from(id), BASE64_URL));

    registry_creds(&office->registry, id, str_from(header), on_answer, office);
    await_count(office, 1);
}

TEST(a_machine_is_enrolled_approved_issued_and_revoked_on_real_buckets)
{
    struct office office;
    const char *id;

    office_begin(&office);
    submit(&office, &office.mine);
    CHECK_STR(office.text, "");
    CHECK_INT(office.status, 201);
    id = office.id;
    claim(&office, &office.mine, id);
    CHECK_INT(office.status, 403);
    submit(&office, &office.mine);
    CHECK_INT(office.status, 200);
    CHECK_STR(office.id, id);
    submit(&office, &office.other);
    CHECK_INT(office.status, 409);
    decide(&office, ADMISSION_APPROVE, PEEL);
    CHECK_STR(office.text, "");
    CHECK_INT(office.state, ENROLLMENT_APPROVED);
    decide(&office, ADMISSION_APPROVE, id);
    CHECK_HAS(office.text, "is approved: it cannot be approved");
    claim(&office, &office.other, id);
    CHECK_INT(office.status, 401);
    claim(&office, &office.mine, id);
    CHECK_INT(office.status, 200);
    claim(&office, &office.mine, id);
    CHECK_INT(office.status, 409);
    registry_status(&office.registry, id, on_answer, &office);
    await_count(&office, 1);
    CHECK_INT(office.status, 200);
    decide(&office, ADMISSION_REVOKE, id);
    CHECK_INT(office.state, ENROLLMENT_REVOKED);
    submit(&office, &office.other); /* free again */
    CHECK_INT(office.status, 201);
    office_end(&office);
}

/* Have the server answer in place of an entry, as whoever may ask it anything can. */
static void overwrite_entry(struct office *office, const char *key, const char *request)
{
    CHECK_INT(nats_publish(office->world.conn.conn,
                           &(struct nats_pub){ .subject = str_from(request),
                                               .reply = str_from(arena_printf(
                                                   &office->arena, "$KV.enrollments.%s", key)),
                                               .payload = STR("") },
                           &office->world.scene.err),
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
        struct office office;

        office_begin(&office);
        submit(&office, &office.mine);
        overwrite_entry(&office, i % 2 ? office.id : "peel." PEEL, requests[0]);
        overwrite_entry(&office, i % 2 ? office.id : "peel." PEEL, requests[i / 2]);
        do
            submit(&office, &office.other);
        while (office.status == ADMISSION_TAKEN && clock_now() < deadline);
        CHECK_INT(office.status, 500);
        CHECK_HAS(office.text, "the enrollment of this peel id cannot be read");
        office_end(&office);
    }
}

/* Somebody who goes on with a record the moment that it is stored. */
struct hasty {
    struct office *office;
    enum enrollment_state from, to;
    bool is_stranger; /* who has decided by himself */
};

static void on_stored(void *self, const struct nats_msg *msg)
{
    const struct hasty *hasty = self;
    struct office *office = hasty->office;
    AUTO_BUF struct buf bytes = BUF_INIT(4096);
    struct enrollment record;
    struct err err;

    if (record_decode(&office->arena, &enrollment_type, 1, arena_str(&office->arena, msg->payload),
                      &record, &err) < 0 ||
        record.state != hasty->from)
        return;
    record.state = hasty->to;
    record.decided_at.seconds += hasty->is_stranger;
    CHECK_INT(record_encode(&bytes, &enrollment_type, &record, &err), 0);
    CHECK_INT(nats_publish(office->world.conn.conn,
                           &(struct nats_pub){ .subject = arena_str(&office->arena, msg->subject),
                                               .payload = buf_view(&bytes) },
                           &err),
              0);
}

static void hasten(struct hasty *hasty)
{
    CHECK(nats_sub_new(hasty->office->world.conn.conn,
                       &(struct nats_sub_options){
                           .subject = "$KV.enrollments.*", .message = on_stored, .self = hasty },
                       &hasty->office->world.scene.err));
}

TEST(a_decision_holds_although_what_comes_of_it_is_stored_before_it_is_answered)
{
    struct office office;
    struct hasty hasty = { &office, ENROLLMENT_APPROVED, ENROLLMENT_ISSUED, false };

    office_begin(&office);
    submit(&office, &office.mine);
    hasten(&hasty);
    decide(&office, ADMISSION_APPROVE, office.id);
    CHECK_STR(office.text, "");
    CHECK_INT(office.state, ENROLLMENT_APPROVED);
    office_end(&office);
}

TEST(credentials_are_handed_out_although_their_machine_is_active_at_once)
{
    struct office office;
    struct hasty hasty = { &office, ENROLLMENT_ISSUED, ENROLLMENT_ACTIVE, false };

    office_begin(&office);
    submit(&office, &office.mine);
    decide(&office, ADMISSION_APPROVE, office.id);
    hasten(&hasty);
    claim(&office, &office.mine, office.id);
    CHECK_STR(office.text, "");
    CHECK_INT(office.status, 200);
    office_end(&office);
}

TEST(of_two_decisions_the_one_that_is_not_the_last_is_refused)
{
    struct office office;
    struct hasty hasty = { &office, ENROLLMENT_APPROVED, ENROLLMENT_REJECTED, true };

    office_begin(&office);
    submit(&office, &office.mine);
    hasten(&hasty);
    decide(&office, ADMISSION_APPROVE, office.id);
    CHECK_STR(office.text, "changed by another request; try again");
    office_end(&office);
}

TEST(what_is_not_there_or_cannot_be_a_key_is_unknown)
{
    static const char *const ids[] = { "enr-x", ("peel." PEEL), "", "*", "enr->", "enr-a b" };
    struct office office;

    office_begin(&office);
    submit(&office, &office.mine);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        registry_status(&office.registry, ids[i], on_answer, &office);
        await_count(&office, 1);
        CHECK_INT(office.status, 404);
        claim(&office, &office.mine, ids[i]);
        CHECK_INT(office.status, 404);
        decide(&office, ADMISSION_APPROVE, ids[i]);
        CHECK_HAS(office.text, "no such enrollment");
    }
    registry_submit(&office.registry, STR("{}"), &(struct registry_sender){ "", "", NULL },
                    on_answer, &office);
    CHECK_INT(office.status, 400);
    office_end(&office);
}

/* Both at once; what the two answers add up to. */
static int submit_both(struct office *office, struct str first, struct str second)
{
    office->statuses = 0;
    registry_submit(&office->registry, first, &(struct registry_sender){ "", "", NULL }, on_answer,
                    office);
    registry_submit(&office->registry, second, &(struct registry_sender){ "", "", NULL }, on_answer,
                    office);
    await_count(office, 2);
    return office->statuses;
}

TEST(of_two_answers_to_one_challenge_one_is_admitted)
{
    struct office office;
    struct str body;

    office_begin(&office);
    body = make_body(&office, &office.mine);
    CHECK_INT(submit_both(&office, body, body), 201 + 401);
    office_end(&office);
}

TEST(two_machines_that_ask_for_one_name_at_once_are_told_apart)
{
    struct office office;
    struct str mine, other;

    office_begin(&office);
    mine = make_body(&office, &office.mine);
    other = make_body(&office, &office.other);
    CHECK_INT(submit_both(&office, mine, other), 201 + 409);
    office_end(&office);
}

TEST(a_connection_that_ends_meanwhile_is_answered_500)
{
    struct office office;

    office_begin(&office);
    registry_status(&office.registry, "enr-x", on_answer, &office);
    nats_conn_free(office.world.conn.conn);
    office.world.conn.conn = NULL;
    await_count(&office, 1);
    CHECK_INT(office.status, 500);
    office_end(&office);
}
