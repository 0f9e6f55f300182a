#include "modules/machine.h"

#include <string.h>

#include "base/buf.h"
#include "base/diag.h"
#include "data/value.h"
#include "state/host.h"
#include "state/module.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

struct tool machine_tool(const struct state_run *run)
{
    return (struct tool){ .arena = run->arena, .cancel = run->host->cancel };
}

static bool has_control(const char *text)
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

static const char *mistake(const char *text, enum machine_text kind)
{
    if (kind != MACHINE_LINE && text[0] == '\0')
        return "may not be empty";
    switch (kind) {
    case MACHINE_LINE: return has_control(text) ? "may not hold control characters" : NULL;
    case MACHINE_FIELD:
        return has_control(text) || strchr(text, ':') ? "may not hold colons or control characters"
                                                      : NULL;
    case MACHINE_USER:
        return is_user(text) ? NULL : "is no name of an account: letters, digits, _ . @ -";
    case MACHINE_ARGUMENT:
        if (text[0] == '-')
            return "may not begin with a dash";
        break;
    case MACHINE_WORD: break;
    }
    return has_control(text) || strchr(text, ' ') ? "may not hold blanks or control characters"
                                                  : NULL;
}

int machine_validate(const char *key, const char *text, enum machine_text kind,
                     const struct value *where, struct diags *diags)
{
    const char *why = text ? mistake(text, kind) : NULL;

    return why ? value_diag(diags, value_point(where, key), "'%s' %s", key, why) : 0;
}

int machine_validate_all(const char *key, struct param_strs texts, enum machine_text kind,
                         const struct value *where, struct diags *diags)
{
    int result = 0;

    for (size_t i = 0; i < texts.n; i++)
        if (machine_validate(key, texts.p[i], kind, where, diags) < 0)
            result = -1;
    return result;
}

bool machine_is_variable(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!memchr(NAME_LETTERS, name.p[i], sizeof(NAME_LETTERS) - 1))
            return false;
    return name.n > 0 && (name.p[0] < '0' || name.p[0] > '9');
}

const char *machine_join(const struct state_run *run, struct param_strs words)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < words.n; i++)
        buf_printf(&out, "%s%s", i == 0 ? "" : i + 1 == words.n ? " and " : ", ", words.p[i]);
    return words.n == 0 ? "none" : buf_copy(&out, run->arena).p;
}
