#include "fleet/master/api/token.h"

#include <string.h>
#include <strings.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "language/target/target.h"

#define ARGS struct api_token

/* clang-format off */
const struct param api_token_params[] = {
    PARAM("username",   STR,    ARGS, username, "user name: jobs have the user `api:NAME`", .flags = PARAM_REQUIRED | PARAM_FILLED, .kind_text = "NAME"),
    PARAM("token_file", STR,    ARGS, token_file, "the file with the secret, relative to AUTH_DIR; read at every request", .flags = PARAM_REQUIRED | PARAM_FILLED, .kind_text = "FILE"),
    PARAM("operator",   STR,    ARGS, operator_name, "acts as this operator, with the same permissions", .flags = PARAM_FILLED, .kind_text = "NAME"),
    PARAM("role",       CHOICE, ARGS, policy.role, "or its own role", PARAM_GIVEN(ARGS, has_role), .choices = OPERATOR_ROLE_CHOICES, .default_text = "admin"),
    PARAM("target",     STR,    ARGS, policy.target, "only peels that match this expression (all)", .flags = PARAM_FILLED, .kind_text = "TARGET"),
    PARAM("functions",  STRS,   ARGS, policy.functions, "only functions that match (all)", .flags = PARAM_FILLED, .kind_text = "GLOBS"),
    PARAM("approvals",  STRS,   ARGS, policy.approvals, "functions that need approval by a second person (none)", .flags = PARAM_FILLED, .kind_text = "GLOBS"),
    { 0 },
};
/* clang-format on */

/* --- configuration ------------------------------------------------------------------ */

static bool is_token_name(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-";
    const size_t n = strlen(text);

    return n > 0 && n <= API_TOKEN_NAME_MAX && strspn(text, letters) == n;
}

/* Keys that limit the jobs of a policy. */
static const char *const limits[] = { "target", "functions", "approvals" };

static void refuse_limits(const struct value *item, const char *why, struct diags *diags)
{
    for (size_t i = 0; i < ARRAY_LEN(limits); i++)
        if (value_get(item, limits[i]))
            (void)value_diag(diags, value_point(item, limits[i]), "'%s': %s", limits[i], why);
}

static void check_token_operator(const struct value *item, const struct api_token *token,
                                 struct diags *diags)
{
    const char *why = "not allowed with 'operator', whose policy applies";
    struct err err;

    if (operator_check_name(token->operator_name, &err) < 0)
        (void)value_diag(diags, value_point(item, "operator"), "'operator': %s", err.text);
    if (token->has_role)
        (void)value_diag(diags, value_point(item, "role"), "'role': %s", why);
    refuse_limits(item, why, diags);
}

static void check_token_globs(const struct value *item, const char *key,
                              const struct param_strs *globs, struct diags *diags)
{
    struct err err;

    if (globs->n > OPERATOR_GLOBS_MAX)
        (void)value_diag(diags, value_point(item, key), "'%s': more than %d patterns", key,
                         OPERATOR_GLOBS_MAX);
    for (size_t i = 0; i < globs->n; i++)
        if (operator_check_glob(globs->p[i], &err) < 0)
            (void)value_diag(diags, value_point(item, key), "'%s': %s", key, err.text);
}

static void check_token_target(struct arena *arena, const struct value *item, const char *text,
                               struct diags *diags)
{
    const struct target_options options = { .any_group = true };
    struct diags mistakes = DIAGS_INIT(arena);
    const struct target *target;
    struct err err;

    if (target_parse(arena, str_from(text), TARGET_COMPOUND, &options, &target, &mistakes) == 0)
        return;
    (void)diags_to_err(&mistakes, &err);
    (void)value_diag(diags, value_point(item, "target"), "'target': %s", err.text);
}

/* Completes the policy, as 'zester operator add' does. */
static void complete_policy(struct arena *arena, const struct value *item, struct api_token *token,
                            struct diags *diags)
{
    static const char *const all[] = { "*" };
    struct operator_policy *policy = &token->policy;

    policy->name = arena_printf(arena, API_USER_PREFIX "%s", token->username);
    policy->created_by = "";
    if (policy->role != OPERATOR_OPERATOR && policy->role != OPERATOR_ADMIN) {
        refuse_limits(item, "has no effect: the role cannot run jobs", diags);
        policy->target = "";
        return;
    }
    if (policy->target)
        check_token_target(arena, item, policy->target, diags);
    check_token_globs(item, "functions", &policy->functions, diags);
    check_token_globs(item, "approvals", &policy->approvals, diags);
    policy->target = policy->target ? policy->target : "*";
    if (policy->functions.n == 0)
        policy->functions = (struct param_strs){ 1, all };
}

static void read_token_item(struct arena *arena, const struct value *item, struct api_token *ret,
                            struct diags *diags)
{
    const struct params_policy policy = { .owner = "api.tokens", .noun = "key" };

    if (item->kind != VALUE_MAP)
        (void)value_diag(diags, item, "'api.tokens': an item must be a map, got %s",
                         value_describe(item));
    else if (params_decode(arena, api_token_params, &policy, item, ret, diags) < 0)
        return;
    else if (!is_token_name(ret->username))
        (void)value_diag(diags, value_point(item, "username"),
                         "'username': a name has up to %d letters, digits and . _ @ -",
                         API_TOKEN_NAME_MAX);
    else if (ret->operator_name)
        check_token_operator(item, ret, diags);
    else
        complete_policy(arena, item, ret, diags);
}

void api_tokens_read(struct arena *arena, const struct value *list, struct api_tokens *ret,
                     struct diags *diags)
{
    struct api_token *tokens;
    size_t count;

    *ret = (struct api_tokens){ 0 };
    if (!list)
        return;
    count = list->list->count;
    if (count > API_TOKENS_MAX) {
        (void)value_diag(diags, list, "'api.tokens': %zu tokens, the limit is %d", count,
                         API_TOKENS_MAX);
        return;
    }
    tokens = ARENA_ARRAY(arena, struct api_token, count + 1);
    for (size_t i = 0; i < count; i++)
        read_token_item(arena, &list->list->items[i], &tokens[i], diags);
    *ret = (struct api_tokens){ count, tokens };
}

/* --- secrets ------------------------------------------------------------------------ */

bool api_token_bearer(const char *authorization, struct str *ret_secret)
{
    struct str rest = str_from(authorization ? authorization : "");
    const struct str scheme = str_cut(&rest, ' ');

    if (scheme.n != strlen("Bearer") || strncasecmp(scheme.p, "Bearer", scheme.n) != 0 || !rest.p)
        return false;
    *ret_secret = str_trim(rest);
    return ret_secret->n > 0;
}

struct api_digest api_token_digest(struct str secret)
{
    struct api_digest digest;

    sha256(secret.p, secret.n, digest.bytes);
    return digest;
}

bool api_token_same(const struct api_digest *a, const struct api_digest *b)
{
    unsigned char difference = 0;

    for (size_t i = 0; i < sizeof(a->bytes); i++)
        difference |= (unsigned char)(a->bytes[i] ^ b->bytes[i]);
    return difference == 0;
}

struct secret {
    struct api_digest digest;
    size_t length; /* 0: none */
    struct fs_info info;
};

/* A missing file has an empty secret. */
static int read_token_secret(const char *path, struct secret *ret, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_FD int fd = -1;
    struct str text, secret;

    *ret = (struct secret){ 0 };
    if (fs_open(path, &fd, &ret->info, err) < 0)
        return -1;
    if (fd < 0)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", path);
    if (ret->info.kind != FS_FILE)
        return err_set(err, ERR_INVALID, "'%s' is a %s, not a file", path,
                       fs_kind_name(ret->info.kind));
    if (fs_read_fd(&arena, fd, path, API_TOKEN_FILE_MAX, &text, err) < 0)
        return -1;
    secret = str_trim(text);
    ret->length = secret.n;
    ret->digest = api_token_digest(secret);
    explicit_bzero((void *)(uintptr_t)text.p, text.n);
    return secret.n > 0 ? 0 : err_set(err, ERR_INVALID, "'%s' is empty", path);
}

bool api_tokens_has_user(const struct api_tokens *tokens, const char *user)
{
    for (size_t i = 0; i < tokens->n; i++)
        if (!tokens->p[i].operator_name && strcmp(tokens->p[i].policy.name, user) == 0)
            return true;
    return false;
}

const struct api_token *api_tokens_find(const struct api_tokens *tokens, const char *folder,
                                        const struct api_digest *digest)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct api_token *found = NULL;

    /* Compare all, so that the time reveals nothing. */
    for (size_t i = 0; i < tokens->n; i++) {
        struct secret secret;
        struct err err;

        if (read_token_secret(path_join(&arena, folder, tokens->p[i].token_file), &secret, &err) <
            0) {
            log_debug("token file is not used user=%s error=%s", tokens->p[i].username, err.text);
            continue;
        }
        if (api_token_same(&secret.digest, digest) && !found)
            found = &tokens->p[i];
    }
    return found;
}

void api_tokens_warn(const struct api_tokens *tokens, const char *folder)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < tokens->n; i++) {
        const struct api_token *token = &tokens->p[i];
        const char *path = path_join(&arena, folder, token->token_file);
        struct secret secret;
        struct err err;

        if (read_token_secret(path, &secret, &err) < 0)
            log_warning("API token cannot be used user=%s error=%s", token->username, err.text);
        else if (secret.length < API_TOKEN_SHORT)
            log_warning("API token is too short user=%s file=%s shorter_than=%d", token->username,
                        path, API_TOKEN_SHORT);
        if (secret.info.mode & 07)
            log_warning("API token file is readable by others user=%s file=%s mode=%04o",
                        token->username, path, (unsigned)secret.info.mode);
    }
}
