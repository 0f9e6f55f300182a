#include "core/base/err.h"

#include <errno.h>

#include "test.h"

TEST(each_level_puts_its_words_in_front)
{
    struct err err;

    CHECK_INT(err_set(&err, ERR_INVALID, "wants %s", "a path"), -1);
    CHECK_INT(err_wrap(&err, "'%s'", "name"), -1);
    CHECK_INT(err_wrap(&err, "web.sls:%d", 12), -1);
    CHECK_STR(err.text, "web.sls:12: 'name': wants a path");
    CHECK_INT(err.code, ERR_INVALID);
    CHECK_INT(err.errnum, 0);
}

TEST(a_system_error_keeps_its_number_and_reason)
{
    struct err err;

    CHECK_INT(err_sys(&err, ENOSPC, "write '%s'", "/etc/motd"), -1);
    CHECK_STR(err.text, "write '/etc/motd': No space left on device");
    CHECK_INT(err.code, ERR_SYSTEM);
    CHECK_INT(err.errnum, ENOSPC);
    CHECK_INT(err_wrap(&err, "apply"), -1);
    CHECK_INT(err.errnum, ENOSPC);
    err_sys(&err, 99999, "open");
    CHECK_STR(err.text, "open: unknown error");
}

TEST(when_full_the_newest_words_are_cut_and_the_cause_stays)
{
    char words[400];
    struct err err;

    memset(words, 'w', sizeof(words) - 1);
    words[sizeof(words) - 1] = '\0';
    err_set(&err, ERR_LIMIT, "the cause");
    for (int i = 0; i < 10; i++) {
        err_wrap(&err, "%d%s", i, words);
        CHECK_HAS(err.text, ": the cause");
        CHECK_HAS(err.text, "0www");
        CHECK(strlen(err.text) < ERR_TEXT_SIZE);
    }
    CHECK_INT(strlen(err.text), ERR_TEXT_SIZE - 1);
    CHECK_INT(err.code, ERR_LIMIT);
}

TEST(a_cause_longer_than_the_room_is_cut_at_its_end)
{
    AUTO_BUF struct buf text = BUF_INIT(5000);
    struct err err;

    buf_fill(&text, 'c', 5000);
    err_set(&err, ERR_INVALID, "%s", buf_text(&text));
    CHECK_INT(strlen(err.text), ERR_TEXT_SIZE - 1);
    err_wrap(&err, "lost");
    CHECK_INT(err.text[0], 'c');
    err_sys(&err, ENOENT, "%s", buf_text(&text));
    CHECK_HAS(err.text, "ccc: No such file or directory");
}
