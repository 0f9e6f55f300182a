#include "states/state/validate.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/data/value.h"
#include "states/state/module.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static bool has_control_char(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    return false;
}

static bool is_user(const char *text)
{
    const size_t first = strspn(text, NAME_LETTERS);
    const size_t n = first + strspn(text + first, NAME_LETTERS ".@-");

    return first > 0 && (text[n] == '\0' || (text[n] == '$' && text[n + 1] == '\0'));
}

static const char *find_mistake(const char *text, enum validate_kind kind)
{
    if (kind != VALIDATE_LINE && text[0] == '\0')
        return "must not be empty";
    switch (kind) {
    case VALIDATE_LINE:
        return has_control_char(text) ? "must not contain control characters" : NULL;
    case VALIDATE_FIELD:
        return has_control_char(text) || strchr(text, ':')
                   ? "must not contain colons or control characters"
                   : NULL;
    case VALIDATE_USER:
        return is_user(text) ? NULL
                             : "is not a valid account name: use only letters, digits and _ . @ -";
    case VALIDATE_ARGUMENT:
        if (text[0] == '-')
            return "must not begin with a dash";
        break;
    case VALIDATE_WORD: break;
    }
    return has_control_char(text) || strchr(text, ' ')
               ? "must not contain blanks or control characters"
               : NULL;
}

int validate_text(const char *key, const char *text, enum validate_kind kind,
                  const struct value *where, struct diags *diags)
{
    const char *why = text ? find_mistake(text, kind) : NULL;

    return why ? value_diag(diags, value_point(where, key), "'%s' %s", key, why) : 0;
}

int validate_texts(const char *key, struct param_strs texts, enum validate_kind kind,
                   const struct value *where, struct diags *diags)
{
    int result = 0;

    for (size_t i = 0; i < texts.n; i++)
        if (validate_text(key, texts.p[i], kind, where, diags) < 0)
            result = -1;
    return result;
}

bool validate_is_variable(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!memchr(NAME_LETTERS, name.p[i], sizeof(NAME_LETTERS) - 1))
            return false;
    return name.n > 0 && (name.p[0] < '0' || name.p[0] > '9');
}

const char *validate_join(const struct state_run *run, struct param_strs words)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < words.n; i++)
        buf_printf(&out, "%s%s", i == 0 ? "" : i + 1 == words.n ? " and " : ", ", words.p[i]);
    return words.n == 0 ? "none" : buf_copy(&out, run->arena).p;
}
