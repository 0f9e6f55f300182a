#include "states/modules/pip/release.h"

#include "core/base/buf.h"
#include "test.h"

TEST(versions_match_as_pep_440_reads_them)
{
    static const struct {
        const char *have, *wanted;
        bool same;
    } cases[] = {
        { "2.0", "2.0", true },
        { "12.0", "2.0", false },
        { "2.0", "12.0", false },
        { "2.0", "2.0.0", true },
        { "2", "v2.0.0", true },
        { "2.0.1", "2.0", false },
        { "2.00.01", "2.0.1", true },
        { "1!2.0", "2.0", false },
        { "0!2.0", "2.0", true },
        { "1.0a1", "1.0-ALPHA.1", true },
        { "1.0a0", "1.0alpha", true },
        { "1.0rc2", "1.0-c_2", true },
        { "1.0rc2", "1.0.preview2", true },
        { "1.0rc2", "1.0", false },
        { "1.0.post1", "1.0-1", true },
        { "1.0.post1", "1.0r1", true },
        { "1.0.post1.dev3", "1.0-1-dev3", true },
        { "1.0.dev3", "1.0dev4", false },
        { "1.0+local.1", "1.0", true },
        { "1.0", "1.0+local.1", false },
        { "1.0+local.1", "1.0+LOCAL-01", true },
        { "1.0+local.1", "1.0+local.2", false },
        { " 1.0 ", "1.0", true },
        { "2004d", "2004d", true },
        { "2004d", "2004", false },
        { "", "0", false },
        { "nonsense", "1", false },
    };

    AUTO_BUF struct buf wrong = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (release_matches(str_from(cases[i].have), str_from(cases[i].wanted)) != cases[i].same)
            buf_printf(&wrong, "%s == %s; ", cases[i].have, cases[i].wanted);
    CHECK_STR(buf_text(&wrong), "");
}
