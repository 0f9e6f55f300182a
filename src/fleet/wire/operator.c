#include "fleet/wire/operator.h"

#include <string.h>

#include "core/base/err.h"
#include "fleet/wire/peel_id.h"

static const char *const role_names[OPERATOR_ROLES] = {
    [OPERATOR_VIEWER] = "viewer",
    [OPERATOR_OPERATOR] = "operator",
    [OPERATOR_ENROLLER] = "enroller",
    [OPERATOR_ADMIN] = "admin",
};

const char *operator_role_name(enum operator_role role)
{
    return role_names[role];
}

int operator_check_name(const char *name, struct err *err)
{
    if (!peel_id_is_valid(str_from(name)))
        return err_set(err, ERR_INVALID,
                       "'%.64s' is not a valid operator name: letters, digits, '_' and '-', "
                       "and a letter or digit first",
                       name);
    if (strcmp(name, OPERATOR_RESERVED) == 0)
        return err_set(err, ERR_INVALID,
                       "'" OPERATOR_RESERVED "' is reserved for the holder of admin.creds");
    return 0;
}

/* Functions are 'family.name', in lower case: a pattern without a dot needs something that can be
 * one. */
int operator_check_glob(const char *glob, struct err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.*?[]!-";
    const size_t n = strlen(glob);

    if (n > 0 && n <= OPERATOR_GLOB_MAX && strspn(glob, letters) == n && strpbrk(glob, ".*?["))
        return 0;
    return err_set(err, ERR_INVALID,
                   "'%.64s' matches no function: give the name of one, such as 'test.ping', or a "
                   "pattern, such as 'state.*'",
                   glob);
}

bool operator_has_key(const struct operator_policy *policy, int64_t now)
{
    VEC_EACH (&policy->keys.list, key)
        if (key->revoked.seconds == 0 && key->expires.seconds > now)
            return true;
    return false;
}

static int check_policy(const void *record, struct err *err)
{
    const struct operator_policy *policy = record;

    if (operator_check_name(policy->name, err) < 0)
        return -1;
    if (policy->functions.n > OPERATOR_GLOBS_MAX || policy->approvals.n > OPERATOR_GLOBS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d patterns of functions", OPERATOR_GLOBS_MAX);
    if (policy->keys.list.n > OPERATOR_KEYS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d keys that have not expired",
                       OPERATOR_KEYS_MAX);
    return 0;
}

/* clang-format off */

static const struct record_field key_fields[] = {
    RECORD("public_key", TEXT, struct operator_key, public_key, RECORD_REQUIRED),
    RECORD("issued",     TIME, struct operator_key, issued, 0),
    RECORD("expires",    TIME, struct operator_key, expires, 0),
    RECORD("revoked",    TIME, struct operator_key, revoked, RECORD_OMIT),
    { 0 },
};
static const struct record_type key_type = RECORD_TYPE("operator key", struct operator_key, key_fields, RECORD_LENIENT);

static const struct record_field policy_fields[] = {
    RECORD("name",       TEXT,  struct operator_policy, name, RECORD_REQUIRED),
    RECORD("role",       WORD,  struct operator_policy, role, RECORD_REQUIRED, RECORD_WORDS(role_names)),
    RECORD("target",     TEXT,  struct operator_policy, target, 0, .fallback_text = ""),
    RECORD("functions",  TEXTS, struct operator_policy, functions, 0),
    RECORD("approvals",  TEXTS, struct operator_policy, approvals, 0),
    RECORD("created",    TIME,  struct operator_policy, created, 0),
    RECORD("updated",    TIME,  struct operator_policy, updated, 0),
    RECORD("created_by", TEXT,  struct operator_policy, created_by, 0, .fallback_text = ""),
    RECORD("removed",    BOOL,  struct operator_policy, removed, RECORD_OMIT),
    RECORD("keys",       LIST,  struct operator_policy, keys, 0, .inner = &key_type),
    { 0 },
};
const struct record_type operator_policy_type = RECORD_TYPE("operator policy", struct operator_policy, policy_fields, RECORD_LENIENT, .check = check_policy);

static const struct record_field removal_fields[] = {
    RECORD("name",     TEXT, struct operator_removal, name, RECORD_REQUIRED),
    RECORD("operator", TEXT, struct operator_removal, operator, 0, .fallback_text = ""),
    { 0 },
};
const struct record_type operator_removal_type = RECORD_TYPE("operator removal", struct operator_removal, removal_fields, RECORD_LENIENT);

static const struct record_field removed_fields[] = {
    RECORD("err",     TEXT, struct operator_removed, err, RECORD_OMIT, .fallback_text = ""),
    RECORD("warning", TEXT, struct operator_removed, warning, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};
const struct record_type operator_removed_type = RECORD_TYPE("operator removal reply", struct operator_removed, removed_fields, RECORD_LENIENT);

/* clang-format on */
