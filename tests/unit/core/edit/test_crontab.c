/* Crontabs: entries with labels among lines that are not ours. */
#include "test.h"

#include "core/edit/crontab.h"

static const char table[] = "SHELL=/bin/sh\n"
                            "# a remark\n"
                            "0 1 * * *  old   command\n"
                            "\n"
                            "# ZESTER_CRON_ID: nightly\n"
                            "# every night\n"
                            "30 2 * * * /bin/nightly --all\n"
                            "@reboot /bin/start\n"
                            "# ZESTER_CRON_ID: off\n"
                            "#DISABLED# * * * * * /bin/off\n"
                            "# ZESTER_CRON_ID: lost\n"
                            "\n"
                            "5 5 * * * /bin/five";

static const char *put(const struct crontab_block *block, const char *lines)
{
    static struct buf out;

    buf_done(&out);
    out = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    crontab_put(str_from(table), block, str_from(lines), &out);
    return buf_text(&out);
}

TEST(fields_that_a_schedule_may_have)
{
    static const struct {
        const char *text;
        enum crontab_field field;
        bool good;
    } cases[] = {
        { "*", CRONTAB_MINUTE, true },
        { "*/5", CRONTAB_MINUTE, true },
        { "0,15-30/5,59", CRONTAB_MINUTE, true },
        { "60", CRONTAB_MINUTE, false },
        { "24", CRONTAB_HOUR, false },
        { "0", CRONTAB_DAYMONTH, false },
        { "31", CRONTAB_DAYMONTH, true },
        { "JAN-mar", CRONTAB_MONTH, true },
        { "mon", CRONTAB_MONTH, false },
        { "sun", CRONTAB_DAYWEEK, true },
        { "7", CRONTAB_DAYWEEK, true },
        { "8", CRONTAB_DAYWEEK, false },
        { "", CRONTAB_HOUR, false },
        { "1,", CRONTAB_HOUR, false },
        { "*/0", CRONTAB_HOUR, false },
        { "1-", CRONTAB_HOUR, false },
        { "0~29", CRONTAB_MINUTE, true },
        { "~", CRONTAB_MINUTE, true },
        { "-1", CRONTAB_MINUTE, false },
        { "99999999999999999999", CRONTAB_MINUTE, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(crontab_is_field(str_from(cases[i].text), cases[i].field), cases[i].good);
}

static const char *with_variable(const char *text, const char *name, const char *line)
{
    static struct buf out;

    buf_done(&out);
    out = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    crontab_set_variable(str_from(text), str_from(name),
                         line ? str_from(line) : (struct str){ NULL, 0 }, &out);
    return buf_text(&out);
}

TEST(variables_precede_the_entries_they_apply_to)
{
    CHECK_STR(with_variable("", "A", "A=1"), "A=1\n");
    CHECK_STR(with_variable("# x\n* * * * * B=2 c", "B", "B=1"), "B=1\n# x\n* * * * * B=2 c");
    CHECK_STR(with_variable("x=1\r\n'A' = 2\r\nA=3\r\n", "A", "A=4"), "x=1\r\nA=4\r\n");
    CHECK_STR(with_variable("AA=1\n\"A\"=2", "A", NULL), "AA=1\n");
    CHECK_STR(with_variable("# A=1\n", "A", NULL), "# A=1\n");
    CHECK_STR(with_variable("A=1", "A", "A=2"), "A=2\n");
    CHECK(!crontab_variable(STR("=1\n* * * * * x\n"), STR("A")).p);
}

TEST(lines_that_are_entries)
{
    struct crontab_entry entry;

    CHECK(crontab_parse(STR("*/5 0-6,12 1 jan mon  ls  -l "), &entry));
    CHECK(str_is(entry.schedule, "*/5 0-6,12 1 jan mon"));
    CHECK(str_is(entry.command, "ls  -l"));
    CHECK(crontab_parse(STR("@daily x"), &entry) && str_is(entry.schedule, "@daily"));
    CHECK(!crontab_parse(STR("PATH=/bin:/usr/bin x y z a b c"), &entry));
    CHECK(!crontab_parse(STR("# 1 2 3 4 5 x"), &entry));
    CHECK(!crontab_parse(STR("1 2 3 4 5"), &entry));
    CHECK(!crontab_parse(STR(""), &entry));
    CHECK(!crontab_parse(STR("@reboot"), &entry));
    CHECK(crontab_parse(STR("#DISABLED# 1 2 3 4 5 x"), &entry) && entry.disabled);
}

TEST(a_label_finds_its_block_with_its_comments)
{
    struct crontab_block block;

    CHECK(crontab_find(str_from(table), STR("nightly"), STR("something else"), &block));
    CHECK(block.marked);
    CHECK(str_is(block.comment, "# every night\n"));
    CHECK(str_is(block.entry.command, "/bin/nightly --all"));
    CHECK(str_starts(str_from_offset(str_from(table), block.at), STR("# ZESTER_CRON_ID: nightly")));
    CHECK(crontab_find(str_from(table), STR("off"), STR(""), &block) && block.entry.disabled);
}

TEST(an_entry_without_label_is_found_by_its_command_blanks_aside)
{
    struct crontab_block block;

    CHECK(crontab_find(str_from(table), STR("new"), STR("old command"), &block));
    CHECK(!block.marked);
    CHECK(str_is(str_slice(str_from(table), block.at, block.size), "0 1 * * *  old   command\n"));
    /* what has another label is not taken over */
    CHECK(!crontab_find(str_from(table), STR("new"), STR("/bin/nightly --all"), &block));
}

TEST(a_label_that_lost_its_entry_owns_nothing)
{
    struct crontab_block block;

    CHECK(!crontab_find(str_from(table), STR("lost"), STR(""), &block));
    CHECK(crontab_find(str_from(table), STR("x"), STR("/bin/five"), &block) && !block.marked);
}

TEST(a_block_is_replaced_and_removed_and_added)
{
    struct crontab_block block;

    CHECK(crontab_find(str_from(table), STR("nightly"), STR(""), &block));
    CHECK_HAS(put(&block, "NEW\n"), "old   command\n\nNEW\n@reboot /bin/start\n");
    CHECK_HAS(put(&block, ""), "old   command\n\n@reboot /bin/start\n");
    CHECK_HAS(put(NULL, "NEW\n"), "5 5 * * * /bin/five\nNEW\n");
    CHECK_STR(put(NULL, ""), table);
}

TEST(a_printed_block_reads_back)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct crontab_entry entry = { STR("1 2 3 4 5"), STR("x y"), true };
    struct crontab_block block;

    crontab_print(STR("a b"), STR("one\ntwo"), &entry, &out);
    CHECK_STR(buf_text(&out), "# ZESTER_CRON_ID: a b\n# one\n# two\n#DISABLED# 1 2 3 4 5 x y\n");
    CHECK(crontab_find(buf_view(&out), STR("a b"), STR(""), &block));
    CHECK_INT(block.size, out.n);
}

TEST(an_entry_with_the_label_of_salt_is_printed_as_salt_does_it)
{
    const struct crontab_entry entry = { STR("* * * * *"), STR("x"), true };
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);
    struct crontab_block block;

    crontab_print_salts(STR("a"), STR("one"), &entry, &out);
    crontab_print_salts(STR("b"), STR(""), &entry, &out);
    CHECK_STR(buf_text(&out), "# one SALT_CRON_IDENTIFIER:a\n#DISABLED#* * * * * x\n"
                              "# SALT_CRON_IDENTIFIER:b\n#DISABLED#* * * * * x\n");
    CHECK(crontab_find(buf_view(&out), STR("b"), STR(""), &block));
    CHECK(block.salts && block.entry.disabled);
    CHECK(str_is(block.entry.command, "x"));
}

TEST(an_entry_with_the_label_of_salt_is_found_and_not_added_again)
{
    static const char text[] = "# Lines below here are managed by Salt, do not edit\n"
                               "# every night SALT_CRON_IDENTIFIER:backup\n"
                               "0 3 * * * /usr/local/bin/backup --old\n";
    struct crontab_block block;

    CHECK(crontab_find(str_from(text), STR("backup"), STR("/usr/local/bin/backup"), &block));
    CHECK(block.marked);
    CHECK(str_is(block.entry.command, "/usr/local/bin/backup --old"));
    CHECK(!crontab_find(str_from(text), STR("other"), STR("x"), &block));
}
