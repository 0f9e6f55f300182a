#include "states/modules/mysql_grants/grants.h"

#include <string.h>
#include <strings.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/modules/file/content.h"
#include "states/modules/mysql_user/identity.h"
#include "states/state/module.h"
#include "states/state/validate.h"

int grants_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct grants_args *want = args;
    struct privileges ignored = { 0 };
    struct str object;
    struct err err;
    int result = validate_text("user", want->user, VALIDATE_LINE, where, diags) |
                 validate_text("host", want->host, VALIDATE_WORD, where, diags) |
                 server_validate(&want->login, where, diags);

    if (privileges_parse(diags->arena, str_from(want->grant), &ignored, &err) < 0)
        result = value_diag(diags, value_point(where, "grant"), "%s", err.text);
    if (privileges_object(diags->arena, str_from(want->database), want->escape, "x", &object,
                          &err) < 0)
        result = value_diag(diags, value_point(where, "database"), "%s", err.text);
    if (grants_read_ssl(diags->arena, want->ssl_option, &object, &err) < 0)
        result = value_diag(diags, want->ssl_option, "%s", err.text);
    return result;
}

/* --- reading ---------------------------------------------------------------------------- */

static int read_granted(struct state_run *run, const struct grants_args *args,
                        struct mysql_grants *grants, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    struct server_rows rows;

    buf_add_text(&sql, "SHOW GRANTS FOR ");
    server_add_account(&sql, args->user, args->host);
    buf_add_char(&sql, ';');
    if (server_run(run, &args->login, &sql, &rows, err) < 0)
        return -1;
    VEC_EACH (&rows.list, row)
        if (privileges_add_grant(run->arena, row->fields[0], grants->object, &grants->have, err) <
            0)
            return -1;
    return 0;
}

int grants_read(struct state_run *run, const struct grants_args *args, struct mysql_grants *ret,
                struct err *err)
{
    *ret = (struct mysql_grants){ 0 };
    if (privileges_parse(run->arena, str_from(args->grant), &ret->want, err) < 0 ||
        privileges_object(run->arena, str_from(args->database), args->escape, args->login.db,
                          &ret->object, err) < 0 ||
        server_show_account(run, &args->login, args->user, args->host, &ret->account, err) < 0)
        return -1;
    if (args->grant_option)
        privileges_add(run->arena, &ret->want, (struct privilege){ STR("GRANT OPTION"), STR("") });
    return ret->account ? read_granted(run, args, ret, err) : 0;
}

/* --- changing --------------------------------------------------------------------------- */

static bool has_privilege_word(const struct privileges *set, const char *word)
{
    VEC_EACH (&set->list, one)
        if (str_is(one->word, word))
            return true;
    return false;
}

static void add_grants_change(struct buf *sql, const struct grants_args *args, const char *verb,
                              struct str object, const struct privileges *set)
{
    const bool grants = strcmp(verb, "GRANT") == 0;

    if (set->list.n == 0)
        return;
    buf_printf(sql, "%s ", verb);
    privileges_print(set, !grants, sql);
    buf_printf(sql, " ON %.*s %s ", STR_ARG(object), grants ? "TO" : "FROM");
    server_add_account(sql, args->user, args->host);
    buf_add_text(sql, grants && has_privilege_word(set, "GRANT OPTION") ? " WITH GRANT OPTION;\n"
                                                                        : ";\n");
}

/* ALL PRIVILEGES cannot be taken away together with others. */
static void add_grants_revoke(struct arena *arena, struct buf *sql, const struct grants_args *args,
                              struct str object, const struct privileges *less)
{
    struct privileges all = { 0 }, rest = { 0 };

    VEC_EACH (&less->list, one)
        privileges_add(arena, str_is(one->word, "ALL PRIVILEGES") ? &all : &rest, *one);
    add_grants_change(sql, args, "REVOKE", object, &all);
    add_grants_change(sql, args, "REVOKE", object, &rest);
}

int grants_change(struct state_run *run, const struct grants_args *args, struct str object,
                  const struct privileges *less, const struct privileges *more, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);

    add_grants_revoke(run->arena, &sql, args, object, less);
    add_grants_change(&sql, args, "GRANT", object, more);
    return sql.n > 0 ? server_run(run, &args->login, &sql, NULL, err) : 0;
}

/* --- revert ----------------------------------------------------------------------------- */

int grants_note(struct state_run *run, const struct mysql_grants *grants, struct err *err)
{
    if (state_note(run, "account", value_text(grants->account), err) < 0)
        return -1;
    return state_note(run, "before", value_text(privileges_text(run->arena, &grants->have)), err);
}

/* Restores the connection requirements with the rest of the account. */
static int restore_account_requirements(struct state_run *run, const struct grants_args *args,
                                        const struct value *account, const char *now,
                                        struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    struct mysql_identity identity;
    const char *alter;

    if (!account || account->kind != VALUE_STR || str_is(account->s, now))
        return 0;
    identity_parse(run->arena, account->s, &identity);
    state_secret(run, identity.hash);
    alter = identity_alter(run->arena, account->s);
    buf_printf(&sql, "%s%s;", alter, strstr(alter, " REQUIRE ") ? "" : " REQUIRE NONE");
    return server_run(run, &args->login, &sql, NULL, err);
}

int grants_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct grants_args *want = args;
    const struct value *before = state_noted(run, "before");
    struct privileges old = { 0 }, less, more;
    struct mysql_grants now;

    if (grants_read(run, want, &now, err) < 0)
        return -1;
    if (!before || before->kind != VALUE_STR || !now.account) {
        state_unchanged(run);
        return 0;
    }
    if (privileges_parse(run->arena, before->s, &old, err) < 0)
        return -1;
    less = privileges_minus(run->arena, &now.have, &old);
    if (has_privilege_word(&less, "ALL PRIVILEGES"))
        more = old;
    else
        more = privileges_minus(run->arena, &old, &now.have);
    state_say(run, "restored the privileges of '%s'@'%s' on %.*s", want->user, want->host,
              STR_ARG(now.object));
    if (grants_change(run, want, now.object, &less, &more, err) < 0)
        return -1;
    return want->ssl_option ? restore_account_requirements(run, want, state_noted(run, "account"),
                                                           now.account, err)
                            : 0;
}

/* --- encrypted connections -------------------------------------------------------------- */

static const struct ssl_word {
    const char *name;
    bool has_value;
} ssl_words[] = {
    { "SSL", false }, { "X509", false }, { "SUBJECT", true }, { "ISSUER", true }, { "CIPHER", true }
};

static const struct ssl_word *find_ssl_word(const struct value *key)
{
    for (size_t i = 0; key->kind == VALUE_STR && i < ARRAY_LEN(ssl_words); i++)
        if (strcasecmp(key->s.p, ssl_words[i].name) == 0)
            return &ssl_words[i];
    return NULL;
}

static int add_ssl(struct buf *out, const struct value_pair *pair, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct ssl_word *word = find_ssl_word(&pair->key);

    if (!word)
        return err_set(err, ERR_INVALID,
                       "'ssl_option' supports only SSL, X509, SUBJECT, ISSUER and CIPHER");
    if (!word->has_value && !value_is_true(&pair->value))
        return 0;
    buf_add_text(out, out->n > 0 ? " AND " : "");
    buf_add_text(out, word->name);
    if (word->has_value) {
        content_add_scalar(&text, &pair->value);
        buf_add_char(out, ' ');
        server_add_text(out, buf_view(&text));
    }
    return 0;
}

static int add_ssl_map(struct buf *out, const struct value *map, struct err *err)
{
    if (map->kind != VALUE_MAP)
        return err_set(err, ERR_INVALID, "'ssl_option' must be a list of maps: [{SSL: true}]");
    for (size_t i = 0; i < map->map->count; i++)
        if (add_ssl(out, &map->map->pairs[i], err) < 0)
            return -1;
    return 0;
}

int grants_read_ssl(struct arena *arena, const struct value *option, struct str *ret,
                    struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    *ret = STR("");
    if (!option || !value_is_true(option))
        return 0;
    if (option->kind != VALUE_LIST)
        return add_ssl_map(&out, option, err) < 0 ? -1 : (*ret = buf_copy(&out, arena), 0);
    for (size_t i = 0; i < option->list->count; i++)
        if (add_ssl_map(&out, &option->list->items[i], err) < 0)
            return -1;
    *ret = buf_copy(&out, arena);
    return 0;
}

bool grants_has_ssl(struct arena *arena, const char *account, const struct value *option)
{
    const char *clause = strstr(account, " REQUIRE ");
    struct str rest;
    struct err err;

    if (grants_read_ssl(arena, option, &rest, &err) < 0 || rest.n == 0)
        return rest.n == 0;
    while (clause && rest.p) {
        const size_t at = str_find(rest, STR(" AND "), 0);
        const struct str one = str_slice(rest, 0, at == STR_NONE ? rest.n : at);

        if (str_find(str_from(clause), one, 0) == STR_NONE)
            return false;
        rest = at == STR_NONE ? (struct str){ NULL, 0 } : str_from_offset(rest, at + 5);
    }
    return clause != NULL;
}
