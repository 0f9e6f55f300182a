/*
 * quoted - words of an expression, with quotes.
 *
 * A quote, ' or ", opens at the start of a word or right after one of "@:,=<>!" and
 * ends at the next of its kind; inside, a backslash before that quote stands for the
 * quote. Anywhere else a quote is an ordinary character, as in E@it's.
 *
 * Threads: any.
 */
#ifndef LANGUAGE_TARGET_QUOTED_H
#define LANGUAGE_TARGET_QUOTED_H

#include "core/base/str.h"

struct arena;

/* When a quote opens at `at`: the offset after its end, or STR_NONE when nothing closes it. Else
 * `at`. */
size_t quoted_skip(struct str word, size_t at);

/* The place of `c` outside of quotes, at `from` or later; or STR_NONE. `from` is not inside quotes.
 */
size_t quoted_find(struct str word, char c, size_t from);

/* The word without its quotes, in the arena. */
struct str quoted_remove(struct arena *arena, struct str word);

#endif
