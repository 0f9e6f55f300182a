/*
 * term - one matcher of an expression: a glob, a list, a fact, a subnet.
 *
 * The table of prefixes is here: "G@" is TARGET_FACT, and so on.
 *
 * Memory: in the arena. Threads: any number may match.
 */
#ifndef LANGUAGE_TARGET_TERM_H
#define LANGUAGE_TARGET_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/base/str.h"
#include "language/target/subnet.h"
#include "language/target/target.h"
#include "language/target/wild.h"

struct arena;
struct err;
struct matcher;
struct pair;

/* Where to continue after a term: the number of the next one, or one of these. */
#define TERM_ACCEPT UINT32_MAX
#define TERM_REJECT (UINT32_MAX - 1)

struct term {
    enum target_type type; /* never COMPOUND or GROUP */
    bool negated;          /* under an odd number of `not` */
    uint32_t next[2];      /* after false, after true */
    union {
        struct wild wild;
        struct map list; /* ids */
        struct subnet subnet;
        const struct matcher *matcher;
        const struct pair *pair;
    };
};

/* A subject with the second form of its id: '.' for '_' or the other way around; a NULL view when
 * there is none. */
struct term_subject {
    struct str id, other;
    const struct value *facts, *settings;
};

/* The type for a prefix letter; TARGET_COMPOUND when there is none. */
enum target_type term_prefix_type(char letter);
/* "E@ G@ ...", for hints. */
const char *term_prefixes(void);
/* Is a text of this type a regular expression, with backslashes and sets? */
bool term_is_regex(enum target_type type);

bool term_is_about_settings(const struct term *term);

/* `text` is the word without its prefix. Fails with ERR_INVALID or ERR_LIMIT; `reterr_at` is the
 * byte of the mistake in the text. */
int term_parse(struct arena *arena, enum target_type type, struct str text, struct term *ret_term,
               size_t *reterr_at, struct err *err);

int term_match(const struct term *term, const struct term_subject *subject, bool *ret_matches,
               struct err *err);

#endif
