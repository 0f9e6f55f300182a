/* Bytes on the wire are a contract: these were observed with other programs, or follow from them.
 */
#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/hex.h"
#include "core/data/value.h"
#include "fleet/wire/approval.h"
#include "fleet/wire/cluster_info.h"
#include "fleet/wire/enrollment.h"
#include "fleet/wire/event.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/canary.h"
#include "fleet/wire/fileset.h"
#include "fleet/wire/job.h"
#include "fleet/wire/job_cancel.h"
#include "fleet/wire/liveness.h"
#include "fleet/wire/operator.h"
#include "fleet/wire/outcome.h"
#include "fleet/wire/question.h"
#include "fleet/wire/signature.h"
#include "fleet/wire/update.h"
#include "test.h"

#define BYTES_MAX 4096

static void check_bytes(const struct record_type *type, const void *record, const char *hex)
{
    AUTO_BUF struct buf out = BUF_INIT(BYTES_MAX), text = BUF_INIT(BYTES_MAX);
    struct err err;

    CHECK_INT(record_encode(&out, type, record, &err), 0);
    hex_encode(buf_view(&out), &text);
    CHECK_STR(buf_text(&text), hex);
}

TEST(an_event_has_the_documented_bytes)
{
    const struct event event = {
        .id = "I",
        .tag = "a/b",
        .ts = { .seconds = 1794765600, .nanoseconds = 123456789 },
        .v = 1,
    };

    check_bytes(&event_type, &event,
                "84a26964a149a3746167a3612f62a27473d7ff1d6f34546af9f320a17601");
}

TEST(a_request_has_the_documented_bytes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct exec_request request = {
        .v = 1,
        .jid = "J",
        .module = "test.ping",
        .id = "ping",
        .args = value_map(value_map_new(&arena, 0)),
        .epoch = 7,
    };

    check_bytes(&exec_request_type, &request,
                "86a17601a36a6964a14aa66d6f64756c65a9746573742e70696e67a26964a470696e67a461726773"
                "80a565706f6368cf0000000000000007");
}

TEST(durations_take_nine_bytes_and_times_are_extensions)
{
    const struct exec_return answer = {
        .jid = "J", .peel_id = "p", .success = true, .duration = 5, .timestamp = { .seconds = 1 }
    };

    check_bytes(&exec_return_type, &answer,
                "86a36a6964a14aa77065656c5f6964a170a773756363657373c3ab72657475726e5f64617461c0"
                "a86475726174696f6ed30000000000000005a974696d657374616d70d6ff00000001");
}

TEST(the_return_of_a_peel_is_the_same_bytes_whether_its_data_was_a_struct_or_values)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf built = BUF_INIT(BUF_NO_LIMIT), direct = BUF_INIT(BUF_NO_LIMIT);
    struct exec_result results[] = {
        { .name = "a",
          .changed = true,
          .diff = "d",
          .duration = 5,
          .error = "",
          .cause = "c",
          .skip_reason = "",
          .place = "f.zy:1" },
        { .name = "b",
          .diff = "",
          .error = "e",
          .skipped = true,
          .skip_reason = "s",
          .cause = "",
          .place = "" },
    };
    struct exec_answer answer = { .jid = "J",
                                  .peel_id = "p",
                                  .success = true,
                                  .error = "",
                                  .duration = 7,
                                  .timestamp = { .seconds = 1 } };
    struct exec_return same = { .jid = "J",
                                .peel_id = "p",
                                .success = true,
                                .error = "",
                                .duration = 7,
                                .timestamp = { .seconds = 1 } };
    struct err err;

    answer.response =
        (struct exec_response){ .v = 1, .peel_id = "p", .jid = "J", .success = true, .error = "" };
    for (size_t i = 0; i <= ARRAY_LEN(results); i++) {
        if (i > 0)
            VEC_PUSH_IN(&arena, &answer.response.results.list, results[i - 1]);
        same.return_data = record_value(&arena, &exec_response_type, &answer.response);
        buf_clear(&built);
        buf_clear(&direct);
        CHECK_INT(record_encode(&built, &exec_return_type, &same, &err), 0);
        CHECK_INT(record_encode(&direct, &exec_answer_type, &answer, &err), 0);
        CHECK(str_eq(buf_view(&built), buf_view(&direct)));
    }
}

/* The keys that a message may have, in their order: additions go to the end of a row here. */
static const struct {
    const struct record_type *type;
    const char *keys;
} messages[] = {
    { &event_type, "id tag data? ts v? origin? depth?" },
    { &exec_request_type, "v? jid module id args epoch? rdepth? plan? timeout? window? user? "
                          "secret_args?" },
    { &exec_response_type, "v? peel_id jid success test? results error? looked? "
                           "would_change_again?" },
    { &exec_result_type, "name changed diff duration details error? skipped? skip_reason? cause? "
                         "level? needs? place? value? would_change_again?" },
    { &exec_return_type, "jid peel_id success return_data error? duration timestamp unreachable? "
                         "queued? overdue?" },
    { &exec_answer_type, "jid peel_id success return_data error? duration timestamp" },
    { &exec_ack_type, "jid peel_id timestamp not_before?" },
    { &exec_progress_type, "jid peel_id type text? done? total? result? timestamp" },
    { &job_type, "jid function args targets timeout status created updated user? owner? epoch? "
                 "deadline? reclaim_count? offline_at_dispatch? state_id? target_expr? "
                 "return_count? success_count? v? metadata? sent_epoch? signature? sealed_args?" },
    { &job_event_type, "jid type peel_id? data? timestamp" },
    { &job_active_type, "owner updated" },
    { &job_scheduled_type, "jid entry module args success error? return_data duration timestamp" },
    { &job_reply_type, "jid? error? pending? waits?" },
    { &operator_policy_type,
      "name role target functions approvals created updated created_by removed? keys" },
    { &operator_removal_type, "name operator" },
    { &operator_removed_type, "err? warning?" },
    { &approval_type, "jid state asked_by asked decided_by? decided? reason? error? job" },
    { &approval_request_type, "jid operator reason?" },
    { &approval_reply_type, "err?" },
    { &job_cancel_type, "action operator?" },
    { &outcome_type,
      "id outcome reason? key? rules depth? provenance? parent? ts master? deliveries? seq?" },
    { &outcome_rule_type, "rule pattern result message? blocks?" },
    { &outcome_block_type, "block action result message? made? what?" },
    { &liveness_master_type, "master_id active_jobs timestamp version? since? trees? published?" },
    { &liveness_peel_type, "ts version? protocol? run? trees?" },
    { &cluster_info_type, "v ca_bundle_pem fingerprint nats_urls issued_at" },
    { &enrollment_request_type, "id operator reason? force?" },
    { &enrollment_pause_type, "paused operator reason? changed_at" },
    { &enrollment_reply_type, "record? err? warning?" },
    { &enrollment_type,
      "id peel_id public_key curve_public_key state hostname? metadata? created_at updated_at "
      "decided_by? decided_at? reject_reason? issued_at? expires_at? remote_addr? "
      "trusted_ca_spki trust_mismatch trust_checked issuer? sponsor? issue_after?" },
    { &enrollment_challenge_type,
      "challenge_id challenge peel_id public_key issued_at expires_at used" },
    { &fileset_manifest_type, "files revision?" },
    { &fileset_file_type, "key sha256 path? size?" },
    { &signature_tree_type, "revision time signature" },
    { &fileset_update_type, "force? operator?" },
    { &fileset_update_reply_type, "master sets trees? check?" },
    { &fileset_outcome_type, "name files changed err? skipped? note?" },
    { &fileset_status_reply_type, "master hostname since_unix?" },
    { &canary_type, "target groups? phase since_unix operator ended_by? base manifest" },
    { &canary_request_type, "act target? operator?" },
    { &canary_reply_type, "master active phase? target? since_unix? operator? base? revision? "
                          "peels following published? files? err? trees?" },
    { &question_resolve_type, "expr type? basket? scope?" },
    { &question_resolved_type, "peels? basket? err? invalid? pending? warning?" },
    { &question_test_type, "key data?" },
    { &question_tested_type, "matched err?" },
    { &question_match_type, "rule actions? errors?" },
    { &update_manifest_type,
      "version component goos goarch sha256 size object_key published "
      "publisher min_protocol? promoted? promotions? expires_at? key? signature?" },
    { &update_command_type,
      "command version component sha256 object_key goos? goarch? size? soak? key? signature?" },
    { &update_response_type,
      "status version hash error state uptime running_version soak_passed failed_version?" },
    { &update_node_type, "id component version state goos goarch updated_at child_pid child_uptime "
                         "degraded? protocol? veto?" },
    { &update_plan_type, "version component target batch_size batch_percent soak_time batch_pause "
                         "max_failed dry_run rollout_id? promotion?" },
    { &update_rollout_type,
      "id config state batches node_results current_batch started_at finished_at? failed_count "
      "error? driver_id? driver_heartbeat? pause_until? operator?" },
    { &update_result_type, "node id status error? note? updated" },
    { &update_start_type, "config operator?" },
    { &update_started_type, "id? batches nodes error? state?" },
    { &update_abort_type, "rollout_id operator?" },
    { &update_aborted_type, "error?" },
};

TEST(the_keys_of_every_message_are_the_documented_ones_in_their_order)
{
    for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
        AUTO_BUF struct buf keys = BUF_INIT(BYTES_MAX);

        for (const struct record_field *f = messages[i].type->fields; f->name; f++)
            buf_printf(&keys, "%s%s%s", keys.n > 0 ? " " : "", f->name,
                       f->flags & RECORD_OMIT ? "?" : "");
        CHECK_STR(buf_text(&keys), messages[i].keys);
    }
}

TEST(an_empty_message_has_every_key_that_is_not_left_out)
{
    for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const void *record = arena_zalloc(&arena, messages[i].type->size);
        struct value v = record_value(&arena, messages[i].type, record);
        size_t expected = 0;

        for (const struct record_field *f = messages[i].type->fields; f->name; f++)
            expected += !(f->flags & RECORD_OMIT);
        CHECK_INT(v.map->count, expected);
    }
}

static int decode(struct arena *arena, const struct record_type *type, const char *hex, void *ret,
                  struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BYTES_MAX);
    struct err wrong;

    CHECK_INT(hex_decode(str_from(hex), &bytes, &wrong), 0);
    return record_decode(arena, type, 1, buf_copy(&bytes, arena), ret, err);
}

TEST(reading_is_lenient_about_presence_and_strict_about_types)
{
    /* clang-format off */
    static const struct {
        const char *what, *hex;
        int result;
    } cases[] = {
        { "nil is an empty message", "c0", 0 },
        { "an empty map", "80", 0 },
        { "an unknown key", "82a178c3a26964a149", 0 },
        { "bytes behind the map", "81a26964a149ffff", 0 },
        { "a time that is an integer", "81a2747301", -1 },
        { "a number that is a text", "81a176a131", -1 },
        { "a number that is a float", "81a176cb3ff0000000000000", -1 },
        { "data that is a list", "81a46461746190", -1 },
        { "a map that ends too early", "82a26964a149", -1 },
        { "not a map", "91a149", -1 },
        { "nothing at all", "", -1 },
    };
    /* clang-format on */

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct event event = { 0 };
        struct err err;

        if (decode(&arena, &event_type, cases[i].hex, &event, &err) != cases[i].result)
            print_error("%s\n", cases[i].what);
        CHECK_INT(decode(&arena, &event_type, cases[i].hex, &event, &err), cases[i].result);
    }
}

TEST(a_job_comes_back_as_it_was)
{
    static const char *const targets[] = { "a", "b" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(BYTES_MAX);
    const struct job job = { .jid = "J",
                             .function = "state.apply",
                             .targets = { 2, targets },
                             .timeout = 60000000000,
                             .status = JOB_PARTIAL,
                             .epoch = 12,
                             .deadline = { .seconds = 99, .nanoseconds = 1 },
                             .v = 1 };
    struct job back = { 0 };
    struct err err;

    CHECK_INT(record_encode(&bytes, &job_type, &job, &err), 0);
    CHECK_INT(record_decode(&arena, &job_type, 1, buf_view(&bytes), &back, &err), 0);
    CHECK_STR(back.function, "state.apply");
    CHECK_INT(back.targets.n, 2);
    CHECK_STR(back.targets.p[1], "b");
    CHECK_INT(back.timeout, 60000000000);
    CHECK_INT(back.status, JOB_PARTIAL);
    CHECK_INT(back.epoch, 12);
    CHECK_INT(back.deadline.seconds, 99);
    CHECK_INT(back.deadline.nanoseconds, 1);
    CHECK_STR(back.user, "");
}

TEST(only_the_documented_transitions_of_an_enrollment_are_allowed)
{
    static const char *const allowed[] = { "pending>approved", "pending>rejected",
                                           "approved>issued",  "approved>revoked",
                                           "issued>active",    "issued>revoked",
                                           "active>revoked" };

    for (int from = 0; from < ENROLLMENT_STATES; from++)
        for (int to = 0; to < ENROLLMENT_STATES; to++) {
            char text[40];
            bool expected = false;

            (void)snprintf(text, sizeof(text), "%s>%s",
                           enrollment_state_name((enum enrollment_state)from),
                           enrollment_state_name((enum enrollment_state)to));
            for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
                expected |= strcmp(allowed[i], text) == 0;
            CHECK_INT(enrollment_may_follow((enum enrollment_state)from, (enum enrollment_state)to),
                      expected);
        }
}
