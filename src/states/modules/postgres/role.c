#include "states/modules/postgres/role.h"

#include <stddef.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/modules/postgres/verifier.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/chance.h"

/* Attributes that are on or off. */
static const struct attribute {
    const char *column, *word;
    size_t wish; /* in struct role_args; 0: none */
} attributes[] = {
    { "rolcreatedb", "CREATEDB", offsetof(struct role_args, createdb) },
    { "rolcreaterole", "CREATEROLE", offsetof(struct role_args, createroles) },
    { "rolsuper", "SUPERUSER", offsetof(struct role_args, superuser) },
    { "rolreplication", "REPLICATION", offsetof(struct role_args, replication) },
    { "rolinherit", "INHERIT", offsetof(struct role_args, inherit) },
    { "rolcanlogin", "LOGIN", offsetof(struct role_args, may_login) },
    { "rolbypassrls", "BYPASSRLS", 0 },
};
#define ATTRIBUTES ARRAY_LEN(attributes)

/* Columns that follow the attributes in a query. */
enum column { LIMIT, PASSWORD, VALID_UNTIL, GROUPS, MEMBERS, CONFIG, IS_VALID, ENCRYPTION };
#define COLUMNS (ENCRYPTION + 1)

struct role {
    bool exists;
    bool logs_in; /* if it is created and 'login' is not given */
    bool on[ATTRIBUTES];
    struct str columns[COLUMNS]; /* all a NUL at their end */
};

static enum param_tristate get_role_wish(const struct role_args *args,
                                         const struct attribute *attribute)
{
    return attribute->wish > 0
               ? *(const enum param_tristate *)(const void *)((const char *)args + attribute->wish)
               : PARAM_IS_UNSET;
}

static const char *find_given_password(const char *text)
{
    return text && text[0] != '\0' ? text : NULL;
}

/* --- mistakes --------------------------------------------------------------------------- */

/* How passwords are stored: true and 'md5', or 'scram-sha-256'. False when nothing is said. */
static bool read_encrypted(const struct value *v, enum verifier_kind *ret)
{
    if (!v || v->kind == VALUE_NULL)
        return false;
    *ret = v->kind == VALUE_STR && str_is(v->s, "scram-sha-256") ? VERIFIER_SCRAM : VERIFIER_MD5;
    return true;
}

static int validate_encrypted(const struct value *v, struct diags *diags)
{
    if (!v || v->kind == VALUE_NULL || (v->kind == VALUE_BOOL && v->b) ||
        (v->kind == VALUE_STR && (str_is(v->s, "md5") || str_is(v->s, "scram-sha-256"))))
        return 0;
    if (v->kind == VALUE_BOOL)
        return value_diag(diags, v,
                          "'encrypted: false' is not supported: PostgreSQL stores no passwords in "
                          "plain text since version 10");
    return value_diag(diags, v, "'encrypted' must be true, 'md5' or 'scram-sha-256'");
}

int role_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct role_args *want = args;
    int result = validate_text("name", want->name, VALIDATE_LINE, where, diags) |
                 validate_text("valid_until", want->valid_until, VALIDATE_LINE, where, diags) |
                 validate_texts("groups", want->groups, VALIDATE_LINE, where, diags) |
                 validate_encrypted(want->encrypted, diags) |
                 psql_validate(&want->login, where, diags);

    if (want->name[0] == '\0')
        result = value_diag(diags, value_point(where, "name"), "'name' may not be empty");
    return result;
}

/* --- reading ---------------------------------------------------------------------------- */

static void add_joined(struct buf *sql, const char *query)
{
    buf_printf(sql, ", array_to_string(ARRAY(%s), chr(29))", query);
}

static void add_role_query(struct buf *sql, const struct role_args *args)
{
    buf_add_text(sql, "SELECT ");
    for (size_t i = 0; i < ATTRIBUTES; i++)
        buf_printf(sql, "a.%s, ", attributes[i].column);
    buf_add_text(sql, "a.rolconnlimit, a.rolpassword, a.rolvaliduntil::text");
    add_joined(sql, "SELECT r.rolname FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid "
                    "WHERE m.member = a.oid ORDER BY 1");
    add_joined(sql, "SELECT r.rolname FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member "
                    "WHERE m.roleid = a.oid ORDER BY 1");
    add_joined(sql, "SELECT unnest(setconfig) FROM pg_db_role_setting WHERE setrole = a.oid AND "
                    "setdatabase = 0");
    buf_add_text(sql, ", a.rolvaliduntil IS NOT DISTINCT FROM ");
    if (args->valid_until) {
        psql_add_text(sql, str_from(args->valid_until));
        buf_add_text(sql, "::timestamptz");
    } else {
        buf_add_text(sql, "a.rolvaliduntil");
    }
    buf_add_text(sql, ", current_setting('password_encryption') FROM pg_authid a WHERE rolname = ");
    psql_add_text(sql, str_from(args->name));
    buf_add_char(sql, ';');
}

static int find_role(struct state_run *run, const void *raw, bool is_user,
                     struct resource_seen *ret, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    struct role *role = ARENA_NEW(run->arena, struct role);
    const struct role_args *args = raw;
    struct psql_rows rows;

    ret->more = role;
    role->logs_in = is_user;
    add_role_query(&sql, args);
    if (psql_run(run, &args->login, &sql, &rows, err) < 0)
        return -1;
    if (rows.list.n == 0 || rows.list.p[0].n != ATTRIBUTES + COLUMNS)
        return 0;
    ret->exists = role->exists = true;
    for (size_t i = 0; i < ATTRIBUTES; i++)
        role->on[i] = str_is(rows.list.p[0].fields[i], "t");
    for (size_t i = 0; i < COLUMNS; i++)
        role->columns[i] = rows.list.p[0].fields[ATTRIBUTES + i];
    if (role->columns[PASSWORD].n > 0)
        state_secret(run, role->columns[PASSWORD]);
    return 0;
}

static int find_user_role(struct state_run *run, const void *args, struct resource_seen *ret,
                          struct err *err)
{
    return find_role(run, args, true, ret, err);
}

static int find_group_role(struct state_run *run, const void *args, struct resource_seen *ret,
                           struct err *err)
{
    return find_role(run, args, false, ret, err);
}

static bool is_role_away(struct state_run *run, const void *args)
{
    return psql_is_missing(run, &((const struct role_args *)args)->login, "the role");
}

static bool has_joined_part(struct str joined, struct str part)
{
    while (joined.p && joined.n > 0)
        if (str_eq(str_cut(&joined, PSQL_JOINT), part))
            return true;
    return false;
}

/* The groups that it is not in yet. */
static struct param_strs find_missing_groups(struct state_run *run, const struct role_args *args,
                                             const struct role *now)
{
    VEC(const char *) missing = { 0 };

    for (size_t i = 0; i < args->groups.n; i++) {
        struct str rest = str_from(args->groups.p[i]);

        while (rest.p) {
            const struct str group = str_trim(str_cut(&rest, ','));

            if (group.n > 0 && !has_joined_part(now->columns[GROUPS], group))
                VEC_PUSH_IN(run->arena, &missing, arena_str(run->arena, group).p);
        }
    }
    return (struct param_strs){ missing.n, missing.p };
}

/* The password that counts now; NULL: none. */
static const char *find_wanted_password(const struct role_args *args, const struct role *now)
{
    return find_given_password(args->password) ? args->password
           : now->exists                       ? NULL
                                               : find_given_password(args->default_password);
}

static int compare_role_password(struct state_run *run, const struct role_args *args,
                                 const struct role *now, bool *ret, struct err *err)
{
    const char *password = find_wanted_password(args, now);
    const struct str stored = now->columns[PASSWORD];
    enum verifier_kind kind;
    bool same = false;

    *ret = false;
    if (!password || args->refresh_password)
        return 0;
    if (verifier_is(str_from(password)))
        same = str_is(stored, password);
    else if (verifier_matches(run->arena, stored, args->name, password, &same, err) < 0)
        return -1;
    else if (same && read_encrypted(args->encrypted, &kind))
        same = verifier_kind_of(stored) == kind;
    *ret = !same;
    return 0;
}

/* --- present ---------------------------------------------------------------------------- */

static int compare_role(struct state_run *run, const void *raw, const struct resource_seen *seen,
                        struct err *err)
{
    const struct role_args *args = raw;
    const struct role *now = seen->more;
    const struct param_strs groups = find_missing_groups(run, args, now);
    bool differs;

    for (size_t i = 0; i < ATTRIBUTES; i++) {
        const enum param_tristate wish = get_role_wish(args, &attributes[i]);

        if (wish != PARAM_IS_UNSET && (wish == PARAM_IS_TRUE) != now->on[i])
            state_diff(run, attributes[i].word, now->on[i] ? "true" : "false",
                       now->on[i] ? "false" : "true");
    }
    if (compare_role_password(run, args, now, &differs, err) < 0)
        return -1;
    if (differs) {
        state_differs(run, "'%s' has another password", args->name);
        state_made(run, "changed the password of '%s'", args->name);
    }
    if (!str_is(now->columns[IS_VALID], "t"))
        state_diff(run, "valid until", now->columns[VALID_UNTIL].p, args->valid_until);
    if (groups.n > 0) {
        state_differs(run, "'%s' is not a member of %s", args->name, validate_join(run, groups));
        state_made(run, "made '%s' a member of %s", args->name, validate_join(run, groups));
    }
    if (args->refresh_password && find_given_password(args->password))
        state_acts(run);
    return 0;
}

static void add_attributes(struct buf *sql, const struct role_args *args, const struct role *now)
{
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        enum param_tristate wish = get_role_wish(args, &attributes[i]);

        if (wish == PARAM_IS_UNSET && !now->exists && strcmp(attributes[i].word, "LOGIN") == 0)
            wish = now->logs_in ? PARAM_IS_TRUE : PARAM_IS_FALSE;
        if (wish != PARAM_IS_UNSET)
            buf_printf(sql, " %s%s", wish == PARAM_IS_TRUE ? "" : "NO", attributes[i].word);
    }
}

/* As the server would store it; as it is when it is that already. */
static int add_password(struct state_run *run, const struct role_args *args, const struct role *now,
                        struct buf *sql, struct err *err)
{
    const char *password = find_wanted_password(args, now);
    unsigned char salt[VERIFIER_SALT_SIZE];
    enum verifier_kind kind;

    if (!password)
        return 0;
    if (!read_encrypted(args->encrypted, &kind))
        kind = str_is(now->columns[ENCRYPTION], "scram-sha-256") ? VERIFIER_SCRAM : VERIFIER_MD5;
    chance_bytes(salt, sizeof(salt));
    if (!verifier_is(str_from(password)) &&
        verifier_make(run->arena, kind, args->name, password, salt, &password, err) < 0)
        return -1;
    state_secret(run, str_from(password));
    buf_add_text(sql, " PASSWORD ");
    psql_add_text(sql, str_from(password));
    return 0;
}

/* How the server stores passwords; asked for unless the role exists. */
static int find_encryption(struct state_run *run, const struct role_args *args, struct role *now,
                           struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    struct psql_rows rows;

    if (now->exists)
        return 0;
    buf_add_text(&sql, "SELECT current_setting('password_encryption');");
    if (psql_run(run, &args->login, &sql, &rows, err) < 0)
        return -1;
    if (rows.list.n > 0 && rows.list.p[0].n > 0)
        now->columns[ENCRYPTION] = rows.list.p[0].fields[0];
    return 0;
}

static void add_role_members(struct buf *sql, const char *verb, struct str group, struct str member)
{
    buf_printf(sql, "%s ", verb);
    psql_add_name(sql, group);
    buf_add_text(sql, strcmp(verb, "GRANT") == 0 ? " TO " : " FROM ");
    psql_add_name(sql, member);
    buf_add_text(sql, ";\n");
}

static int change_role(struct state_run *run, const struct role_args *args, const struct role *old,
                       struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct param_strs groups = find_missing_groups(run, args, old);
    struct role role = *old, *now = &role;
    size_t bare;

    if (find_encryption(run, args, now, err) < 0)
        return -1;
    buf_add_text(&sql, now->exists ? "ALTER ROLE " : "CREATE ROLE ");
    psql_add_name(&sql, str_from(args->name));
    bare = sql.n;
    add_attributes(&sql, args, now);
    if (add_password(run, args, now, &sql, err) < 0)
        return -1;
    if (args->valid_until) {
        buf_add_text(&sql, " VALID UNTIL ");
        psql_add_text(&sql, str_from(args->valid_until));
    }
    if (now->exists && sql.n == bare)
        buf_clear(&sql);
    else
        buf_add_text(&sql, ";\n");
    for (size_t i = 0; i < groups.n; i++)
        add_role_members(&sql, "GRANT", str_from(groups.p[i]), str_from(args->name));
    return psql_run(run, &args->login, &sql, NULL, err);
}

static int define_role(struct state_run *run, const void *args, const struct resource_seen *now,
                       const struct resource_seen *as, struct err *err)
{
    (void)as;
    return change_role(run, args, now->more, err);
}

/* --- notes ------------------------------------------------------------------------------ */

static int note_role(struct state_run *run, const void *args, const struct resource_seen *seen,
                     struct err *err)
{
    const struct role *now = seen->more;
    struct value_list *on = value_list_new(run->arena, ATTRIBUTES);
    struct value_list *columns = value_list_new(run->arena, COLUMNS);

    (void)args;
    if (state_note(run, "existed", value_bool(now->exists), err) < 0)
        return -1;
    if (!now->exists)
        return 0;
    for (size_t i = 0; i < ATTRIBUTES; i++)
        value_list_push(run->arena, on, value_bool(now->on[i]));
    for (size_t i = 0; i < COLUMNS; i++)
        value_list_push(run->arena, columns, value_str(now->columns[i]));
    if (state_note(run, "on", value_list(on), err) < 0)
        return -1;
    return state_note(run, "columns", value_list(columns), err);
}

/* False when it was not noted. */
static bool read_noted_role(struct state_run *run, struct role *ret)
{
    const struct value *on = state_noted(run, "on"), *columns = state_noted(run, "columns");

    *ret = (struct role){ .exists = true };
    if (!value_is(on, VALUE_LIST) || on->list->count != ATTRIBUTES ||
        !value_is(columns, VALUE_LIST) || columns->list->count != COLUMNS)
        return false;
    for (size_t i = 0; i < ATTRIBUTES; i++)
        ret->on[i] = on->list->items[i].b;
    for (size_t i = 0; i < COLUMNS; i++)
        ret->columns[i] = columns->list->items[i].s;
    if (ret->columns[PASSWORD].n > 0)
        state_secret(run, ret->columns[PASSWORD]);
    return true;
}

/* --- going back ------------------------------------------------------------------------- */

/* All that a role was. */
static void add_whole(struct buf *sql, const char *verb, const struct role_args *args,
                      const struct role *role)
{
    const struct str password = role->columns[PASSWORD], until = role->columns[VALID_UNTIL];

    buf_printf(sql, "%s ROLE ", verb);
    psql_add_name(sql, str_from(args->name));
    for (size_t i = 0; i < ATTRIBUTES; i++)
        buf_printf(sql, " %s%s", role->on[i] ? "" : "NO", attributes[i].word);
    buf_printf(sql, " CONNECTION LIMIT %.*s PASSWORD ", STR_ARG(role->columns[LIMIT]));
    if (password.n > 0)
        psql_add_text(sql, password);
    else
        buf_add_text(sql, "NULL");
    if (until.n > 0 || args->valid_until) {
        buf_add_text(sql, " VALID UNTIL ");
        psql_add_text(sql, until.n > 0 ? until : STR("infinity"));
    }
    buf_add_text(sql, ";\n");
}

/* Settings whose values are lists, and are written as they are. */
static bool is_list_setting(struct str name)
{
    static const char *const names[] = { "search_path", "temp_tablespaces",
                                         "local_preload_libraries", "session_preload_libraries",
                                         "shared_preload_libraries" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

static void add_role_config(struct buf *sql, const struct role_args *args, struct str config)
{
    while (config.p && config.n > 0) {
        struct str value = str_cut(&config, PSQL_JOINT);
        const struct str name = str_cut(&value, '=');

        buf_add_text(sql, "ALTER ROLE ");
        psql_add_name(sql, str_from(args->name));
        buf_printf(sql, " SET %.*s TO ", STR_ARG(name));
        if (is_list_setting(name))
            buf_add_str(sql, value);
        else
            psql_add_text(sql, value);
        buf_add_text(sql, ";\n");
    }
}

static int drop_role(struct state_run *run, const void *raw, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct role_args *args = raw;

    buf_add_text(&sql, "DROP ROLE ");
    psql_add_name(&sql, str_from(args->name));
    buf_add_text(&sql, ";\n");
    return psql_run(run, &args->login, &sql, NULL, err);
}

static void add_alter(struct buf *sql, const struct role_args *args, const struct role *now,
                      const struct role *before)
{
    struct str groups = now->columns[GROUPS];

    add_whole(sql, "ALTER", args, before);
    while (groups.p && groups.n > 0) {
        const struct str group = str_cut(&groups, PSQL_JOINT);

        if (!has_joined_part(before->columns[GROUPS], group))
            add_role_members(sql, "REVOKE", group, str_from(args->name));
    }
}

static void add_create(struct buf *sql, const struct role_args *args, const struct role *before)
{
    struct str groups = before->columns[GROUPS], members = before->columns[MEMBERS];

    add_whole(sql, "CREATE", args, before);
    add_role_config(sql, args, before->columns[CONFIG]);
    while (groups.p && groups.n > 0)
        add_role_members(sql, "GRANT", str_cut(&groups, PSQL_JOINT), str_from(args->name));
    while (members.p && members.n > 0)
        add_role_members(sql, "GRANT", str_from(args->name), str_cut(&members, PSQL_JOINT));
}

static int restore_role(struct state_run *run, const void *raw, const struct resource_seen *seen,
                        struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct role_args *args = raw;
    struct role before;

    if (!read_noted_role(run, &before)) {
        state_unchanged(run);
        return 0;
    }
    if (seen->exists)
        add_alter(&sql, args, seen->more, &before);
    else
        add_create(&sql, args, &before);
    state_say(run, seen->exists ? "'%s' is as before" : "created '%s' again", args->name);
    return psql_run(run, &args->login, &sql, NULL, err);
}

#define ROLE_RESOURCE(word, finder)                                                                \
    {                                                                                              \
        .kind = word, .detail = "name", .name = offsetof(struct role_args, name),                  \
        .mark = "existed", .is_away = is_role_away, .find = finder, .compare = compare_role,       \
        .note = note_role, .define = define_role, .drop = drop_role, .restore = restore_role,      \
    }
const struct resource role_user = ROLE_RESOURCE("user", find_user_role);
const struct resource role_group = ROLE_RESOURCE("group", find_group_role);
