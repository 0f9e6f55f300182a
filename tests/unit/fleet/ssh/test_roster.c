#include "fleet/ssh/roster.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "test.h"

static const char example[] = "web-01: 192.0.2.7\n"
                              "db-01:\n"
                              "  host: db.example.com\n"
                              "  user: deploy\n"
                              "  port: 2222\n"
                              "  priv: /root/.ssh/db\n"
                              "  sudo: yes\n"
                              "  timeout: 5\n"
                              "  ssh_options: [ProxyJump=gate]\n"
                              "  facts: {roles: [db]}\n"
                              "mail.example.com:\n";

static void read_roster(struct arena *arena, const char *text, struct ssh_machines *ret)
{
    struct diags diags = DIAGS_INIT(arena);

    assert_int_equal(ssh_roster_parse(arena, "roster", str_from(text), ret, &diags), 0);
}

TEST(a_machine_has_an_address_or_keys_and_its_name_is_the_default_host)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct ssh_machines machines;
    const struct ssh_machine *db;

    read_roster(&arena, example, &machines);
    assert_int_equal(machines.list.n, 3);
    assert_string_equal(machines.list.p[0].host, "192.0.2.7");
    assert_int_equal(machines.list.p[0].timeout, INT64_C(30) * 1000000000);
    db = &machines.list.p[1];
    assert_string_equal(db->user, "deploy");
    assert_string_equal(db->identity, "/root/.ssh/db");
    assert_true(db->sudo && db->port == 2222 && db->timeout == INT64_C(5) * 1000000000);
    assert_string_equal(db->options.p[0], "ProxyJump=gate");
    assert_string_equal(value_get_text(db->facts, "id"), "db-01");
    assert_string_equal(machines.list.p[2].host, "mail.example.com");
    assert_string_equal(machines.list.p[2].id, "mail_example_com");
}

/* NULL: it is accepted; else a part of the reason. */
static const struct {
    const char *text, *why;
} rosters[] = {
    { "", NULL },
    { "a: b\n", NULL },
    { "a: {host: '2001:db8::1'}\n", NULL },
    { "a: {options: ['StrictHostKeyChecking=accept-new', 'UserKnownHostsFile ~/.ssh/fleet']}\n",
      NULL },
    { "- a\n", "a roster is a map" },
    { "a: 3.5\n", "neither an address nor a map" },
    { "1: b\n", "must be text" },
    { "a_b: c\n", "a_b" },
    { "a: {hots: b}\n", "did you mean 'host'" },
    { "a: {host: -oProxyCommand=id}\n", "may not begin with '-'" },
    { "a: {host: 'b c'}\n", "no name has" },
    { "a: {host: \"b\\nc\"}\n", "no name has" },
    { "a: {user: '-l'}\n", "'user' may not begin" },
    { "a: {sudo: true, sudo_user: \"x'y\"}\n", "'sudo_user' has a character" },
    { "a: {sudo_user: www}\n", "without 'sudo: true'" },
    { "a: {identity: -F}\n", "not a path" },
    { "a: {port: 0}\n", "port" },
    { "a: {timeout: 0}\n", "timeout" },
    { "a: {passwd: x}\n", "never stored" },
    { "a: {minion_opts: {x: 1}}\n", "there is no minion" },
    { "a: {facts: [1]}\n", "facts" },
    { "a: {options: ['StrictHostKeyChecking=no']}\n", "always checked" },
    { "a: {options: ['stricthostkeychecking off']}\n", "always checked" },
    { "a: {options: ['UserKnownHostsFile=/dev/null']}\n", "always checked" },
    { "a: {options: ['NoHostAuthenticationForLocalhost=yes']}\n", "itself" },
    { "a: {options: ['batchmode = no']}\n", "itself" },
    { "a: {options: ['ConnectTimeout=1']}\n", "'timeout' instead" },
    { "a: {options: ['-oX=y']}\n", "KEY=VALUE" },
    { "a: {options: [Port]}\n", "KEY=VALUE" },
    { "a: {data_dir: relative}\n", "data_dir" },
};

TEST(a_roster_can_neither_pass_options_to_ssh_nor_switch_off_its_checks)
{
    for (size_t i = 0; i < ARRAY_LEN(rosters); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
        struct diags diags = DIAGS_INIT(&arena);
        struct ssh_machines machines;
        const int rc =
            ssh_roster_parse(&arena, "roster", str_from(rosters[i].text), &machines, &diags);

        diags_print(&diags, &text);
        if ((rc == 0) != !rosters[i].why ||
            (rosters[i].why && !strstr(buf_text(&text), rosters[i].why)))
            fail_msg("%s: %d %s", rosters[i].text, rc, buf_text(&text));
    }
}

static const struct {
    const char *target, *names;
} targets[] = {
    { "*", "web-01 db-01 mail.example.com " },
    { "db-01,web*", "web-01 db-01 " },
    { "E@^(web|mail)", "web-01 mail.example.com " },
    { "G@roles:db", "db-01 " },
    { "not G@roles:db", "web-01 mail.example.com " },
    { "N@data", "db-01 " },
    { "nobody", "" },
};

TEST(targets_mean_machines_by_name_fact_and_group)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *groups = value_map_new(&arena, 1);
    const struct value named = value_map(groups);
    struct ssh_machines machines, found;
    struct err err;

    value_map_set(&arena, groups, value_text("data"), value_text("G@roles:db"));
    read_roster(&arena, example, &machines);
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        AUTO_BUF struct buf names = BUF_INIT(BUF_NO_LIMIT);

        assert_int_equal(
            ssh_roster_find(&arena, &machines, targets[i].target, &named, &found, &err), 0);
        VEC_EACH (&found.list, machine)
            buf_printf(&names, "%s ", machine->name);
        assert_string_equal(buf_text(&names), targets[i].names);
    }
    assert_int_equal(ssh_roster_find(&arena, &machines, "I@a:b", &named, &found, &err), -1);
    assert_int_equal(ssh_roster_find(&arena, &machines, "(", &named, &found, &err), -1);
}
