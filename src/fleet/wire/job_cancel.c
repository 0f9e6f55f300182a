#include "fleet/wire/job_cancel.h"

#include <string.h>

#include "core/base/err.h"

/* clang-format off */
static const struct record_field cancel_fields[] = {
    RECORD("action", TEXT, struct job_cancel, action, 0, .fallback_text = ""),
    RECORD("operator", TEXT, struct job_cancel, operator, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

const struct record_type job_cancel_type = RECORD_TYPE("cancel", struct job_cancel, cancel_fields, RECORD_LENIENT);
/* clang-format on */

bool job_cancel_read(struct arena *arena, struct str payload, bool has_header,
                     struct job_cancel *ret)
{
    struct err err;

    *ret = (struct job_cancel){ .action = JOB_ACTION_CANCEL, .operator= "" };
    if (payload.n == 0)
        return !has_header;
    return record_decode(arena, &job_cancel_type, 0, payload, ret, &err) == 0 &&
           strcmp(ret->action, JOB_ACTION_CANCEL) == 0;
}
