#include "core/base/redact.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/base/arena.h"
#include "core/base/suggest.h"

/* A longer line is not worth a search: only the part around the mistake would be shown. */
#define LINE_MAX_SIZE ((size_t)64 << 10)

/* In lower case; the position in a key does not matter: DB_PASSWORD, password_hash. */
static const char *const words[] = {
    "passw",  "passphrase", "secret",      "token",       "credential",
    "apikey", "api_key",    "private_key", "private-key", "privatekey",
};

static bool is_key_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool has_word_at(struct str line, size_t at)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const struct str word = str_from(words[i]);

        if (at + word.n <= line.n && strncasecmp(line.p + at, word.p, word.n) == 0)
            return true;
    }
    return false;
}

static size_t skip_line_blanks(struct str line, size_t at)
{
    while (at < line.n && (line.p[at] == ' ' || line.p[at] == '\t'))
        at++;
    return at;
}

/* The start of the value of a key with one of the words at `at`; 0: no value. */
static size_t value_after(struct str line, size_t at)
{
    while (at < line.n && is_key_char(line.p[at]))
        at++;
    if (at < line.n && (line.p[at] == '"' || line.p[at] == '\''))
        at++;
    at = skip_line_blanks(line, at);
    if (at >= line.n || (line.p[at] != ':' && line.p[at] != '='))
        return 0;
    if (at + 1 < line.n && line.p[at + 1] == '=')
        return 0; /* a comparison */
    return skip_line_blanks(line, at + 1);
}

/* The end of a tag at `at` that marks a secret, misspelt or not; 0: none. */
static size_t find_secret_tag_end(struct str line, size_t at)
{
    static const char *const tags[] = { "!secret", "!encrypted" };
    size_t end = at + 1;

    if (line.p[at] != '!')
        return 0;
    while (end < line.n && is_key_char(line.p[end]))
        end++;
    if (str_is(str_slice(line, at, end - at), "!secret_from"))
        return 0; /* it only names the secret */
    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        if (str_starts(str_from_offset(line, at), str_from(tags[i])))
            return at + strlen(tags[i]);
    return suggest(str_slice(line, at, end - at), tags, ARRAY_LEN(tags)) ? end : 0;
}

/* The start of the first secret of the line: possibly the end of the line, when its value follows
 * below. STR_NONE: none. */
static size_t find_secret(struct str line)
{
    for (size_t i = 0; i < line.n; i++) {
        size_t value = find_secret_tag_end(line, i);

        if (value == 0 && has_word_at(line, i))
            value = value_after(line, i);
        if (value > 0)
            return skip_line_blanks(line, value);
    }
    return STR_NONE;
}

/* A value that only names the secret. */
static bool is_secret_expression(struct str value)
{
    value = str_trim(value);
    if (value.n > 2 && (value.p[0] == '"' || value.p[0] == '\'') &&
        value.p[value.n - 1] == value.p[0])
        value = str_slice(value, 1, value.n - 2);
    if (value.n > 0 && value.p[0] == '$')
        value = str_from_offset(value, 1);
    return str_starts(value, STR("{{")) && str_find(value, STR("}}"), 0) == value.n - 2;
}

/* The column of its first word, after the dashes of lists. */
static size_t count_indent(struct str line)
{
    size_t at = skip_line_blanks(line, 0);

    while (at + 1 < line.n && line.p[at] == '-' && line.p[at + 1] == ' ')
        at = skip_line_blanks(line, at + 1);
    return at;
}

/* Is the line, which begins at `at`, part of a value that began above? Its parents are the less
 * indented lines above. */
static bool is_below_secret(struct str text, size_t at)
{
    size_t indent = count_indent(str_line_at(text, at));

    while (at > 0 && indent > 0) {
        struct str above;

        at--; /* the line end before it */
        while (at > 0 && text.p[at - 1] != '\n')
            at--;
        above = str_line_at(text, at);
        if (str_trim(above).n == 0 || count_indent(above) >= indent)
            continue;
        indent = count_indent(above);
        if (find_secret(above) != STR_NONE)
            return true;
    }
    return false;
}

/* The start of the hidden part of the line at `at`; STR_NONE: all of it can be shown. */
static size_t find_hidden(struct str text, size_t at)
{
    const struct str line = str_line_at(text, at);
    const size_t hidden = is_below_secret(text, at) ? count_indent(line) : find_secret(line);

    if (hidden == STR_NONE || hidden >= line.n ||
        is_secret_expression(str_from_offset(line, hidden)))
        return STR_NONE;
    return hidden;
}

struct str redact_line(struct arena *arena, struct str text, size_t at)
{
    const struct str line = str_line_at(text, at);
    size_t hidden;

    if (line.n > LINE_MAX_SIZE)
        return (struct str){ NULL, 0 };
    hidden = find_hidden(text, at);
    return hidden == STR_NONE
               ? arena_str(arena, line)
               : str_from(arena_printf(arena, "%.*s" REDACTED, str_int(hidden), line.p));
}

bool redact_hides(struct str text, size_t at)
{
    const struct str line = str_line_at(text, at);
    const size_t start = (size_t)(line.p - text.p);

    return line.n > LINE_MAX_SIZE || find_hidden(text, start) <= at - start;
}
