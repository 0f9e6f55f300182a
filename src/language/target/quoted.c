#include "language/target/quoted.h"

#include <string.h>

#include "core/base/arena.h"

static bool opens_quote(struct str word, size_t at)
{
    if (word.p[at] != '"' && word.p[at] != '\'')
        return false;
    return at == 0 || (word.p[at - 1] != '\0' && strchr("@:,=<>!", word.p[at - 1]));
}

size_t quoted_skip(struct str word, size_t at)
{
    if (!opens_quote(word, at))
        return at;
    for (size_t i = at + 1; i < word.n; i++) {
        if (word.p[i] == '\\' && i + 1 < word.n && word.p[i + 1] == word.p[at])
            i++;
        else if (word.p[i] == word.p[at])
            return i + 1;
    }
    return STR_NONE;
}

size_t quoted_find(struct str word, char c, size_t from)
{
    size_t i = from;

    while (i < word.n) {
        size_t end = quoted_skip(word, i);

        if (end == STR_NONE || end == i) {
            if (word.p[i] == c)
                return i;
            i++;
        } else {
            i = end;
        }
    }
    return STR_NONE;
}

struct str quoted_remove(struct arena *arena, struct str word)
{
    char *text = arena_alloc(arena, word.n + 1);
    size_t n = 0, i = 0;

    while (i < word.n) {
        size_t end = quoted_skip(word, i);
        char quote = word.p[i];

        if (end == STR_NONE || end == i) {
            text[n++] = word.p[i++];
            continue;
        }
        for (i++; i < end - 1; i++) {
            if (word.p[i] == '\\' && word.p[i + 1] == quote)
                i++;
            text[n++] = word.p[i];
        }
        i = end;
    }
    text[n] = '\0';
    return (struct str){ text, n };
}
