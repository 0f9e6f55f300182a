/*
 * suggest - "did you mean 'name'?"
 *
 * The candidate nearest to an unknown word: equal but for case or for
 * '-' against '_', a few typing mistakes away (insert, drop, change, swap), or
 * cut short ('env' for 'environment'). Words of up to four bytes allow one mistake,
 * longer ones two. Of equally near candidates the first offered wins.
 *
 *     best = suggest(word, names, ARRAY_LEN(names));
 *
 * or, when the candidates are not in one array:
 *
 *     struct suggest s;
 *     suggest_init(&s, word);
 *     suggest_offer(&s, name)...
 *     best = suggest_best(&s);
 *
 * Memory: none; the word and the candidates are borrowed. Threads: any.
 */
#ifndef CORE_BASE_SUGGEST_H
#define CORE_BASE_SUGGEST_H

#include <stddef.h>

#include "core/base/str.h"

/* Longer words get no suggestion, and longer candidates are ignored. */
#define SUGGEST_WORD_MAX 64

struct suggest {
    struct str word;
    struct str best; /* a NULL view: none yet */
    size_t score;    /* score of the best; lower is nearer */
};

/* NULL when no candidate is near. */
const char *suggest(struct str word, const char *const *candidates, size_t count);

void suggest_init(struct suggest *suggest, struct str word);
void suggest_offer(struct suggest *suggest, struct str candidate);
/* A view of the nearest candidate; a NULL view when none is near. */
struct str suggest_best(const struct suggest *suggest);

#endif
