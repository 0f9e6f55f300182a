#include "core/base/redact.h"

#include "core/base/arena.h"
#include "test.h"

/* The last line of the text, as it is shown. */
static const struct {
    const char *text, *shown;
} cases[] = {
    { "  - name: bob", "  - name: bob" },
    { "  password: hunter2", "  password: ********" },
    { "  u.presnt: {name: bob, password: hunter2, uid: 1}",
      "  u.presnt: {name: bob, password: ********" },
    { "  \"DB_PASSWORD\" : 'a b'", "  \"DB_PASSWORD\" : ********" },
    { "export API_KEY=abc", "export API_KEY=********" },
    { "{% set root_passwd = 'x' %}", "{% set root_passwd = ********" },
    { "  key: !secret hunter2", "  key: !secret ********" },
    { "  key: !secret", "  key: !secret" },
    /* names of secrets are not secrets */
    { "  password: {{ pillar['db']['password'] }}", "  password: {{ pillar['db']['password'] }}" },
    { "  password: '{{ pillar.pw }}'", "  password: '{{ pillar.pw }}'" },
    { "  password: {{ a }}hunter2{{ b }}", "  password: ********" },
    { "{% if token == 'x' %}", "{% if token == 'x' %}" },
    { "  - the password is in the vault", "  - the password is in the vault" },
    /* values of several lines */
    { "  password: |\n    hunter2", "    ********" },
    { "tokens:\n  - a\n  - b", "  - ********" },
    { "tokens:\n- a\n- b", "- ********" },
    { "  - password: |\n      hunter2", "      ********" },
    { "  - password: x\n    shell: y", "    shell: y" },
    { "tokens:\n  web:\n\n    key: x", "    ********" },
    { "  password: x\n  name: bob", "  name: bob" },
    { "secret: x\nname: bob", "name: bob" },
    { "", "" },
};

TEST(a_line_is_shown_without_its_secrets)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct str text = str_from(cases[i].text);
        size_t at = text.n;

        while (at > 0 && text.p[at - 1] != '\n')
            at--;
        CHECK_STR(redact_line(&arena, text, at).p, cases[i].shown);
    }
}
