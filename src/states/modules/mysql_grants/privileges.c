#include "states/modules/mysql_grants/privileges.h"

#include <ctype.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/modules/mysql/server.h"

#define ALL    "ALL PRIVILEGES"
#define OPTION "GRANT OPTION"

/* The words that MySQL 8 prints for ALL PRIVILEGES ON *.*. */
static const char *const global_words[] = {
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "RELOAD",
    "SHUTDOWN",
    "PROCESS",
    "FILE",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "SHOW DATABASES",
    "SUPER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "EXECUTE",
    "REPLICATION SLAVE",
    "REPLICATION CLIENT",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "CREATE USER",
    "EVENT",
    "TRIGGER",
    "CREATE TABLESPACE",
    "CREATE ROLE",
    "DROP ROLE",
};

/* --- scanning --------------------------------------------------------------------------- */

/* Where `part` begins outside of quotes and parentheses; STR_NONE. */
static size_t find_outside(struct str text, struct str part)
{
    char quote = '\0';
    int depth = 0;

    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];

        if (!quote && depth == 0 && str_starts(str_from_offset(text, i), part))
            return i;
        if (quote)
            quote = c == quote ? '\0' : quote;
        else if (c == '`' || c == '\'' || c == '"')
            quote = c;
        else if (c == '(' || c == ')')
            depth += c == '(' ? 1 : -1;
    }
    return STR_NONE;
}

/* Cut at `part` outside of quotes; all of it, and a NULL rest, when there is none. */
static struct str cut_outside(struct str *rest, struct str part)
{
    const size_t at = find_outside(*rest, part);
    const struct str head = str_slice(*rest, 0, at == STR_NONE ? rest->n : at);

    *rest = at == STR_NONE ? (struct str){ NULL, 0 } : str_from_offset(*rest, at + part.n);
    return head;
}

/* Without backticks around it, and with one for two inside. */
static struct str unquote_name(struct arena *arena, struct str name)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct str trimmed = str_trim(name);

    if (trimmed.n < 2 || trimmed.p[0] != '`' || trimmed.p[trimmed.n - 1] != '`')
        return trimmed;
    for (size_t i = 1; i + 1 < trimmed.n; i++) {
        buf_add_char(&out, trimmed.p[i]);
        i += trimmed.p[i] == '`';
    }
    return buf_copy(&out, arena);
}

/* --- sets ------------------------------------------------------------------------------- */

/* In capitals, with one blank between words; a NULL view when there is something else. */
static struct str read_privilege_word(struct arena *arena, struct str text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];

        if (isspace((unsigned char)c)) {
            if (out.n > 0 && out.p[out.n - 1] != ' ')
                buf_add_char(&out, ' ');
        } else if (isalnum((unsigned char)c) || c == '_') {
            buf_add_char(&out, (char)toupper((unsigned char)c));
        } else {
            return (struct str){ NULL, 0 };
        }
    }
    if (str_is(str_trim(buf_view(&out)), "ALL"))
        return STR(ALL);
    return out.n > 0 ? str_trim(buf_copy(&out, arena)) : (struct str){ NULL, 0 };
}

static bool is_same_privilege(const struct privilege *a, const struct privilege *b)
{
    return str_eq(a->word, b->word) && str_eq(a->column, b->column);
}

void privileges_add(struct arena *arena, struct privileges *set, struct privilege one)
{
    VEC_EACH (&set->list, old)
        if (is_same_privilege(old, &one))
            return;
    if (!str_is(one.word, "USAGE"))
        VEC_PUSH_IN(arena, &set->list, one);
}

/* "SELECT", or "SELECT (a, b)". */
static int parse_one(struct arena *arena, struct str text, struct privileges *set, struct err *err)
{
    const size_t open = str_find_char(text, '(', 0);
    const struct str word =
        read_privilege_word(arena, str_slice(text, 0, open == STR_NONE ? text.n : open));
    struct str columns;

    if (!word.p || (open != STR_NONE && text.p[text.n - 1] != ')'))
        return err_set(err, ERR_INVALID, "'%.*s' is not a valid privilege", STR_ARG(text));
    if (open == STR_NONE) {
        privileges_add(arena, set, (struct privilege){ word, STR("") });
        return 0;
    }
    columns = str_slice(text, open + 1, text.n - open - 2);
    while (columns.p) {
        const struct str column = unquote_name(arena, cut_outside(&columns, STR(",")));

        if (column.n == 0)
            return err_set(err, ERR_INVALID, "'%.*s' has a column without a name", STR_ARG(text));
        privileges_add(arena, set, (struct privilege){ word, column });
    }
    return 0;
}

int privileges_parse(struct arena *arena, struct str text, struct privileges *set, struct err *err)
{
    while (text.p)
        if (parse_one(arena, str_trim(cut_outside(&text, STR(","))), set, err) < 0)
            return -1;
    return 0;
}

int privileges_add_grant(struct arena *arena, struct str line, struct str object,
                         struct privileges *set, struct err *err)
{
    struct str rest = line, words;

    if (!str_starts(line, STR("GRANT ")))
        return 0;
    rest = str_from_offset(line, sizeof("GRANT ") - 1);
    words = cut_outside(&rest, STR(" ON "));
    if (!rest.p || !str_eq(cut_outside(&rest, STR(" TO ")), object))
        return 0;
    if (rest.p && find_outside(rest, STR(OPTION)) != STR_NONE)
        privileges_add(arena, set, (struct privilege){ STR(OPTION), STR("") });
    return privileges_parse(arena, words, set, err);
}

static bool has_privilege(const struct privileges *set, struct str word, struct str column)
{
    const struct privilege one = { word, column };

    VEC_EACH (&set->list, old)
        if (is_same_privilege(old, &one))
            return true;
    return false;
}

static bool has_all(const struct privileges *set)
{
    if (has_privilege(set, STR(ALL), STR("")))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(global_words); i++)
        if (!has_privilege(set, str_from(global_words[i]), STR("")))
            return false;
    return true;
}

bool privileges_cover(const struct privileges *set, const struct privilege *one)
{
    if (has_privilege(set, one->word, one->column) || has_privilege(set, one->word, STR("")))
        return true;
    return !str_is(one->word, OPTION) && has_all(set);
}

struct privileges privileges_minus(struct arena *arena, const struct privileges *a,
                                   const struct privileges *b)
{
    struct privileges left = { 0 };

    VEC_EACH (&a->list, one)
        if (!privileges_cover(b, one))
            privileges_add(arena, &left, *one);
    return left;
}

void privileges_print(const struct privileges *set, bool option, struct buf *out)
{
    const size_t start = out->n;

    VEC_EACH (&set->list, one) {
        if (str_is(one->word, OPTION) && !option)
            continue;
        buf_add_text(out, out->n > start ? ", " : "");
        buf_add_str(out, one->word);
        if (one->column.n == 0)
            continue;
        buf_add_text(out, " (");
        server_add_name(out, one->column);
        buf_add_char(out, ')');
    }
    if (out->n == start)
        buf_add_text(out, "USAGE");
}

const char *privileges_text(struct arena *arena, const struct privileges *set)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    privileges_print(set, true, &text);
    return buf_copy(&text, arena).p;
}

/* --- objects ---------------------------------------------------------------------------- */

static void add_database(struct buf *out, struct str name, bool escape)
{
    AUTO_BUF struct buf plain = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < name.n; i++) {
        if (escape && (name.p[i] == '_' || name.p[i] == '%'))
            buf_add_char(&plain, '\\');
        buf_add_char(&plain, name.p[i]);
    }
    server_add_name(out, buf_view(&plain));
}

int privileges_object(struct arena *arena, struct str level, bool escape, const char *fallback,
                      struct str *ret, struct err *err)
{
    static const char *const kinds[] = { "PROCEDURE ", "FUNCTION ", "TABLE " };
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = str_trim(level), database;
    bool every;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_starts(rest, str_from(kinds[i]))) {
            buf_add_text(&out, i < 2 ? kinds[i] : ""); /* servers do not print TABLE */
            rest = str_trim(str_from_offset(rest, str_from(kinds[i]).n));
        }
    if (str_is(rest, "*") && fallback)
        rest = str_from(arena_printf(arena, "%s.*", fallback));
    database = unquote_name(arena, cut_outside(&rest, STR(".")));
    if (!rest.p || database.n == 0 || str_trim(rest).n == 0)
        return err_set(err, ERR_INVALID,
                       "'%.*s' is not a valid privilege level: write *.*, DATABASE.* or "
                       "DATABASE.TABLE",
                       STR_ARG(level));
    every = str_is(str_trim(rest), "*");
    if (every && str_is(database, "*"))
        buf_add_char(&out, '*');
    else
        add_database(&out, database, escape && every);
    buf_add_char(&out, '.');
    if (every)
        buf_add_char(&out, '*');
    else
        server_add_name(&out, unquote_name(arena, rest));
    *ret = buf_copy(&out, arena);
    return 0;
}
