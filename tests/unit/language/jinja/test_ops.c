/* Operations against what Python says: tools/gen-jinja-ops writes the outputs of the files. */
#include "language/jinja/filters/builtins.h"
#include "ops_line.h"

static int run_lines(const struct golden *golden, struct buf *out)
{
    static const struct jinja_options options = { .builtins = &filter_builtins, .lenient = true };
    struct str input = golden_section(golden, "input");

    while (input.n > 0) {
        struct str line = str_cut(&input, '\n');

        if (line.n > 0)
            ops_line(line, &options, out);
    }
    return 0;
}

TEST(operators_match_python)
{
    test_golden("language/jinja/operators.txt", run_lines);
}

TEST(items_attributes_slices_and_texts_are_those_of_python)
{
    test_golden("language/jinja/access.txt", run_lines);
}

TEST(methods_match_python)
{
    test_golden("language/jinja/methods.txt", run_lines);
}

TEST(formats_match_python)
{
    test_golden("language/jinja/formats.txt", run_lines);
}
