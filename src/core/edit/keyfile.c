#include "core/edit/keyfile.h"

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/edit/lines.h"

bool keyfile_is_type(struct str word)
{
    static const char *const starts[] = { "ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-" };

    for (size_t i = 0; i < ARRAY_LEN(starts); i++)
        if (str_starts(word, str_from(starts[i])))
            return true;
    return false;
}

/* A word; quoted blanks do not end it. */
static struct str options_word(struct str *rest)
{
    const struct str text = str_trim_left(*rest);
    bool quoted = false;
    size_t n = 0;

    for (; n < text.n && (quoted || (text.p[n] != ' ' && text.p[n] != '\t')); n++) {
        if (text.p[n] == '\\' && n + 1 < text.n && text.p[n + 1] == '"')
            n++;
        else if (text.p[n] == '"')
            quoted = !quoted;
    }
    *rest = str_from_offset(text, n);
    return str_slice(text, 0, n);
}

bool keyfile_parse(struct str line, struct keyfile_key *ret_key)
{
    struct keyfile_key key = { STR(""), STR(""), STR(""), STR("") };
    struct str rest = line, after = line;

    if (str_trim(line).n == 0 || str_trim_left(line).p[0] == '#')
        return false;
    key.type = lines_word(&after);
    if (!keyfile_is_type(key.type)) {
        key.options = options_word(&rest);
        key.type = lines_word(&rest);
        after = rest;
    }
    key.blob = lines_word(&after);
    key.comment = str_trim(after);
    *ret_key = key;
    return keyfile_is_type(key.type) && key.blob.n > 0;
}

static bool has_blob(struct str line, struct str blob)
{
    struct keyfile_key key;

    return keyfile_parse(line, &key) && str_eq(key.blob, blob);
}

struct str keyfile_find(struct str text, struct str blob)
{
    struct line line;

    while (lines_next(&text, &line))
        if (has_blob(line.text, blob))
            return line.text;
    return (struct str){ NULL, 0 };
}

void keyfile_set(struct str text, struct str blob, struct str line, struct buf *out)
{
    lines_put(out, text, has_blob, blob, line);
}
