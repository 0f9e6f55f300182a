#include "states/modules/mysql_user/identity.h"

#include <ctype.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/digest.h"
#include "core/base/hex.h"

/* A word, or a quoted string, where quotes are doubled and a backslash escapes. */
static struct str next_token(struct arena *arena, struct str *rest)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct str text = str_trim_left(*rest);
    const char quote = text.n > 0 && (text.p[0] == '\'' || text.p[0] == '`') ? text.p[0] : '\0';
    size_t i = quote ? 1 : 0;

    for (; i < text.n; i++) {
        if (!quote && isspace((unsigned char)text.p[i]))
            break;
        if (quote == '\'' && text.p[i] == '\\' && i + 1 < text.n) {
            i++;
        } else if (quote && text.p[i] == quote) {
            if (i + 1 >= text.n || text.p[i + 1] != quote) {
                i++;
                break;
            }
            i++;
        }
        buf_add_char(&out, text.p[i]);
    }
    *rest = str_from_offset(text, i);
    return buf_copy(&out, arena);
}

/* After the account, which may hold any word in its quotes. */
static struct str skip_account(struct arena *arena, struct str rest)
{
    (void)next_token(arena, &rest); /* CREATE */
    (void)next_token(arena, &rest); /* USER */
    (void)next_token(arena, &rest);
    if (rest.n > 0 && rest.p[0] == '@') {
        rest = str_from_offset(rest, 1);
        (void)next_token(arena, &rest);
    }
    return rest;
}

void identity_parse(struct arena *arena, struct str statement, struct mysql_identity *ret)
{
    struct str rest = skip_account(arena, statement), ahead, word;

    *ret = (struct mysql_identity){ .plugin = STR(IDENTITY_NATIVE), .hash = STR("") };
    if (!str_is(next_token(arena, &rest), "IDENTIFIED"))
        return;
    if (str_is(next_token(arena, &rest), "BY")) {
        (void)next_token(arena, &rest); /* PASSWORD */
        ret->hash = next_token(arena, &rest);
        return;
    }
    ret->plugin = next_token(arena, &rest);
    ahead = rest;
    word = next_token(arena, &ahead);
    if (str_is(word, "USING") || str_is(word, "AS")) {
        ret->hash = next_token(arena, &ahead);
        word = next_token(arena, &ahead);
    }
    ret->several = str_is(word, "OR");
}

const char *identity_alter(struct arena *arena, struct str statement)
{
    struct str rest = skip_account(arena, statement), ahead = rest;
    const size_t verb = sizeof("CREATE") - 1;
    const size_t account = (size_t)(rest.p - statement.p);
    const bool named = str_is(next_token(arena, &ahead), "IDENTIFIED");

    return arena_printf(arena, "ALTER%.*s%s%.*s",
                        STR_ARG(str_slice(statement, verb, account - verb)),
                        named ? "" : " IDENTIFIED BY ''", STR_ARG(rest));
}

/* SHA-1 of SHA-1. */
int identity_hash_native(struct arena *arena, const char *password, const char **ret,
                         struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const struct digest *sha1 = digest_find(STR("sha1"));
    char text[DIGEST_HEX_MAX], *out;

    if (digest_hex(sha1, str_from(password), NULL, text, err) < 0 ||
        hex_decode(str_from(text), &bytes, err) < 0 ||
        digest_hex(sha1, buf_view(&bytes), NULL, text, err) < 0)
        return -1;
    out = arena_printf(arena, "*%s", text);
    for (char *p = out; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    *ret = out;
    return 0;
}
