#include "fleet/ssh/message.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "test.h"

#define SUM "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

TEST(the_tables_of_messages_are_sound)
{
    struct err err;

    assert_int_equal(record_check(&ssh_hello_type, &err), 0);
    assert_int_equal(record_check(&ssh_request_type, &err), 0);
}

TEST(a_request_comes_back_as_it_was_sent)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(SSH_REQUEST_MAX);
    const struct value empty = value_map(value_map_new(&arena, 0));
    const char *const secrets[] = { "hunter2" };
    struct ssh_request sent = { .v = SSH_MESSAGE_VERSION,
                                .peel = "web-01",
                                .request = { .module = "state.apply", .id = "web", .jid = "" },
                                .facts = empty,
                                .settings = empty,
                                .secrets = { 1, secrets },
                                .has_tree = true,
                                .data_dir = "" };
    struct ssh_request got;
    struct err err;

    sent.request.plan = sent.request.window = sent.request.user = "";
    VEC_PUSH_IN(&arena, &sent.files.list, (struct ssh_file){ "a/b.zy", SUM, 7 });
    assert_int_equal(record_encode(&bytes, &ssh_request_type, &sent, &err), 0);
    assert_int_equal(record_decode(&arena, &ssh_request_type, 1, buf_view(&bytes), &got, &err), 0);
    assert_int_equal(ssh_request_check(&got, &err), 0);
    assert_string_equal(got.request.module, "state.apply");
    assert_string_equal(got.secrets.p[0], "hunter2");
    assert_string_equal(got.files.list.p[0].path, "a/b.zy");
    assert_true(got.has_tree && got.files.list.p[0].size == 7);
}

static const struct {
    const char *paths[2], *sum;
    bool ok;
} trees[] = {
    { { "a", "b" }, SUM, true },
    { { "a/b", "a/c" }, SUM, true },
    { { "b", "a" }, SUM, false },
    { { "a", "a" }, SUM, false },
    { { "a", "../b" }, SUM, false },
    { { "/a", "b" }, SUM, false },
    { { "a//b", "b" }, SUM, false },
    { { "a", "b" }, "00", false },
    { { "a", "b" },
      "../../../../../../../../../../../../../../../../../../../../../../../x",
      false },
};

TEST(files_that_could_leave_the_tree_or_are_there_twice_are_refused)
{
    for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct ssh_request request = { .peel = "a" };
        struct err err;

        for (size_t j = 0; j < ARRAY_LEN(trees[i].paths); j++)
            VEC_PUSH_IN(&arena, &request.files.list,
                        (struct ssh_file){ trees[i].paths[j], trees[i].sum, 1 });
        assert_int_equal(ssh_request_check(&request, &err), trees[i].ok ? 0 : -1);
    }
}

TEST(a_machine_can_ask_for_no_more_files_than_there_are)
{
    struct err err;

    assert_int_equal(ssh_want_check(STR("yn"), 2, &err), 0);
    assert_int_equal(ssh_want_check(STR(""), 0, &err), 0);
    assert_int_equal(ssh_want_check(STR("yny"), 2, &err), -1);
    assert_int_equal(ssh_want_check(STR("y"), 2, &err), -1);
    assert_int_equal(ssh_want_check(STR("yx"), 2, &err), -1);
}
