/* Top files of Salt in our form. */
#include "commands/migrate/salt_top.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/yaml.h"
#include "core/data/yaml_print.h"
#include "test.h"

static int run_case(const struct golden *golden, struct buf *out)
{
    const struct yaml_options options = { .dialect = YAML_DIALECT_SALT };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags remarks = DIAGS_INIT(&arena);
    struct value top, result;
    struct err err;

    CHECK_INT(yaml_parse(&arena, "top", golden_section(golden, "top"), &options, &top, &remarks),
              0);
    result = salt_top_convert(&arena, &top, &remarks);
    CHECK_INT(yaml_print(out, &result, &err), 0);
    VEC_EACH (&remarks.list, remark)
        buf_printf(out, "%u: %s\n", remark->at.line, remark->text);
    return 0;
}

TEST(types_of_targets_become_letters_and_remarks_say_what_is_missing)
{
    test_golden("commands/migrate/top.txt", run_case);
}
