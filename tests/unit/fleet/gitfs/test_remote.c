#include "fleet/gitfs/remote.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "test.h"

/* NULL: it is accepted; else a part of the reason. */
static const struct {
    const char *url, *why;
} urls[] = {
    { "https://git.example.org/team/web.git", NULL },
    { "https://user:token@git.example.org:8443/web", NULL },
    { "ssh://git@git.example.org:2222/web.git", NULL },
    { "git@git.example.org:team/web.git", NULL },
    { "host:web", NULL },
    { "file:///srv/git/web.git", NULL },
    { "", "1 to" },
    { "-oProxyCommand=id", "begin with '-'" },
    { "--upload-pack=id", "begin with '-'" },
    { "ext::sh -c id", "run a command" },
    { "fd::17", "run a command" },
    { "https::https://host/x", "run a command" },
    { "https://host/a b", "blanks" },
    { "https://host/a\nb", "blanks" },
    { "ssh://-oProxyCommand=id/x", "begin with '-'" },
    { "ssh://-u@host/x", "begin with '-'" },
    { "-u@host:x", "begin with '-'" },
    { "u@-host:x", "begin with '-'" },
    { "https:///web.git", "names a host" },
    { "https://:80/web.git", "names a host" },
    { "http://host/web.git", "not accepted" },
    { "git://host/web.git", "not accepted" },
    { "HTTPS://host/web.git", "not accepted" },
    { "file://host/web.git", "not accepted" },
    { "/srv/git/web.git", "not accepted" },
    { "../web.git", "not accepted" },
    { "web.git", "not accepted" },
};

TEST(urls_are_accepted_that_run_nothing_and_that_nobody_between_can_change)
{
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct err err = { .text = "" };
        const int result = remote_check_url(urls[i].url, &err);

        if ((result == 0) != !urls[i].why || (urls[i].why && !strstr(err.text, urls[i].why)))
            fail_msg("'%s': %d %s", urls[i].url, result, err.text);
    }
}

static const struct {
    const char *url, *name;
} names[] = {
    { "https://git.example.org/team/web.git", "web" },
    { "https://git.example.org/team/web/", "web" },
    { "git@git.example.org:web.git", "web" },
    { "host:web", "web" },
    { "file:///srv/git/my.states.git", "my.states" },
    { "file:///srv/git/.git", NULL },
    { "https://host/.hidden", NULL },
    { "https://host/a%20b", NULL },
    { "https://host/__pycache__", NULL },
};

TEST(the_name_of_a_remote_is_the_last_part_of_its_url)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *name = remote_name_of(&arena, names[i].url);

        if (!name != !names[i].name || (name && strcmp(name, names[i].name) != 0))
            fail_msg("'%s': %s", names[i].url, name ? name : "none");
    }
}

TEST(passwords_and_tokens_of_urls_are_masked)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *url = "https://me:s3cret@host/web.git";

    CHECK_STR(remote_show_url(&arena, url), "https://********@host/web.git");
    CHECK_STR(remote_show_url(&arena, "https://ghp_token@host/x"), "https://********@host/x");
    CHECK_STR(remote_show_url(&arena, "ssh://git@host/x"), "ssh://git@host/x");
    CHECK_STR(remote_show_url(&arena, "git@host:x"), "git@host:x");
    CHECK_STR(remote_mask(&arena, url, STR("cannot read s3cret for https://me@host")),
              "cannot read ******** for https://me@host");
}

static struct remotes read_list(struct arena *arena, const char *text, struct diags *diags)
{
    struct value *v = ARENA_NEW(arena, struct value);
    struct remotes remotes;

    if (yaml_parse(arena, "master.yaml", str_from(text), NULL, v, diags) < 0)
        fail_msg("the case has no YAML");
    (void)remote_read_list(arena, v, "/etc/key", &remotes, diags);
    return remotes;
}

TEST(remotes_are_texts_or_maps)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    const struct remotes remotes =
        read_list(&arena,
                  "- https://host/web.git\n"
                  "- {url: 'git@host:infra', branch: prod, root: ./salt//states/, name: base,\n"
                  "   ssh_key: /etc/other, force_push: refuse}\n"
                  "- {url: 'file:///x/y', root: .}\n",
                  &diags);

    CHECK(diags_count(&diags) == 0);
    CHECK(remotes.list.n == 3);
    CHECK_STR(remotes.list.p[0].name, "web");
    CHECK(!remotes.list.p[0].branch && !remotes.list.p[0].root);
    CHECK_STR(remotes.list.p[0].ssh_key, "/etc/key");
    CHECK_STR(remotes.list.p[1].name, "base");
    CHECK_STR(remotes.list.p[1].branch, "prod");
    CHECK_STR(remotes.list.p[1].root, "salt/states");
    CHECK_STR(remotes.list.p[1].ssh_key, "/etc/other");
    CHECK(remotes.list.p[1].force_push == REMOTE_REFUSE);
    CHECK(!remotes.list.p[2].root);
}

/* Each is one mistake, at this line. */
static const struct {
    const char *text;
    unsigned line;
    const char *why;
} mistakes[] = {
    { "- https://host/a\n- ext::id", 2, "run a command" },
    { "- https://host/a\n- https://other/a.git", 2, "two remotes are called 'a'" },
    { "- https://host/a\n- https://other/A.git", 2, "two remotes are called 'A'" },
    { "- 7", 1, "a URL, or a map" },
    { "- {branch: x}", 1, "url" },
    { "- {url: 'https://host/a', branch: '-x'}", 1, "'branch'" },
    { "- {url: 'https://host/a', branch: 'a:b'}", 1, "'branch'" },
    { "- {url: 'https://host/a', root: ../x}", 1, "'root'" },
    { "- {url: 'https://host/a', root: /x}", 1, "'root'" },
    { "- {url: 'https://host/a', name: ../x}", 1, "'name'" },
    { "- {url: 'https://host/a', name: .x}", 1, "'name'" },
    { "- {url: 'https://host/a', mountpoint: 'salt://x'}", 1, "'name' says which" },
    { "- {url: 'https://host/a', bransh: x}", 1, "bransh" },
    { "- https://host/a: [{root: x}]", 1, "the value of 'url'" },
    { "- {url: 'https://host/a', ssh_key: \"/a'b\"}", 1, "quotes" },
    { "- https://host/", 1, "add 'name'" },
};

TEST(mistakes_in_remotes_are_reported_at_their_place)
{
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct diags diags = DIAGS_INIT(&arena);

        (void)read_list(&arena, mistakes[i].text, &diags);
        if (diags_count(&diags) != 1 || diags.list.p[0].at.line != mistakes[i].line ||
            !strstr(diags.list.p[0].text, mistakes[i].why))
            fail_msg("'%s': %zu mistakes, %s", mistakes[i].text, diags_count(&diags),
                     diags.list.n ? diags.list.p[0].text : "");
    }
}
