#include "core/base/suggest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Words of up to this many bytes allow one mistake only. */
#define SHORT_WORD 4
/* An abbreviation has at least this many bytes. */
#define ABBREVIATION_MIN 3
/* An ending that a user may have added: 'installing' for 'install'. */
#define ENDING_MAX 3

/* Mistakes count double, so that an abbreviation can stand between one and two of them. */
#define SCORE_MISTAKE      2
#define SCORE_ABBREVIATION 3
#define SCORE_NONE         SIZE_MAX

/* Case, and '-' against '_', make no difference. */
static char fold_name_char(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c == '_' ? '-' : c;
}

static size_t get_lesser_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance with swaps of neighbours, over three rows of the usual table. */
static size_t measure_distance(struct str a, struct str b)
{
    size_t rows[3][SUGGEST_WORD_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 0; j <= b.n; j++)
        above[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t *oldest = before;

        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            char x = fold_name_char(a.p[i - 1]), y = fold_name_char(b.p[j - 1]);

            row[j] =
                get_lesser_size(above[j - 1] + (x != y), get_lesser_size(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == fold_name_char(b.p[j - 2]) &&
                y == fold_name_char(a.p[i - 2]))
                row[j] = get_lesser_size(row[j], before[j - 2] + 1);
        }
        before = above;
        above = row;
        row = oldest;
    }
    return above[b.n];
}

static bool has_folded_prefix(struct str text, struct str prefix)
{
    if (prefix.n > text.n)
        return false;
    for (size_t i = 0; i < prefix.n; i++)
        if (fold_name_char(text.p[i]) != fold_name_char(prefix.p[i]))
            return false;
    return true;
}

static bool is_abbreviation(struct str word, struct str candidate)
{
    if (word.n < ABBREVIATION_MIN || candidate.n < ABBREVIATION_MIN)
        return false;
    if (has_folded_prefix(candidate, word))
        return true;
    return word.n - get_lesser_size(candidate.n, word.n) <= ENDING_MAX &&
           has_folded_prefix(word, candidate);
}

static size_t score_candidate(struct str word, struct str candidate)
{
    size_t allowed = word.n > SHORT_WORD ? 2 : 1;
    size_t longer = word.n > candidate.n ? word.n - candidate.n : candidate.n - word.n;
    size_t mistakes = longer <= allowed ? measure_distance(word, candidate) : SCORE_NONE;

    /* One letter for another is a different word, not a mistake. */
    if (mistakes == 0 || (mistakes <= allowed && mistakes < get_lesser_size(word.n, candidate.n)))
        return mistakes * SCORE_MISTAKE;
    if (is_abbreviation(word, candidate))
        return SCORE_ABBREVIATION;
    return SCORE_NONE;
}

void suggest_init(struct suggest *suggest, struct str word)
{
    *suggest = (struct suggest){ .word = word, .score = SCORE_NONE };
}

void suggest_offer(struct suggest *suggest, struct str candidate)
{
    size_t now;

    if (suggest->word.n == 0 || suggest->word.n > SUGGEST_WORD_MAX || candidate.n == 0 ||
        candidate.n > SUGGEST_WORD_MAX)
        return;
    now = score_candidate(suggest->word, candidate);
    /* The shorter one of two words with the same abbreviation. */
    if (now < suggest->score ||
        (now == SCORE_ABBREVIATION && now == suggest->score && candidate.n < suggest->best.n)) {
        suggest->best = candidate;
        suggest->score = now;
    }
}

struct str suggest_best(const struct suggest *suggest)
{
    return suggest->best;
}

const char *suggest(struct str word, const char *const *candidates, size_t count)
{
    struct suggest state;

    suggest_init(&state, word);
    for (size_t i = 0; i < count; i++)
        suggest_offer(&state, str_from(candidates[i]));
    return state.best.p;
}
