/* Any bytes are frames of a server, or an error; frames do not depend on how the bytes come, and
 * views stay within the input. Headers, JWTs, credentials and keys are tried on the same bytes. */
#include <assert.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/nats/creds.h"
#include "fleet/nats/header.h"
#include "fleet/nats/jwt.h"
#include "fleet/nats/parser.h"
#include "fleet/nats/subject.h"

#define PAYLOAD_MAX ((size_t)1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_within(struct str input, struct str view)
{
    assert(view.n == 0 || (view.p >= input.p && view.p + view.n <= input.p + input.n));
}

static void try_header(struct str block)
{
    struct str name, value;
    size_t at = 0, before = 0;

    (void)nats_header_status(block, &value);
    while (nats_header_next(block, &at, &name, &value)) {
        check_within(block, name);
        check_within(block, value);
        assert(at > before);
        before = at;
    }
}

/* How many bytes became frames before the end or an error. */
static size_t parse(struct str input, size_t step)
{
    struct nats_parser parser;
    size_t have = 0, begin = 0, used;

    nats_parser_init(&parser, PAYLOAD_MAX);
    while (have < input.n) {
        struct nats_frame frame;
        struct err err;

        have = input.n - have < step ? input.n : have + step;
        do {
            if (nats_parser_next(&parser, str_slice(input, begin, have - begin), &frame, &used,
                                 &err) < 0)
                return begin;
            begin += used;
            assert(begin <= have && (frame.kind || used == 0));
            if (frame.kind == NATS_FRAME_MSG) {
                check_within(input, frame.payload);
                try_header(frame.header);
            }
        } while (frame.kind);
    }
    return begin;
}

static void try_texts(struct str input)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct nats_creds creds;
    struct value claims;
    struct err err;
    bool plain = nats_subject_is_plain(input);

    assert(!plain || nats_subject_is_pattern(input));
    assert(!plain || nats_subject_match(STR(">"), input));
    (void)nats_jwt_decode(&arena, input, &claims, &err);
    if (nats_creds_parse(input, &creds, &err) == 0)
        nats_creds_done(&creds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = { (const char *)data, size };
    size_t whole = parse(input, size + 1), slow = parse(input, 1);

    assert(whole == slow);
    try_header(input);
    try_texts(input);
    return 0;
}
