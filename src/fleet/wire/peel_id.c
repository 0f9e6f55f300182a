#include "fleet/wire/peel_id.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool peel_id_is_valid(struct str id)
{
    if (id.n == 0 || id.n > PEEL_ID_MAX || !is_letter_or_digit(id.p[0]))
        return false;
    for (size_t i = 1; i < id.n; i++)
        if (!is_letter_or_digit(id.p[i]) && id.p[i] != '_' && id.p[i] != '-')
            return false;
    return true;
}

/* A name never begins with a dot, so '_' in front is not one: "_master". */
static void swap_letters(struct str from, char a, char b, char *to)
{
    for (size_t i = 0; i < from.n; i++)
        to[i] = from.p[i] == a && i > 0 ? b : from.p[i];
    to[from.n] = '\0';
}

int peel_id_encode(struct str name, char id[static PEEL_ID_SIZE], struct err *err)
{
    char draft[PEEL_ID_SIZE];

    if (name.n == 0)
        return err_set(err, ERR_INVALID, "a peel name must not be empty");
    if (name.n > PEEL_ID_MAX)
        return err_set(err, ERR_LIMIT, "a peel name has more than %d characters", PEEL_ID_MAX);
    if (memchr(name.p, '_', name.n))
        return err_set(err, ERR_INVALID,
                       "'%.*s' is not a valid peel name: '_' stands for a dot; use '-' instead",
                       STR_ARG(name));
    swap_letters(name, '.', '_', draft);
    if (!peel_id_is_valid(str_from(draft)))
        return err_set(err, ERR_INVALID,
                       "'%.*s' is not a valid peel name: letters, digits, '-' and '.' only, and a "
                       "letter or digit first",
                       STR_ARG(name));
    memcpy(id, draft, name.n + 1);
    return 0;
}

int peel_id_read(const char *word, char id[static PEEL_ID_SIZE], struct err *err)
{
    const struct str text = str_from(word);

    if (!peel_id_is_valid(text))
        return peel_id_encode(text, id, err);
    memcpy(id, word, text.n + 1);
    return 0;
}

void peel_id_decode(struct str id, char name[static PEEL_ID_SIZE])
{
    struct str shown = str_slice(id, 0, id.n < PEEL_ID_MAX ? id.n : PEEL_ID_MAX);

    swap_letters(shown, '_', '.', name);
}

const char *peel_id_name(struct arena *arena, const char *id)
{
    char name[PEEL_ID_SIZE];

    if (!peel_id_is_valid(str_from(id)))
        return id;
    peel_id_decode(str_from(id), name);
    return arena_strdup(arena, name);
}

bool peel_id_is_local_name(struct str name)
{
    static const char *const names[] = {
        "localhost",  "localhost.localdomain", "localhost4",
        "localhost6", "ip6-localhost",         "ip6-loopback",
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i]))
            return true;
    return str_starts(name, STR("localhost."));
}
