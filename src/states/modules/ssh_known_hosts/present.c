/* ssh_known_hosts.present - adds the key of a host to known_hosts. */
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/digest.h"
#include "core/base/sha256.h"
#include "core/edit/edit.h"
#include "core/edit/keyfile.h"
#include "core/edit/lines.h"
#include "states/modules/file/editor.h"
#include "states/modules/ssh_known_hosts/knownhosts.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/file/scratch.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/process.h"

#define ARGS struct present_args

#define FILE_MAX ((size_t)16 << 20)

struct present_args {
    const char *name, *user, *key, *enc, *fingerprint, *config;
    int64_t port, timeout;
    enum param_tristate hash;
    int hash_type;
};

enum { FINGERPRINT_SHA256, FINGERPRINT_MD5 };

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", STR, ARGS, name, "the host", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("user", STR, ARGS, user, "the user who owns the file (default: /etc/ssh/ssh_known_hosts)"),
    PARAM("key", STR, ARGS, key, "its public key: base64, or type and base64 (default: ask the host, and verify 'fingerprint')", .flags = PARAM_FILLED),
    PARAM("enc", STR, ARGS, enc, "type of the key", .default_text = "ssh-ed25519"),
    PARAM("fingerprint", STR, ARGS, fingerprint, "fingerprint of the key: SHA256:..., or hexadecimal; MD5:... too", .flags = PARAM_FILLED),
    PARAM("fingerprint_hash_type", CHOICE, ARGS, hash_type, "hash algorithm of the fingerprint", .choices = "sha256|md5", .default_text = "sha256"),
    PARAM("port", INT, ARGS, port, "port of the host", .default_text = "22", PARAM_RANGE(1, UINT16_MAX)),
    PARAM("timeout", DURATION, ARGS, timeout, "timeout for asking the host", .default_text = "5s"),
    PARAM("hash_known_hosts", TRISTATE, ARGS, hash, "hash the host name in the file (default: false, and true in a Salt file)"),
    PARAM("config", STR, ARGS, config, "the file: a path, absolute or below the user's home", .flags = PARAM_FILLED),
    { 0 },
};
/* clang-format on */

#define MD5_DIGITS    32
#define SHA256_DIGITS 64
#define SHA256_BASE64 43 /* without padding */

/* With the name of its hash in front; else hex digits, with or without colons, or base64. */
static bool is_like_fingerprint(struct str text)
{
    size_t digits = 0, others = 0;

    if (str_starts(text, STR("SHA256:")) || str_starts(text, STR("MD5:")))
        return true;
    while (text.n > 0 && text.p[text.n - 1] == '=')
        text.n--;
    for (size_t i = 0; i < text.n; i++) {
        digits += isxdigit((unsigned char)text.p[i]) != 0;
        others += !isxdigit((unsigned char)text.p[i]) && text.p[i] != ':';
    }
    return (others == 0 && (digits == MD5_DIGITS || digits == SHA256_DIGITS)) ||
           text.n == SHA256_BASE64;
}

static int present_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct present_args *want = args;
    int result = validate_text("name", want->name, VALIDATE_ARGUMENT, where, diags);

    if (knownhosts_validate(want->user, want->config, where, diags) < 0)
        result = -1;
    if (validate_text("enc", want->enc, VALIDATE_ARGUMENT, where, diags) < 0 ||
        validate_text("key", want->key, VALIDATE_LINE, where, diags) < 0)
        result = -1;
    if (want->fingerprint && !is_like_fingerprint(str_from(want->fingerprint)))
        result = value_diag(diags, value_point(where, "fingerprint"),
                            "'fingerprint' must be SHA256:..., or hexadecimal digits, got '%s'",
                            want->fingerprint);
    if (!want->key && !want->fingerprint) {
        result = value_diag(diags, where, "requires 'key' or 'fingerprint'");
        diag_hint(diags, "ssh-keyscan HOST | ssh-keygen -lf - shows fingerprints");
    }
    return result;
}

/* --- the key ------------------------------------------------------------------------------- */

struct host_key {
    struct str type, blob;
};

static const char *find_host_key_type(const char *enc)
{
    return strcmp(enc, "ed25519") == 0 ? "ssh-ed25519"
           : strcmp(enc, "rsa") == 0   ? "ssh-rsa"
           : strcmp(enc, "ecdsa") == 0 ? "ecdsa-sha2-nistp256"
                                       : enc;
}

/* "AB:cd" as "abcd". */
static void add_plain_hex(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != ':')
            buf_add_char(out,
                         text.p[i] >= 'A' && text.p[i] <= 'F' ? (char)(text.p[i] + 32) : text.p[i]);
}

static bool is_using_md5(const struct present_args *want)
{
    return want->fingerprint && (want->hash_type == FINGERPRINT_MD5 ||
                                 str_starts(str_from(want->fingerprint), STR("MD5:")));
}

static int make_md5_fingerprint(struct str bytes, char hex[static DIGEST_HEX_MAX], struct err *err)
{
    return digest_hex(digest_find(STR("md5")), bytes, NULL, hex, err);
}

static bool is_md5_fingerprint(struct str bytes, struct str given)
{
    AUTO_BUF struct buf plain = BUF_INIT(FILE_MAX);
    char hex[DIGEST_HEX_MAX];
    struct err ignored; /* already tried by find_host_key */

    if (str_starts(given, STR("MD5:")))
        given = str_from_offset(given, strlen("MD5:"));
    if (make_md5_fingerprint(bytes, hex, &ignored) < 0)
        return false;
    add_plain_hex(given, &plain);
    return str_is(buf_view(&plain), hex);
}

static bool is_fingerprint(const struct present_args *want, struct str blob)
{
    unsigned char digest[SHA256_SIZE];
    AUTO_BUF struct buf bytes = BUF_INIT(FILE_MAX), text = BUF_INIT(FILE_MAX);
    AUTO_BUF struct buf plain = BUF_INIT(FILE_MAX);
    char hex[SHA256_HEX_SIZE];
    struct str given = str_from(want->fingerprint);
    struct err ignored;

    if (base64_decode(blob, BASE64_STANDARD, &bytes, &ignored) < 0)
        return false;
    if (is_using_md5(want))
        return is_md5_fingerprint(buf_view(&bytes), given);
    sha256(buf_text(&bytes), bytes.n, digest);
    sha256_hex(buf_text(&bytes), bytes.n, hex);
    base64_encode(str_bytes(digest, sizeof(digest)), BASE64_STANDARD, &text);
    while (text.n > 0 && text.p[text.n - 1] == '=')
        buf_cut(&text, text.n - 1);
    if (str_starts(given, STR("SHA256:")))
        return str_eq(str_from_offset(given, strlen("SHA256:")), buf_view(&text));
    add_plain_hex(given, &plain);
    return str_is(buf_view(&plain), hex) || str_eq(given, buf_view(&text));
}

/* The key with the fingerprint among the lines of a known_hosts file. */
static bool pick_key(const struct present_args *want, struct str lines, struct host_key *ret)
{
    struct line line;

    while (lines_next(&lines, &line)) {
        struct str rest = line.text;

        if (lines_word(&rest).n == 0 || line.text.p[0] == '#' || line.text.p[0] == '@')
            continue;
        ret->type = lines_word(&rest);
        ret->blob = lines_word(&rest);
        if (ret->blob.n > 0 && is_fingerprint(want, ret->blob))
            return true;
    }
    return false;
}

/* Ask the host; an unverified key is never accepted. */
static int scan_host(struct state_run *run, const struct present_args *want, struct host_key *ret,
                     struct err *err)
{
    const struct tool tool = run_tool(run);
    const char *port = arena_printf(run->arena, "%lld", (long long)want->port);
    const char *seconds = arena_printf(
        run->arena, "%lld", (long long)((want->timeout + CLOCK_SECOND - 1) / CLOCK_SECOND));
    struct process_result result;

    if (tool_try(&tool, TOOL("ssh-keyscan", "-p", port, "-T", seconds, "--", want->name), NULL,
                 &result, err) < 0)
        return -1;
    if (pick_key(want, result.out, ret))
        return 0;
    if (str_trim(result.out).n == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "no host key received from %s at port %s within %s s (ssh-keyscan): is it "
                       "up, and is sshd listening there?",
                       want->name, port, seconds);
    return err_set(err, ERR_INVALID, "no key of %s has the fingerprint %s", want->name,
                   want->fingerprint);
}

/* `known` are the existing lines of the host: one that matches is enough, so the host need not
 * be up. */
static int find_host_key(struct state_run *run, const struct present_args *want, struct str known,
                         struct host_key *ret, struct err *err)
{
    char hex[DIGEST_HEX_MAX];
    struct str rest, first;

    if (is_using_md5(want) && make_md5_fingerprint(STR(""), hex, err) < 0)
        return -1;
    if (!want->key)
        return pick_key(want, known, ret) ? 0 : scan_host(run, want, ret, err);
    rest = str_trim(str_from(want->key));
    first = lines_word(&rest);
    *ret = keyfile_is_type(first)
               ? (struct host_key){ first, lines_word(&rest) }
               : (struct host_key){ str_from(find_host_key_type(want->enc)), first };
    if (want->fingerprint && !is_fingerprint(want, ret->blob))
        return err_set(err, ERR_INVALID, "the key of %s does not have the fingerprint %s",
                       want->name, want->fingerprint);
    return 0;
}

/* --- the file -------------------------------------------------------------------------------- */

/* Does the line have another key of the same type? `ret_right`: it has this key. */
static bool is_of_kind(struct str line, const struct host_key *key, bool *ret_right)
{
    struct str rest = line, type, blob;

    (void)lines_word(&rest);
    type = lines_word(&rest);
    blob = lines_word(&rest);
    *ret_right = str_eq(type, key->type) && str_eq(blob, key->blob);
    return str_eq(type, key->type);
}

/* "|1|..." instead of the name. */
static int hash_name(struct state_run *run, const char *line, struct str *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct scratch_options options = { .mode = 0600, .uid = (uid_t)-1, .gid = (gid_t)-1 };
    struct scratch scratch;
    int result;

    if (scratch_make(run, &options, str_from(line), &scratch, err) < 0)
        return -1;
    result = tool_run(&tool, TOOL("ssh-keygen", "-H", "-f", scratch.path), NULL, NULL, err);
    if (result == 0)
        result = fs_read(run->arena, scratch.path, FILE_MAX, ret, err);
    scratch_remove(arena_printf(run->arena, "%s.old", scratch.path));
    scratch_done(&scratch);
    *ret = result == 0 && ret->p ? str_trim(*ret) : STR("");
    return result;
}

static int new_line(struct state_run *run, const struct present_args *want,
                    const struct host_key *key, struct str *ret, struct err *err)
{
    const char *host = knownhosts_host(run, want->name, want->port);
    const char *line =
        arena_printf(run->arena, "%s %.*s %.*s", host, STR_ARG(key->type), STR_ARG(key->blob));

    if (param_choose(want->hash, run->salt))
        return hash_name(run, arena_printf(run->arena, "%s\n", line), ret, err);
    *ret = str_from(line);
    return 0;
}

static int plan_host_key(struct state_run *run, const void *args, const struct editor_file *file,
                         struct editor_plan *plan, struct err *err)
{
    const struct present_args *want = args;
    const struct str host = str_from(knownhosts_host(run, want->name, want->port));
    const struct str end = lines_end_of(file->text);
    struct str rest = file->text, found, fresh;
    struct line line;
    struct host_key key;
    bool placed = false;

    if (knownhosts_find(run, host.p, file, &found, err) < 0 ||
        find_host_key(run, want, found, &key, err) < 0)
        return -1;
    while (lines_next(&rest, &line)) {
        bool right = false;
        const bool ours = knownhosts_is_of(found, line.text) && is_of_kind(line.text, &key, &right);

        if (!ours || (right && !placed))
            lines_add(&plan->text, line.text, line.end);
        else
            knownhosts_add_others(&line, host, &plan->text);
        placed |= right;
    }
    if (!placed) {
        if (new_line(run, want, &key, &fresh, err) < 0)
            return -1;
        lines_finish(&plan->text, end);
        lines_add(&plan->text, fresh, end);
    }
    plan->pending = arena_printf(run->arena, "the key of %s is not in %s", want->name, file->path);
    plan->done = arena_printf(run->arena, "added the key of %s to %s", want->name, file->path);
    plan->remark = arena_printf(run->arena, "the key of %s is in %s", want->name, file->path);
    plan->detail = "host";
    plan->word = want->name;
    return edit_finish(&plan->text, err);
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    struct editor editor = { .plan = plan_host_key, .makedirs = true };
    struct change_attr attr;

    if (knownhosts_file(run, want->user, want->config, &editor.path, &attr, err) < 0)
        return -1;
    if (editor.path)
        return editor_check(run, &editor, args, err);
    state_differs(run, "user %s does not exist yet", want->user);
    return 0;
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    struct change_attr file, folder;
    struct editor editor = {
        .plan = plan_host_key, .makedirs = true, .fresh = &file, .folder = &folder
    };

    if (knownhosts_file(run, want->user, want->config, &editor.path, &file, err) < 0)
        return -1;
    if (!editor.path)
        return err_set(err, ERR_NOT_FOUND, "user '%s' does not exist", want->user);
    folder = file;
    folder.mode = want->user ? 0700 : 0755;
    return editor_apply(run, &editor, args, err);
}

const struct module module_ssh_known_hosts_present = {
    .name = "ssh_known_hosts.present",
    .summary = "add the key of a host to known_hosts",
    .details = "With only a fingerprint, the host is asked for its keys once, and the matching one "
               "is added; an unverified key never is.",
    .example = "name: git.example.org\nkey: ssh-ed25519 "
               "AAAAC3NzaC1lZDI1NTE5AAAAIGfakefakefakefakefakefakefakefakefakefake00\n"
               "config: ROOT/known_hosts\n",
    .params = present_params,
    .args_size = sizeof(struct present_args),
    .validate = present_validate,
    .check = present_check,
    .apply = present_apply,
};
