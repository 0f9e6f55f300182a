#include "states/modules/ssh_auth/authkeys.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "core/edit/keyfile.h"
#include "core/edit/lines.h"
#include "states/modules/file/editor.h"
#include "states/modules/ssh_auth/userfile.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define USUAL_FILE ".ssh/authorized_keys"

/* Salt's short names for key types. */
static const struct {
    const char *word, *type;
} kinds[] = {
    { "rsa", "ssh-rsa" },
    { "dss", "ssh-dss" },
    { "dsa", "ssh-dss" },
    { "ed25519", "ssh-ed25519" },
    { "ecdsa", "ecdsa-sha2-nistp256" },
};

static const char *find_auth_key_type(const char *enc)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].word, enc) == 0)
            return kinds[i].type;
    return enc;
}

/* Every public key begins with the length of its type, in four bytes. */
#define BLOB_START "AAAA"

static bool is_blob(struct str text)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

    for (size_t i = 0; i < text.n; i++)
        if (!memchr(letters, text.p[i], sizeof(letters) - 1))
            return false;
    return str_starts(text, STR(BLOB_START));
}

static struct str trim_key_name(const struct authkeys_args *args)
{
    return str_trim(str_from(args->name));
}

/* A key as its base64, or as a whole line; false: neither. */
static bool read_public_key(const struct authkeys_args *args, struct str text,
                            struct keyfile_key *ret)
{
    *ret = (struct keyfile_key){ STR(""), str_from(find_auth_key_type(args->enc)), text, STR("") };
    return is_blob(text) || (keyfile_parse(text, ret) && is_blob(ret->blob));
}

static int validate_key(const struct authkeys_args *args, struct str text, const char *param,
                        const struct value *where, struct diags *diags)
{
    struct keyfile_key key;

    if (!read_public_key(args, text, &key))
        return value_diag(diags, value_point(where, param),
                          "'%s' is not a public key: expected base64, or a line of authorized_keys",
                          param);
    return 0;
}

static int validate_file(const struct authkeys_args *args, const struct value *where,
                         struct diags *diags)
{
    int result = validate_text("user", args->user, VALIDATE_USER, where, diags);

    if (!args->user && !args->config)
        result = value_diag(diags, where, "user or config path is required");
    else if (!args->user && (args->config[0] != '/' || strchr(args->config, '%')))
        result = value_diag(diags, value_point(where, "config"),
                            "'config' must be an absolute path, unless 'user' is given");
    if (validate_text("enc", args->enc, VALIDATE_WORD, where, diags) < 0 ||
        validate_text("config", args->config, VALIDATE_LINE, where, diags) < 0)
        result = -1;
    if (validate_text("comment", args->comment, VALIDATE_LINE, where, diags) < 0)
        result = -1;
    if (validate_texts("options", args->options, VALIDATE_LINE, where, diags) < 0)
        result = -1;
    return result;
}

int authkeys_validate(const void *raw, const struct value *where, struct diags *diags)
{
    const struct authkeys_args *args = raw;
    const int result = validate_file(args, where, diags);

    if (args->source)
        return result;
    if (validate_text("name", args->name, VALIDATE_LINE, where, diags) < 0)
        return -1;
    return validate_key(args, trim_key_name(args), "name", where, diags) < 0 ? -1 : result;
}

int authkeys_validate_keys(const void *raw, const struct value *where, struct diags *diags)
{
    const struct authkeys_args *args = raw;
    int result = validate_file(args, where, diags) |
                 validate_texts("ssh_keys", args->keys, VALIDATE_LINE, where, diags);

    for (size_t i = 0; i < args->keys.n; i++)
        result |= validate_key(args, str_trim(str_from(args->keys.p[i])), "ssh_keys", where, diags);
    return result;
}

/* --- keys ------------------------------------------------------------------------------- */

/* The wanted line for a given key. */
static struct str print_wanted_key(struct state_run *run, const struct authkeys_args *args,
                                   struct keyfile_key key)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < args->options.n; i++)
        buf_printf(&out, "%s%s", i > 0 ? "," : "", args->options.p[i]);
    if (args->options.n == 0)
        buf_add_str(&out, key.options);
    if (out.n > 0)
        buf_add_char(&out, ' ');
    buf_printf(&out, "%.*s %.*s", STR_ARG(key.type), STR_ARG(key.blob));
    if (args->comment)
        key.comment = str_from(args->comment);
    if (key.comment.n > 0)
        buf_printf(&out, " %.*s", STR_ARG(key.comment));
    return buf_copy(&out, run->arena);
}

static void set_key_line(struct state_run *run, const struct authkeys_args *args,
                         const struct keyfile_key *key, struct str *text, struct buf *out)
{
    struct str line = args->absent ? STR("") : print_wanted_key(run, args, *key);
    struct keyfile_key now;

    /* Options and comment of an existing key stay unless they are given. */
    if (line.n > 0 && key->options.n == 0 && args->options.n == 0 && !args->comment &&
        key->comment.n == 0 && keyfile_parse(keyfile_find(*text, key->blob), &now) &&
        str_eq(now.type, key->type))
        line = keyfile_find(*text, key->blob);
    buf_clear(out);
    keyfile_set(*text, key->blob, line, out);
    *text = buf_copy(out, run->arena);
}

static int set_keys_of_source(struct state_run *run, const struct authkeys_args *args,
                              struct str *text, struct buf *out, struct err *err)
{
    struct keyfile_key key;
    struct line line;
    struct str source;
    size_t n = 0;

    if (state_source(run, args->source, args->source_hash, &source, err) < 0)
        return -1;
    for (; lines_next(&source, &line); n++) {
        const struct str trimmed = str_trim(line.text);

        if (trimmed.n == 0 || trimmed.p[0] == '#')
            continue;
        if (!keyfile_parse(trimmed, &key))
            return err_set(err, ERR_INVALID, "line %zu of %s is not a public key", n + 1,
                           args->source);
        set_key_line(run, args, &key, text, out);
    }
    return 0;
}

static bool is_key_wanted(const struct authkeys_args *args, struct str blob)
{
    struct keyfile_key key;

    for (size_t i = 0; i < args->keys.n; i++)
        if (read_public_key(args, str_trim(str_from(args->keys.p[i])), &key) &&
            str_eq(key.blob, blob))
            return true;
    return false;
}

/* Those that are given, and no others. */
static void set_only(struct state_run *run, const struct authkeys_args *args, struct str *text,
                     struct buf *out)
{
    struct authkeys_args gone = *args;
    struct keyfile_key key;
    struct str rest = *text;
    struct line line;

    gone.absent = true;
    while (lines_next(&rest, &line))
        if (keyfile_parse(str_trim(line.text), &key) && !is_key_wanted(args, key.blob))
            set_key_line(run, &gone, &key, text, out);
    for (size_t i = 0; i < args->keys.n; i++)
        if (read_public_key(args, str_trim(str_from(args->keys.p[i])), &key))
            set_key_line(run, args, &key, text, out);
}

static int plan_keys_file(struct state_run *run, const void *self, const struct editor_file *file,
                          struct editor_plan *plan, struct err *err)
{
    const struct authkeys_args *args = self;
    struct str text = file->text;
    struct keyfile_key key;

    buf_add_str(&plan->text, text);
    if (args->keys.n > 0) {
        set_only(run, args, &text, &plan->text);
    } else if (args->source) {
        if (set_keys_of_source(run, args, &text, &plan->text, err) < 0)
            return -1;
    } else {
        (void)read_public_key(args, trim_key_name(args), &key);
        set_key_line(run, args, &key, &text, &plan->text);
    }
    plan->pending = arena_printf(run->arena, "ssh key should be %s %s",
                                 args->absent ? "absent from" : "present in", file->path);
    plan->done = arena_printf(
        run->arena, args->absent ? "removed ssh key from %s" : "added ssh key to %s", file->path);
    plan->remark =
        arena_printf(run->arena, "ssh key is %s %s", args->absent ? "not in" : "in", file->path);
    plan->detail = args->user ? "user" : NULL;
    plan->word = args->user;
    return edit_finish(&plan->text, err);
}

/* --- the file ----------------------------------------------------------------------------- */

/* The path, and the owner of new files; `ret_path` is NULL if the user does not exist. */
static int find_keys_file(struct state_run *run, const struct authkeys_args *args,
                          const char **ret_path, struct change_attr *attr, struct err *err)
{
    struct userfile file = { args->config, CHANGE_KEEP_ID, CHANGE_KEEP_ID };

    if (args->user &&
        userfile_find(run, args->user, args->config ? args->config : USUAL_FILE, &file, err) < 0)
        return -1;
    *attr = (struct change_attr){ 0600, file.uid, file.gid };
    *ret_path = file.path;
    return 0;
}

int authkeys_check(struct state_run *run, const struct authkeys_args *args, bool absent,
                   struct err *err)
{
    struct editor editor = { .plan = plan_keys_file, .makedirs = true };
    struct authkeys_args want = *args;
    struct change_attr attr;

    want.absent = absent;
    if (find_keys_file(run, args, &editor.path, &attr, err) < 0)
        return -1;
    if (editor.path)
        return editor_check(run, &editor, &want, err);
    if (absent)
        state_say(run, "user %s does not exist", args->user);
    else
        state_differs(run, "user %s does not exist yet", args->user);
    return 0;
}

int authkeys_apply(struct state_run *run, const struct authkeys_args *args, bool absent,
                   struct err *err)
{
    struct authkeys_args want = *args;
    struct change_attr file, folder;
    struct editor editor = {
        .plan = plan_keys_file, .makedirs = true, .fresh = &file, .folder = &folder
    };

    want.absent = absent;
    if (find_keys_file(run, args, &editor.path, &file, err) < 0)
        return -1;
    folder = file;
    folder.mode = 0700;
    if (editor.path)
        return editor_apply(run, &editor, &want, err);
    if (!absent)
        return err_set(err, ERR_NOT_FOUND, "user '%s' does not exist", args->user);
    state_unchanged(run);
    return 0;
}
