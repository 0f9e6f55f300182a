#include "fleet/gitfs/remote.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/redact.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "core/sys/path.h"

#define ARGS struct remote

/* clang-format off */
static const struct param rows[] = {
    PARAM("url",        STR,    ARGS, url, "the repository: https, ssh or file", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("branch",     STR,    ARGS, branch, "a branch, a tag or a whole commit id", .flags = PARAM_FILLED, .aliases = "ref,base"),
    PARAM("name",       STR,    ARGS, name, "the folder of the tree", .flags = PARAM_FILLED),
    PARAM("root",       STR,    ARGS, root, "only this folder of the repository", .flags = PARAM_FILLED),
    PARAM("ssh_key",    PATH,   ARGS, ssh_key, "the private key for ssh", .aliases = "privkey"),
    PARAM("force_push", CHOICE, ARGS, force_push, "policy for a rewritten branch", .choices = "follow|refuse", .default_text = "follow"),
    PARAM_REFUSED("mountpoint", "a repository is one folder of the tree: 'name' says which, 'root' takes a part of the repository"),
    PARAM_REFUSED("saltenv", "there is one tree of states: give each branch a remote with a 'name' of its own"),
    PARAM_REFUSED("user", "use a credential helper of git, or ssh with 'ssh_key'"),
    PARAM_REFUSED("password", "use a credential helper of git, or ssh with 'ssh_key'"),
    { 0 },
};
/* clang-format on */

/* --- URLs --------------------------------------------------------------------------- */

static const char *const schemes[] = { "https://", "ssh://", "file:///" };

#define ACCEPTED "use https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH or file:///PATH"

static bool has_blanks(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] <= ' ' || text.p[i] == '\x7f')
            return true;
    return false;
}

/* The part after "scheme://"; all of a URL without one. */
static struct str after_scheme(const char *url)
{
    const struct str text = str_from(url);
    const size_t at = str_find(text, STR("://"), 0);

    return at == STR_NONE ? text : str_from_offset(text, at + strlen("://"));
}

/* The user, up to the '@'; a NULL view: none. */
static struct str user_of(const char *url)
{
    struct str rest = after_scheme(url);
    const struct str authority = str_cut(&rest, '/');
    const char *at = memrchr(authority.p, '@', authority.n);

    return at ? (struct str){ authority.p, (size_t)(at - authority.p) } : (struct str){ NULL, 0 };
}

static struct str find_url_host(const char *url)
{
    const struct str user = user_of(url);
    struct str rest = after_scheme(url);

    if (user.p)
        rest = str_from_offset(rest, user.n + 1);
    return str_cut(&rest, '/');
}

/* USER@HOST:PATH; a colon after the first slash belongs to a path. */
static bool is_short_ssh(const char *url)
{
    const char *colon = strchr(url, ':'), *slash = strchr(url, '/');

    return colon && colon > url && colon[1] != '\0' && (!slash || colon < slash);
}

static int check_host(const char *url, struct err *err)
{
    const struct str user = user_of(url), host = find_url_host(url);

    if (host.n == 0 || host.p[0] == ':')
        return err_set(err, ERR_INVALID, "a URL of a repository names a host: " ACCEPTED);
    if (host.p[0] == '-' || (user.n && user.p[0] == '-'))
        return err_set(err, ERR_INVALID, "a host or user must not begin with '-'");
    return 0;
}

int remote_check_url(const char *url, struct err *err)
{
    const struct str text = str_from(url);
    const size_t helper = str_find(text, STR("::"), 0);

    if (text.n == 0 || text.n > REMOTE_URL_MAX)
        return err_set(err, ERR_INVALID, "a URL of a repository has 1 to %d bytes", REMOTE_URL_MAX);
    if (url[0] == '-')
        return err_set(err, ERR_INVALID, "a URL of a repository must not begin with '-'");
    if (helper != STR_NONE && helper < str_find_char(text, '/', 0))
        return err_set(err, ERR_INVALID, "a URL of a repository must not run a command ('%.*s::')",
                       (int)helper, url);
    if (has_blanks(text))
        return err_set(err, ERR_INVALID, "a URL of a repository must not contain blanks");
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_starts(text, str_from(schemes[i])))
            return str_starts(text, STR("file:")) ? 0 : check_host(url, err);
    if (str_find(text, STR("://"), 0) == STR_NONE && is_short_ssh(url))
        return check_host(url, err);
    return err_set(err, ERR_INVALID, "this way to a repository is not accepted: " ACCEPTED);
}

/* For ssh the user is part of the address, and not secret. */
static struct str find_url_secret(const char *url)
{
    return str_starts(str_from(url), STR("https://")) ? user_of(url) : (struct str){ NULL, 0 };
}

static const char *replace_all_parts(struct arena *arena, struct str text, struct str part)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (size_t at; part.n > 0 && (at = str_find(text, part, 0)) != STR_NONE;
         text = str_from_offset(text, at + part.n)) {
        buf_add(&out, text.p, at);
        buf_add_text(&out, REDACTED);
    }
    buf_add(&out, text.p, text.n);
    return arena_strdup(arena, buf_text(&out));
}

const char *remote_mask(struct arena *arena, const char *url, struct str text)
{
    struct str secret = find_url_secret(url);
    const char *masked = replace_all_parts(arena, text, secret);

    if (secret.p)
        (void)str_cut(&secret, ':'); /* git shows the user without the password */
    return secret.p ? replace_all_parts(arena, str_from(masked), secret) : masked;
}

const char *remote_show_url(struct arena *arena, const char *url)
{
    return remote_mask(arena, url, str_from(url));
}

/* --- names -------------------------------------------------------------------------- */

bool remote_is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    const size_t n = strlen(name);

    return n > 0 && n <= REMOTE_NAME_MAX && strspn(name, letters) == n && name[0] != '.' &&
           name[0] != '-' && strcmp(name, "__pycache__") != 0;
}

const char *remote_name_of(struct arena *arena, const char *url)
{
    struct str text = after_scheme(url);
    const char *name;

    if (text.p != url)
        (void)str_cut(&text, '/'); /* the host */
    while (text.n && text.p[text.n - 1] == '/')
        text.n--;
    if (str_ends(text, STR(".git")))
        text.n -= strlen(".git");
    for (size_t i = text.n; i > 0; i--)
        if (text.p[i - 1] == '/' || text.p[i - 1] == ':') {
            text = str_from_offset(text, i);
            break;
        }
    name = arena_str(arena, text).p;
    return remote_is_name(name) ? name : NULL;
}

/* As `git check-ref-format`, and no pattern or source of a refspec. */
static bool is_git_ref(const char *text)
{
    const size_t n = strlen(text);

    return n > 0 && n <= 256 && text[0] != '-' && text[0] != '+' && text[0] != '/' &&
           text[n - 1] != '/' && text[n - 1] != '.' && !has_blanks(str_from(text)) &&
           !strpbrk(text, "~^:?*[\\") && !strstr(text, "..") && !strstr(text, "@{") &&
           !strstr(text, "//");
}

/* --- the list ----------------------------------------------------------------------- */

static void check_branch(const struct remote *remote, const struct value *where,
                         struct diags *diags)
{
    if (remote->branch && !is_git_ref(remote->branch))
        (void)value_diag(diags, value_point(where, "branch"),
                         "'branch': '%s' is not a valid branch, tag or commit", remote->branch);
}

static void check_remote_root(struct arena *arena, struct remote *remote, const struct value *where,
                              struct diags *diags)
{
    if (!remote->root)
        return;
    if (path_escapes(remote->root) || strchr(remote->root, '\n')) {
        (void)value_diag(diags, value_point(where, "root"),
                         "'root': '%s' is not a path inside of the repository", remote->root);
        return;
    }
    remote->root = path_normalise(arena, remote->root);
    if (strcmp(remote->root, ".") == 0)
        remote->root = NULL;
}

static void check_remote_name(struct arena *arena, struct remote *remote, const struct value *where,
                              struct diags *diags)
{
    const bool is_given = remote->name != NULL;

    if (!is_given)
        remote->name = remote_name_of(arena, remote->url);
    if (!remote->name)
        (void)value_diag(diags, where, "this URL does not end with a name: add 'name'");
    else if (is_given && !remote_is_name(remote->name))
        (void)value_diag(diags, value_point(where, "name"),
                         "'name': '%s' must be a folder of the tree: letters, digits, '.', '_' and "
                         "'-', not '.' or '-' in front",
                         remote->name);
}

static void check_remote(struct arena *arena, struct remote *remote, const struct value *where,
                         struct diags *diags)
{
    struct err err;

    if (remote_check_url(remote->url, &err) < 0) {
        /* the line is not shown: it may have a password in it */
        (void)diag_add(diags, value_place(value_point(where, "url")), "'url': %s", err.text);
        return;
    }
    check_remote_name(arena, remote, where, diags);
    check_branch(remote, where, diags);
    check_remote_root(arena, remote, where, diags);
    if (remote->ssh_key && strpbrk(remote->ssh_key, "'\n"))
        (void)value_diag(diags, value_point(where, "ssh_key"), "'ssh_key' must not contain quotes");
}

/* Salt's form: the URL is the key of the rest. */
static bool is_salt_form(const struct value *v)
{
    return v->map->count == 1 && v->map->pairs[0].key.kind == VALUE_STR &&
           str_find_char(v->map->pairs[0].key.s, ':', 0) != STR_NONE;
}

static int read_remote_map(struct arena *arena, const struct value *v, struct remote *ret,
                           struct diags *diags)
{
    static const struct params_policy policy = { .owner = "a remote", .noun = "key" };

    if (is_salt_form(v)) {
        (void)value_diag(diags, v, "the URL of a remote with options is the value of 'url'");
        diag_hint(diags, "{url: ..., root: ..., branch: ...}");
        return -1;
    }
    return params_decode(arena, rows, &policy, v, ret, diags);
}

static int read_remote_entry(struct arena *arena, const struct value *v, struct remote *ret,
                             struct diags *diags)
{
    const size_t before = diags_count(diags);

    if (v->kind == VALUE_MAP) {
        if (read_remote_map(arena, v, ret, diags) < 0)
            return -1;
    } else if (v->kind == VALUE_STR && !memchr(v->s.p, '\0', v->s.n)) {
        ret->url = arena_str(arena, v->s).p;
    } else {
        return value_diag(diags, v, "a remote is a URL, or a map with 'url', got %s",
                          value_describe(v));
    }
    check_remote(arena, ret, v, diags);
    return diags_count(diags) == before ? 0 : -1;
}

/* Names on a disk that does not tell capitals apart are one. */
static bool is_remote_name_taken(const struct remotes *remotes, const char *name)
{
    VEC_EACH (&remotes->list, other)
        if (strcasecmp(other->name, name) == 0)
            return true;
    return false;
}

int remote_read_list(struct arena *arena, const struct value *list, const char *ssh_key,
                     struct remotes *ret, struct diags *diags)
{
    const size_t before = diags_count(diags);

    *ret = (struct remotes){ 0 };
    if (list && list->list->count > REMOTE_MAX)
        return value_diag(diags, list, "more than %d remotes", REMOTE_MAX);
    for (size_t i = 0; list && i < list->list->count; i++) {
        const struct value *v = &list->list->items[i];
        struct remote remote = { 0 };

        if (read_remote_entry(arena, v, &remote, diags) < 0)
            continue;
        if (is_remote_name_taken(ret, remote.name))
            (void)value_diag(diags, v, "two remotes are called '%s': give one of them a 'name'",
                             remote.name);
        if (!remote.ssh_key && ssh_key && ssh_key[0])
            remote.ssh_key = ssh_key;
        VEC_PUSH_IN(arena, &ret->list, remote);
    }
    return diags_count(diags) == before ? 0 : -1;
}

static const char *copy_remote_text(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

struct remotes remote_copy_list(struct arena *arena, const struct remotes *remotes)
{
    struct remotes copy = { 0 };

    VEC_EACH (&remotes->list, from)
        VEC_PUSH_IN(arena, &copy.list,
                    (struct remote){ .url = copy_remote_text(arena, from->url),
                                     .name = copy_remote_text(arena, from->name),
                                     .branch = copy_remote_text(arena, from->branch),
                                     .root = copy_remote_text(arena, from->root),
                                     .ssh_key = copy_remote_text(arena, from->ssh_key),
                                     .force_push = from->force_push });
    return copy;
}
