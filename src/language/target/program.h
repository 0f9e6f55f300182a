/*
 * program - a parsed target, for the matcher: rows of terms, each with the next term to try. A term
 * only continues at terms before it, or ends.
 */
#ifndef LANGUAGE_TARGET_PROGRAM_H
#define LANGUAGE_TARGET_PROGRAM_H

#include <stdint.h>

#include "language/target/target.h"
#include "language/target/term.h"

struct target {
    uint32_t start, count;
    struct term terms[];
};

/* The id with dots for underscores, or the other way around; a NULL view when it has neither. */
struct str program_other_id(struct str id, char room[static TARGET_ID_MAX]);

#endif
