#include "kepler/daemon/acl_file.h"

#include "kepler/access/acl.h"
#include "kepler/access/right.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/checksum.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/record.h"
#include "core/data/value.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

struct stored_rule {
    const char *who;
    struct value allow;
    const char *authorize;
};

struct stored {
    VEC(struct stored_rule) users, groups;
    const char *lua;
};

/* clang-format off */
#define ARGS struct stored_rule
static const struct record_field rule_fields[] = {
    RECORD("who",       TEXT, ARGS, who,       RECORD_REQUIRED),
    RECORD("allow",     ANY,  ARGS, allow,     RECORD_REQUIRED),
    RECORD("authorize", TEXT, ARGS, authorize, RECORD_OMIT),
    { 0 },
};
static const struct record_type rule_type = RECORD_TYPE("rule", ARGS, rule_fields, 0);
#undef ARGS
#define ARGS struct stored
static const struct record_field stored_fields[] = {
    RECORD("users",  LIST, ARGS, users,  RECORD_OMIT, .inner = &rule_type),
    RECORD("groups", LIST, ARGS, groups, RECORD_OMIT, .inner = &rule_type),
    RECORD("lua",    TEXT, ARGS, lua,    RECORD_OMIT),
    { 0 },
};
static const struct record_type stored_type = RECORD_TYPE("acl", ARGS, stored_fields, 0);
#undef ARGS
/* clang-format on */

static struct stored_rule make_stored_rule(struct arena *arena, const struct acl_rule *rule)
{
    return (struct stored_rule){ rule->who, right_values(arena, rule->rights),
                                 rule->authorize ? rule->authorize->s.p : NULL };
}

static const struct value *code_value(struct arena *arena, const char *text)
{
    struct value *code = text ? ARENA_NEW(arena, struct value) : NULL;

    if (code)
        *code = value_text(text);
    return code;
}

static struct acl_rule from_stored(struct arena *arena, const struct stored_rule *rule)
{
    return (struct acl_rule){ .who = rule->who,
                              .rights = right_read(&rule->allow),
                              .authorize = code_value(arena, rule->authorize) };
}

int acl_file_save(const char *folder, const struct acl *acl, struct err *err)
{
    const struct fs_replace_options how = { .attr = { 0600, FS_KEEP, FS_KEEP } };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(ACL_FILE_MAX);
    const char *path = path_join(&arena, folder, ACL_FILE);
    struct stored stored = { .lua = NULL };
    struct value whole;

    if (!acl)
        return fs_unlink(path, err);
    stored.lua = acl->lua ? acl->lua->s.p : NULL;
    VEC_EACH (&acl->users.list, rule)
        VEC_PUSH_IN(&arena, &stored.users, make_stored_rule(&arena, rule));
    VEC_EACH (&acl->groups.list, rule)
        VEC_PUSH_IN(&arena, &stored.groups, make_stored_rule(&arena, rule));
    whole = record_value(&arena, &stored_type, &stored);
    if (json_print(&text, &whole, 0, err) < 0)
        return err_wrap(err, "store the rules of the config");
    return fs_replace(path, buf_view(&text), &how, err);
}

int acl_file_load(struct arena *arena, const char *folder, const struct acl **ret_acl,
                  uint64_t *ret_sum, struct err *err)
{
    const char *path = path_join(arena, folder, ACL_FILE);
    struct acl *acl = ARENA_NEW(arena, struct acl);
    struct stored stored;
    struct value whole;
    struct str text;

    if (fs_read(arena, path, ACL_FILE_MAX, &text, err) < 0)
        return -1;
    *ret_acl = NULL;
    *ret_sum = 0;
    if (!text.p)
        return 0;
    if (json_decode(arena, text, &whole, err) < 0 ||
        record_read(arena, &stored_type, 0, &whole, &stored, err) < 0)
        return err_wrap(err, "read '%s'", path);
    VEC_EACH (&stored.users, rule)
        VEC_PUSH_IN(arena, &acl->users.list, from_stored(arena, rule));
    VEC_EACH (&stored.groups, rule)
        VEC_PUSH_IN(arena, &acl->groups.list, from_stored(arena, rule));
    acl->lua = code_value(arena, stored.lua);
    *ret_acl = acl;
    *ret_sum = checksum(text.p, text.n, 0);
    return 0;
}
