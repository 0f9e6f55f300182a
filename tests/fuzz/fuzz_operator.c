/* Whatever an operator sends is refused, or goes on in their name: no consumer says where its
 * messages go, and no job is somebody else's. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/jobs/policy.h"
#include "fleet/jobs/reading.h"
#include "fleet/bus/operator_form.h"
#include "fleet/wire/operator.h"

#define TEXT_MAX ((size_t)1 << 20)
#define NAME     "alice"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_reading(struct arena *arena, struct str tokens, struct str body)
{
    AUTO_BUF struct buf subject = BUF_INIT(TEXT_MAX), out = BUF_INIT(TEXT_MAX);
    struct reading reading;
    struct value sent;
    struct err err;
    int result;

    if (!reading_parse(tokens, &reading))
        return;
    reading_print_subject(&reading, &subject);
    assert(str_starts(buf_view(&subject), STR("$JS.API.")));
    if (reading_print_body(arena, &reading, body, &out, &err) < 0 ||
        reading.verb != READING_CONSUMER_CREATE)
        return;
    result = json_decode(arena, buf_view(&out), &sent, &err);
    assert(result == 0);
    assert(!value_path(&sent, STR("config.deliver_subject"), '.'));
    assert(!value_path(&sent, STR("config.durable_name"), '.'));
}

static void try_forms(struct arena *arena, struct str body)
{
    for (int kind = 0; kind < SUBJECT_KINDS; kind++) {
        const struct operator_form form = { .kind = (enum subject_kind)kind,
                                            .name = NAME,
                                            .subject = STR("zester.event._admin.send.a.b"),
                                            .payload = body };
        AUTO_BUF struct buf payload = BUF_INIT(TEXT_MAX), header = BUF_INIT(TEXT_MAX);
        struct job job;
        struct err err;

        if (!policy_find_act(form.kind))
            continue;
        (void)operator_form_print(arena, &form, &payload, &header, &err);
        if (operator_form_job(arena, &form, &job, &err) == 0)
            assert(strcmp(job.user, NAME) == 0 &&
                   strcmp(value_get_text(&job.metadata, OPERATOR_METADATA), NAME) == 0);
    }
}

/* A line of tokens, then the body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str body = arena_str(&arena, str_bytes(data, size));
    const struct str tokens = str_cut(&body, '\n');

    if (!body.p)
        body = STR("");
    try_reading(&arena, tokens, body);
    try_forms(&arena, body);
    return 0;
}
