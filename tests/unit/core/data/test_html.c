#include "core/data/html.h"

#include "core/base/buf.h"
#include "test.h"

static const struct {
    const char *text, *html;
} cases[] = {
    { "plain text\n\tand layout", "plain text\n\tand layout" },
    { "<script>alert('a' & \"b\")</script>",
      "&lt;script&gt;alert(&#39;a&#39; &amp; &quot;b&quot;)&lt;/script&gt;" },
    { "&lt;", "&amp;lt;" },
    { "\x1b[31m\xff\xc2\x9b\r", "\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
    { "\xe2\x80\xaegnp.exe", "\xef\xbf\xbdgnp.exe" },
    { "gr\xc3\xbc\xc3\x9f \xf0\x9f\x8d\x8b", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x8d\x8b" },
};

TEST(no_text_is_markup_and_nothing_steers_the_reader)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT(1 << 16);

        html_add_text(&out, cases[i].text);
        CHECK_STR(buf_text(&out), cases[i].html);
    }
}

TEST(a_long_text_is_cut_between_characters_and_counts_the_rest)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);

    html_add_cut(&out, STR("ab\xc3\xbc<"), 3);
    CHECK_STR(buf_text(&out), "ab ... (3 bytes more)");
    buf_clear(&out);
    html_add_cut(&out, STR("ab<"), 3);
    CHECK_STR(buf_text(&out), "ab&lt;");
}
