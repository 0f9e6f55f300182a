#include "fleet/master/secrets/backend.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "test.h"

/* The back-ends of a text, and its mistakes; "" when there are none. */
static struct backends *read_text(struct arena *arena, const char *text, const char **ret_problem)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);
    struct diags diags = DIAGS_INIT(arena);
    struct backends *backends;
    struct value given;

    CHECK_INT(yaml_parse(arena, "master.yaml", str_from(text), NULL, &given, &diags), 0);
    backends = backends_read(&given, &diags);
    diags_print(&diags, &out);
    *ret_problem = buf_copy(&out, arena).p;
    return backends;
}

static struct backends *read_good(struct arena *arena, const char *text)
{
    const char *problem;
    struct backends *backends = read_text(arena, text, &problem);

    CHECK_STR(problem, "");
    return backends;
}

static const struct {
    const char *text, *problem; /* "": none */
} cases[] = {
    { "a: {kind: file, folder: /etc/x}", "" },
    { "a: {kind: command, command: [pass, show], environment: {HOME: /root}}", "" },
    { "a: {kind: http, url: 'https://vault:8200/v1/secret/data', fields: data.data}", "" },
    { "a: {kind: http, url: 'http://127.0.0.1:8200/v1'}", "" },
    { "A: {kind: file, folder: /etc/x}", "a name has up to 32 of a-z" },
    { "a: {folder: /etc/x}", "expected a 'kind': file, command or http" },
    { "a: {kind: floppy}", "master.yaml:1:11: 'secret_backends': expected a 'kind'" },
    { "a: [1]", "'a' must be a map, got" },
    { "a: {kind: file}", "'folder'" },
    { "a: {kind: file, folder: etc}", "'folder'" },
    { "a: {kind: file, folder: /etc/x, command: [a]}", "'command'" },
    { "a: {kind: command, command: []}", "'command'" },
    { "a: {kind: command, command: [a], environment: {'A=B': c}}", "name of a variable" },
    { "a: {kind: command, command: [a], refresh: 0}", "'refresh'" },
    { "a: {kind: http, url: 'http://vault:8200/v1'}", "the address is not encrypted" },
    { "a: {kind: http, url: 'https://vault:8200/v1?x=1'}", "must end where the path begins" },
    { "a: {kind: http, url: 'https://u@vault/v1'}", "use token_file" },
    { "a: {kind: http, url: 'https://vault/', token_header: 'X: y'}", "not the name of a header" },
};

TEST(mistakes_of_the_configuration_are_reported_at_their_place)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const char *problem;
        struct backends *backends = read_text(&arena, cases[i].text, &problem);

        if (cases[i].problem[0])
            CHECK_HAS(problem, cases[i].problem);
        else
            CHECK_STR(problem, "");
        CHECK_INT(backends_find(backends, STR("a")) != NULL, cases[i].problem[0] == '\0');
        backends_drop(backends);
    }
}

TEST(a_back_end_differs_when_a_key_of_it_does)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct backends *a = read_good(&arena, "{x: {kind: file, folder: /a}, y: {kind: file, "
                                           "folder: /y}}");
    struct backends *b = read_good(&arena, "{y: {folder: /y, kind: file}, x: {kind: file, "
                                           "folder: /b}}");

    CHECK(backends_differ(a, b, STR("x")));
    CHECK(!backends_differ(a, b, STR("y")));
    CHECK(!backends_differ(a, b, STR("z")));
    backends_drop(a);
    backends_drop(b);
}

/* Returns the value of a path, or the error. */
static const char *get_text(struct arena *arena, const struct backend *backend, const char *path)
{
    struct err err;
    struct str text;

    if (backend_get(backend, &(struct backend_call){ .arena = arena, .path = path }, &text, &err) <
        0)
        return arena_printf(arena, "error: %s", err.text);
    return arena_str(arena, text).p;
}

static void write_file(struct arena *arena, const char *name, const char *text, mode_t mode)
{
    const char *path = arena_printf(arena, "%s/%s", test_folder(), name);
    struct err err;

    CHECK_INT(fs_replace(path, str_from(text), NULL, &err), 0);
    CHECK_INT(chmod(path, mode), 0);
}

TEST(files_are_read_only_inside_their_folder_and_with_private_permissions)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    struct backends *backends =
        read_good(&arena, arena_printf(&arena, "a: {kind: file, folder: '%s'}", folder));
    const struct backend *a = backends_find(backends, STR("a"));

    CHECK_INT(mkdir(arena_printf(&arena, "%s/db", folder), 0700), 0);
    CHECK_INT(mkdir(arena_printf(&arena, "%s/open", folder), 0700), 0);
    CHECK_INT(chmod(arena_printf(&arena, "%s/open", folder), 0777), 0);
    write_file(&arena, "db/main", "hunter2\r\n", 0600);
    write_file(&arena, "db/lines", "one\ntwo\n\n", 0400);
    write_file(&arena, "loose", "x", 0640);
    write_file(&arena, "open/x", "x", 0600);
    write_file(&arena, "empty", "\n", 0600);
    write_file(&arena, "bytes", "\xff\xfe", 0600);
    CHECK_INT(symlink("/etc/hostname", arena_printf(&arena, "%s/link", folder)), 0);
    CHECK_INT(symlink("db", arena_printf(&arena, "%s/away", folder)), 0);
    CHECK_INT(mkfifo(arena_printf(&arena, "%s/pipe", folder), 0600), 0);
    CHECK_STR(get_text(&arena, a, "db/main"), "hunter2");
    CHECK_STR(get_text(&arena, a, "db/lines"), "one\ntwo\n");
    CHECK_STR(get_text(&arena, a, "db/none"), "error: no such file");
    CHECK_STR(get_text(&arena, a, "link"), "error: symbolic links are not followed");
    CHECK_HAS(get_text(&arena, a, "away/main"), "error: ");
    CHECK_HAS(get_text(&arena, a, "../x"), "error: the path has a part");
    CHECK_HAS(get_text(&arena, a, "/etc/hostname"), "error: the path has a part");
    CHECK_HAS(get_text(&arena, a, "loose"), "error: unsafe permissions");
    CHECK_HAS(get_text(&arena, a, "open/x"), "error: a parent folder is writable by others");
    CHECK_STR(get_text(&arena, a, "pipe"), "error: not a regular file");
    CHECK_STR(get_text(&arena, a, "db"), "error: not a regular file");
    CHECK_STR(get_text(&arena, a, "empty"), "error: the value is empty");
    CHECK_STR(get_text(&arena, a, "bytes"), "error: the value is not text");
    backends_drop(backends);
}

TEST(a_program_gets_the_path_by_argument_or_stdin_and_a_clean_environment)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct backends *backends = read_good(
        &arena, "last: {kind: command, command: [echo, got]}\n"
                "inside: {kind: command, command: [echo, 'op://{path}!', x]}\n"
                "line: {kind: command, command: [cat], path_as: stdin}\n"
                "first: {kind: command, command: [printf, 'one\\ntwo\\n%s'], first_line: true}\n"
                "env: {kind: command, command: [env], environment: {TOKEN: t, LANG: de}}\n");

    CHECK_INT(setenv("INHERITED", "x", 1), 0);
    CHECK_STR(get_text(&arena, backends_find(backends, STR("last")), "a b/$(c)"), "got a b/$(c)");
    CHECK_STR(get_text(&arena, backends_find(backends, STR("inside")), "v/i"), "op://v/i! x");
    CHECK_STR(get_text(&arena, backends_find(backends, STR("line")), "a/b"), "a/b");
    CHECK_STR(get_text(&arena, backends_find(backends, STR("first")), "x"), "one");
    CHECK_STR(
        get_text(&arena, backends_find(backends, STR("env")), "LAST=1"),
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nTOKEN=t\nLANG=de\n"
        "LAST=1");
    backends_drop(backends);
}

TEST(a_failing_hanging_or_verbose_program_returns_no_value)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct backends *backends = read_good(
        &arena,
        "quiet: {kind: command, command: [sh, -c, 'echo hunter2; echo hunter2 >&2; exit 3']}\n"
        "loud: {kind: command, command: [sh, -c, 'echo denied >&2; exit 3'], log_errors: true}\n"
        "slow: {kind: command, command: [sh, -c, 'sleep 600'], timeout: 100ms}\n"
        "large: {kind: command, command: [sh, -c, 'head -c 70000 /dev/zero']}\n"
        "none: {kind: command, command: [/no/such/program]}\n");
    const int64_t began = clock_now();

    CHECK_STR(get_text(&arena, backends_find(backends, STR("quiet")), "x"),
              "error: 'sh' failed: exit status 3");
    CHECK_STR(get_text(&arena, backends_find(backends, STR("loud")), "x"),
              "error: 'sh' failed: exit status 3: denied");
    CHECK_STR(get_text(&arena, backends_find(backends, STR("slow")), "x"),
              "error: 'sh' was not finished after 0.1 seconds");
    CHECK(clock_now() - began < 300 * CLOCK_SECOND);
    CHECK_STR(get_text(&arena, backends_find(backends, STR("large")), "x"),
              "error: 'sh' printed more than 65536 bytes");
    CHECK_HAS(get_text(&arena, backends_find(backends, STR("none")), "x"), "error: ");
    backends_drop(backends);
}

/* Returns a field of a document, or the error. */
static const char *pick_text(struct arena *arena, const struct backend *backend, const char *doc,
                             const char *field)
{
    struct err err;
    struct str text;

    if (backend_pick(backend, arena, str_from(doc), str_from(field), &text, &err) < 0)
        return arena_printf(arena, "error: %s", err.text);
    return text.p;
}

TEST(a_field_is_taken_from_a_document_and_no_error_quotes_it)
{
    static const char doc[] = "{\"data\": {\"data\": {\"user\": \"u\", \"n\": 7, \"m\": [1], "
                              "\"none\": null, \"empty\": \"\"}}, \"top\": \"t\"}";
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct backends *backends = read_good(&arena, "a: {kind: file, folder: /x, fields: data.data}\n"
                                                  "b: {kind: file, folder: /x}\n");
    const struct backend *a = backends_find(backends, STR("a"));
    const struct backend *b = backends_find(backends, STR("b"));

    CHECK_STR(pick_text(&arena, a, doc, "user"), "u");
    CHECK_STR(pick_text(&arena, a, doc, "n"), "7");
    CHECK_STR(pick_text(&arena, a, doc, "m"), "[1]");
    CHECK_STR(pick_text(&arena, b, doc, "top"), "t");
    CHECK_STR(pick_text(&arena, b, doc, "data.data.user"), "u");
    CHECK_STR(pick_text(&arena, a, doc, "top"), "error: it has no field 'top'");
    CHECK_STR(pick_text(&arena, a, doc, "none"), "error: it has no field 'none'");
    CHECK_STR(pick_text(&arena, a, doc, "empty"), "error: the value is empty");
    CHECK_STR(pick_text(&arena, a, "hunter2", "user"),
              "error: not a JSON map, so it has no field 'user'");
    CHECK_STR(pick_text(&arena, a, "[\"hunter2\"]", "user"),
              "error: not a JSON map, so it has no field 'user'");
    backends_drop(backends);
}
