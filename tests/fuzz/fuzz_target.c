/* Any expression is parsed and matched, or refused with a message; a negated one says the opposite.
 * Input: a type, then the expression. */
#include <assert.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "language/target/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char world[] = "os: {name: debian, family: debian}\n"
                            "roles: [web, cache]\n"
                            "ipv4: [10.0.0.1]\n"
                            "version: 1.10.2\n"
                            "groups: {a: N@b or web*, b: 'roles:web', c: N@c}\n";

/* 1, 0, or -1 when it cannot be parsed or takes too long. */
static int ask(struct arena *arena, struct str text, enum target_type type,
               const struct value *facts)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(arena);
    struct target_options options = { .groups = value_get(facts, "groups") };
    struct target_subject subject = { STR("web1.example.com"), facts, facts };
    const struct target *target;
    struct err err;
    bool matches;

    if (target_parse(arena, text, type, &options, &target, &diags) < 0) {
        assert(diags_count(&diags) > 0);
        diags_print(&diags, &out);
        return -1;
    }
    assert(diags_count(&diags) == 0);
    return target_match(target, &subject, &matches, &err) < 0 ? -1 : matches;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf negated = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct value facts;
    struct str text;
    int answer, opposite;

    if (size == 0)
        return 0;
    if (yaml_parse(&arena, "world", str_from(world), NULL, &facts, &diags) < 0)
        __builtin_trap();
    text = str_bytes(data + 1, size - 1);
    answer = ask(&arena, text, (enum target_type)(data[0] % TARGET_TYPES), &facts);
    if (data[0] % TARGET_TYPES != TARGET_COMPOUND || answer < 0 || size > TARGET_TEXT_MAX / 2)
        return 0;
    buf_add_text(&negated, "not (");
    buf_add_str(&negated, text);
    buf_add_char(&negated, ')');
    opposite = ask(&arena, buf_view(&negated), TARGET_COMPOUND, &facts);
    /* One more level may be too deep, and a word that ends in '(' takes the ')'. */
    assert(opposite < 0 || answer + opposite == 1);
    return 0;
}
