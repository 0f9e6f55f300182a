/* Any bytes are a record of the bus, or an error, whichever kind is expected there; one that was
 * read is written in a form that is read as the same. */
#include <assert.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/wire/approval.h"
#include "fleet/wire/enrollment.h"
#include "fleet/wire/event.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/fileset.h"
#include "fleet/wire/job.h"
#include "fleet/wire/job_cancel.h"
#include "fleet/wire/liveness.h"
#include "fleet/wire/operator.h"
#include "fleet/wire/outcome.h"
#include "fleet/wire/question.h"
#include "fleet/wire/signature.h"

#define RECORD_MAX ((size_t)1 << 20)

static const struct record_type *const types[] = {
    &enrollment_type,
    &enrollment_challenge_type,
    &enrollment_request_type,
    &enrollment_reply_type,
    &event_type,
    &exec_request_type,
    &exec_result_type,
    &exec_response_type,
    &exec_return_type,
    &exec_ack_type,
    &exec_progress_type,
    &fileset_manifest_type,
    &signature_tree_type,
    &fileset_update_type,
    &fileset_update_reply_type,
    &fileset_status_reply_type,
    &job_type,
    &job_event_type,
    &job_active_type,
    &job_scheduled_type,
    &job_reply_type,
    &job_cancel_type,
    &operator_policy_type,
    &operator_removal_type,
    &approval_type,
    &approval_request_type,
    &liveness_master_type,
    &liveness_peel_type,
    &outcome_type,
    &question_resolve_type,
    &question_resolved_type,
    &question_settings_type,
    &question_shown_type,
    &question_retry_type,
    &question_retried_type,
    &question_test_type,
    &question_tested_type,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* False: it is not a record of this type. */
static bool read_and_write(struct arena *arena, const struct record_type *type, struct str bytes,
                           struct buf *out)
{
    void *record = arena_zalloc(arena, type->size);
    struct err err;

    return record_decode(arena, type, 1, bytes, record, &err) == 0 &&
           record_encode(out, type, record, &err) == 0;
}

static void try_type(const struct record_type *type, struct str bytes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf first = BUF_INIT(RECORD_MAX), second = BUF_INIT(RECORD_MAX);
    bool is_same;

    if (!read_and_write(&arena, type, bytes, &first))
        return;
    is_same = read_and_write(&arena, type, buf_view(&first), &second) &&
              str_eq(buf_view(&first), buf_view(&second));
    assert(is_same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str bytes = str_bytes(data, size);

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        try_type(types[i], bytes);
    return 0;
}
