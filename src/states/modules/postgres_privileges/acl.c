#include "states/modules/postgres_privileges/acl.h"

#include <string.h>
#include <strings.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/state/module.h"
#include "states/state/validate.h"

/* In the order of ACL_TYPES. The query names objects as SQL (o), their list (a) and owner (w);
 * `name` is compared with the name of the object. */
static const struct type {
    const char *word, *sql, *code, *query, *name;
    bool in_schema;
} types[] = {
    { "table", "TABLE", "r",
      "SELECT format('%I.%I', n.nspname, c.relname) o, c.relacl a, c.relowner w FROM pg_class c "
      "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r','v','m','f','p')",
      "c.relname", true },
    { "sequence", "SEQUENCE", "s",
      "SELECT format('%I.%I', n.nspname, c.relname) o, c.relacl a, c.relowner w FROM pg_class c "
      "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'S'",
      "c.relname", true },
    { "schema", "SCHEMA", "n",
      "SELECT format('%I', nspname) o, nspacl a, nspowner w FROM pg_namespace WHERE true",
      "nspname", false },
    { "tablespace", "TABLESPACE", "t",
      "SELECT format('%I', spcname) o, spcacl a, spcowner w FROM pg_tablespace WHERE true",
      "spcname", false },
    { "language", "LANGUAGE", "l",
      "SELECT format('%I', lanname) o, lanacl a, lanowner w FROM pg_language WHERE true", "lanname",
      false },
    { "database", "DATABASE", "d",
      "SELECT format('%I', datname) o, datacl a, datdba w FROM pg_database WHERE true", "datname",
      false },
    { "group", "", "", "", "", false },
    { "function", "FUNCTION", "f",
      "SELECT p.oid::regprocedure::text o, p.proacl a, p.proowner w FROM pg_proc p WHERE true",
      "p.oid", false },
};

static const struct type *find_object_type(const struct acl_args *args)
{
    return &types[args->object_type];
}

const char *acl_type_word(const struct acl_args *args)
{
    return find_object_type(args)->word;
}

static bool is_group(const struct acl_args *args)
{
    return strcmp(find_object_type(args)->word, "group") == 0;
}

static bool is_every(const struct acl_args *args)
{
    return find_object_type(args)->in_schema && strcasecmp(args->object_name, "ALL") == 0;
}

static bool is_public(const struct acl_args *args)
{
    return strcasecmp(args->name, "public") == 0;
}

/* --- privileges ------------------------------------------------------------------------- */

static const char *const known_words[] = {
    "ALL",     "SELECT", "INSERT", "UPDATE",  "DELETE",  "TRUNCATE", "REFERENCES",
    "TRIGGER", "USAGE",  "CREATE", "CONNECT", "EXECUTE", "MAINTAIN", "TEMPORARY",
};

/* The word as access lists have it; NULL: there is none. */
static const char *find_privilege_word(struct str text)
{
    if (text.n == 4 && strncasecmp(text.p, "temp", 4) == 0)
        return "TEMPORARY";
    if (text.n == 14 && strncasecmp(text.p, "all privileges", 14) == 0)
        return "ALL";
    for (size_t i = 0; i < ARRAY_LEN(known_words); i++)
        if (strlen(known_words[i]) == text.n && strncasecmp(text.p, known_words[i], text.n) == 0)
            return known_words[i];
    return NULL;
}

int acl_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct acl_args *want = args;
    int result = validate_text("name", want->name, VALIDATE_LINE, where, diags) |
                 validate_text("object_name", want->object_name, VALIDATE_LINE, where, diags) |
                 validate_text("prepend", want->prepend, VALIDATE_LINE, where, diags) |
                 psql_validate(&want->login, where, diags);

    for (size_t i = 0; i < want->privileges.n; i++) {
        struct str rest = str_from(want->privileges.p[i]);

        while (rest.p) {
            const struct str word = str_trim(str_cut(&rest, ','));

            if (!find_privilege_word(word))
                result = value_diag(diags, value_point(where, "privileges"),
                                    "'%.*s' is not a valid privilege", STR_ARG(word));
        }
    }
    if (is_group(want) && want->privileges.n > 0)
        result = value_diag(diags, value_point(where, "privileges"),
                            "'privileges' is not supported for groups: only membership is granted");
    if (!is_group(want) && want->privileges.n == 0)
        result = value_diag(diags, where, "'privileges' is required");
    return result;
}

/* --- reading ---------------------------------------------------------------------------- */

static void add_role_id(struct buf *sql, const struct acl_args *args)
{
    if (is_public(args)) {
        buf_add_text(sql, "0::oid");
        return;
    }
    buf_add_text(sql, "(SELECT oid FROM pg_roles WHERE rolname = ");
    psql_add_text(sql, str_from(args->name));
    buf_add_char(sql, ')');
}

/* "f(int)" is that of the schema, unless it names one. */
static void add_acl_function(struct state_run *run, struct buf *sql, const struct acl_args *args)
{
    const struct str name = str_from(args->object_name);
    const size_t open = str_find_char(name, '(', 0), dot = str_find_char(name, '.', 0);

    buf_add_text(sql, " = to_regprocedure(");
    psql_add_text(sql, dot < open ? name
                                  : str_from(arena_printf(run->arena, "\"%s\".%s", args->prepend,
                                                          args->object_name)));
    buf_add_char(sql, ')');
}

static void add_objects(struct state_run *run, struct buf *sql, const struct acl_args *args)
{
    const struct type *type = find_object_type(args);

    buf_add_text(sql, type->query);
    if (type->in_schema) {
        buf_add_text(sql, " AND n.nspname = ");
        psql_add_text(sql, str_from(args->prepend));
    }
    if (is_every(args))
        return;
    buf_printf(sql, " AND %s", type->name);
    if (strcmp(type->word, "function") == 0) {
        add_acl_function(run, sql, args);
        return;
    }
    buf_add_text(sql, " = ");
    psql_add_text(sql, str_from(args->object_name));
}

/* Rows of object, privilege, whether it can be passed on, and whether the role exists. */
static void add_acl_query(struct state_run *run, struct buf *sql, const struct acl_args *args)
{
    if (is_group(args)) {
        buf_add_text(sql, "SELECT format('%I', g.rolname), CASE WHEN m.member IS NULL THEN '' ELSE "
                          "'MEMBER' END, m.admin_option, ");
        add_role_id(sql, args);
        buf_add_text(sql, " IS NOT NULL FROM pg_roles g LEFT JOIN pg_auth_members m ON m.roleid = "
                          "g.oid AND m.member = ");
        add_role_id(sql, args);
        buf_add_text(sql, " WHERE g.rolname = ");
        psql_add_text(sql, str_from(args->object_name));
    } else {
        buf_add_text(sql, "SELECT q.o, x.privilege_type, x.is_grantable, ");
        add_role_id(sql, args);
        buf_add_text(sql, " IS NOT NULL FROM (");
        add_objects(run, sql, args);
        buf_printf(sql,
                   ") q LEFT JOIN LATERAL aclexplode(coalesce(q.a, acldefault('%s', q.w))) x ON "
                   "x.grantee = ",
                   find_object_type(args)->code);
        add_role_id(sql, args);
        buf_add_text(sql, " ORDER BY 1, 2");
    }
    buf_add_char(sql, ';');
}

static void read_have(struct state_run *run, const struct psql_rows *rows,
                      struct privilege_list *acl)
{
    VEC_EACH (&rows->list, row) {
        if (row->n != 4)
            continue;
        acl->has_role = str_is(row->fields[3], "t");
        if (acl->objects.n == 0 || !str_eq(acl->objects.p[acl->objects.n - 1], row->fields[0]))
            VEC_PUSH_IN(run->arena, &acl->objects, row->fields[0]);
        if (row->fields[1].n > 0)
            VEC_PUSH_IN(
                run->arena, &acl->have.list,
                (struct acl_entry){ row->fields[0], row->fields[1], str_is(row->fields[2], "t") });
    }
}

static void add_wish(struct state_run *run, const struct acl_args *args, struct str word,
                     struct privilege_list *acl)
{
    VEC_EACH (&acl->objects, object) {
        const struct acl_entry entry = { *object, word, args->grant_option };

        if (!acl_find(&acl->want, &entry))
            VEC_PUSH_IN(run->arena, &acl->want.list, entry);
    }
}

/* All privileges of this server version are those that an owner has by default. */
static int add_all_privileges(struct state_run *run, const struct acl_args *args,
                              struct privilege_list *acl, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    struct psql_rows rows;

    buf_printf(&sql,
               "SELECT privilege_type FROM aclexplode(acldefault('%s', 10::oid)) WHERE grantee = "
               "10;",
               find_object_type(args)->code);
    if (psql_run(run, &args->login, &sql, &rows, err) < 0)
        return -1;
    VEC_EACH (&rows.list, row)
        add_wish(run, args, row->fields[0], acl);
    return 0;
}

static int read_want(struct state_run *run, const struct acl_args *args, struct privilege_list *acl,
                     struct err *err)
{
    if (is_group(args)) {
        add_wish(run, args, STR("MEMBER"), acl);
        return 0;
    }
    for (size_t i = 0; i < args->privileges.n; i++) {
        struct str rest = str_from(args->privileges.p[i]);

        while (rest.p) {
            const char *word = find_privilege_word(str_trim(str_cut(&rest, ',')));

            if (word && strcmp(word, "ALL") != 0)
                add_wish(run, args, str_from(word), acl);
            else if (word && add_all_privileges(run, args, acl, err) < 0)
                return -1;
        }
    }
    return 0;
}

int acl_read(struct state_run *run, const struct acl_args *args, struct privilege_list *ret,
             struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    struct psql_rows rows;

    *ret = (struct privilege_list){ .has_role = true, .every = is_every(args) };
    add_acl_query(run, &sql, args);
    if (psql_run(run, &args->login, &sql, &rows, err) < 0)
        return -1;
    read_have(run, &rows, ret);
    return read_want(run, args, ret, err);
}

const struct acl_entry *acl_find(const struct acl_entries *entries, const struct acl_entry *like)
{
    VEC_EACH (&entries->list, entry)
        if (str_eq(entry->object, like->object) && str_eq(entry->privilege, like->privilege))
            return entry;
    return NULL;
}

/* --- changing --------------------------------------------------------------------------- */

static void add_role(struct buf *sql, const struct acl_args *args)
{
    if (is_public(args))
        buf_add_text(sql, "PUBLIC");
    else
        psql_add_name(sql, str_from(args->name));
}

/* `option`: only the right to pass it on. */
static void add_acl_revoke(struct buf *sql, const struct acl_args *args,
                           const struct acl_entry *entry, bool option)
{
    buf_add_text(sql, "REVOKE ");
    if (is_group(args))
        buf_printf(sql, "%s%.*s FROM ", option ? "ADMIN OPTION FOR " : "", STR_ARG(entry->object));
    else
        buf_printf(sql, "%s%.*s ON %s %.*s FROM ", option ? "GRANT OPTION FOR " : "",
                   STR_ARG(entry->privilege), find_object_type(args)->sql, STR_ARG(entry->object));
    add_role(sql, args);
    buf_add_text(sql, ";\n");
}

static void add_grant(struct buf *sql, const struct acl_args *args, const struct acl_entry *entry)
{
    buf_add_text(sql, "GRANT ");
    if (is_group(args))
        buf_printf(sql, "%.*s TO ", STR_ARG(entry->object));
    else
        buf_printf(sql, "%.*s ON %s %.*s TO ", STR_ARG(entry->privilege),
                   find_object_type(args)->sql, STR_ARG(entry->object));
    add_role(sql, args);
    if (entry->grantable)
        buf_add_text(sql, is_group(args) ? " WITH ADMIN OPTION" : " WITH GRANT OPTION");
    buf_add_text(sql, ";\n");
}

int acl_change(struct state_run *run, const struct acl_args *args, const struct acl_entries *less,
               const struct acl_entries *more, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);

    VEC_EACH (&less->list, entry)
        add_acl_revoke(&sql, args, entry, false);
    VEC_EACH (&more->list, entry)
        add_grant(&sql, args, entry);
    return sql.n > 0 ? psql_run(run, &args->login, &sql, NULL, err) : 0;
}

/* --- going back ------------------------------------------------------------------------- */

int acl_note(struct state_run *run, const struct privilege_list *acl, struct err *err)
{
    struct value_list *before = value_list_new(run->arena, acl->have.list.n);

    VEC_EACH (&acl->have.list, entry) {
        struct value_list *one = value_list_new(run->arena, 3);

        value_list_push(run->arena, one, value_str(entry->object));
        value_list_push(run->arena, one, value_str(entry->privilege));
        value_list_push(run->arena, one, value_bool(entry->grantable));
        value_list_push(run->arena, before, value_list(one));
    }
    return state_note(run, "before", value_list(before), err);
}

static void read_acl_note(struct state_run *run, const struct value *before,
                          struct acl_entries *ret)
{
    *ret = (struct acl_entries){ 0 };
    for (size_t i = 0; i < before->list->count; i++) {
        const struct value *one = &before->list->items[i];

        if (value_is(one, VALUE_LIST) && one->list->count == 3)
            VEC_PUSH_IN(run->arena, &ret->list,
                        (struct acl_entry){ one->list->items[0].s, one->list->items[1].s,
                                            one->list->items[2].b });
    }
}

int acl_revert(struct state_run *run, const void *args, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct acl_args *want = args;
    const struct value *noted = state_noted(run, "before");
    struct acl_entries before;
    struct privilege_list now;

    if (acl_read(run, want, &now, err) < 0)
        return -1;
    if (!value_is(noted, VALUE_LIST) || now.objects.n == 0 || !now.has_role) {
        state_unchanged(run);
        return 0;
    }
    read_acl_note(run, noted, &before);
    VEC_EACH (&now.have.list, entry) {
        const struct acl_entry *old = acl_find(&before, entry);

        if (!old || (entry->grantable && !old->grantable))
            add_acl_revoke(&sql, want, entry, old != NULL);
    }
    VEC_EACH (&before.list, entry) {
        const struct acl_entry *left = acl_find(&now.have, entry);

        if (!left || (entry->grantable && !left->grantable))
            add_grant(&sql, want, entry);
    }
    state_say(run, "'%s' has its former privileges again", want->name);
    return sql.n > 0 ? psql_run(run, &want->login, &sql, NULL, err) : 0;
}
