/*
 * validate - texts that may be part of a line of a system file or on a command line.
 *
 * For the `validate` of modules: what the parameter table cannot check. Memory: the arena
 * of the run. Threads: any.
 */
#ifndef STATES_STATE_VALIDATE_H
#define STATES_STATE_VALIDATE_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/data/params.h"

struct diags;
struct state_run;
struct value;

/* What a text may hold. None may hold a line end or another control character. */
enum validate_kind {
    VALIDATE_LINE,     /* blanks are fine */
    VALIDATE_WORD,     /* no blanks, not empty */
    VALIDATE_FIELD,    /* no colon: of passwd and group */
    VALIDATE_USER,     /* the name of an account, or a number */
    VALIDATE_ARGUMENT, /* a word that no program takes for an option */
};

/* A diagnostic at the value of `key` in the body `where` if the text is not of that kind. A NULL
 * text is fine. */
int validate_text(const char *key, const char *text, enum validate_kind kind,
                  const struct value *where, struct diags *diags);
int validate_texts(const char *key, struct param_strs texts, enum validate_kind kind,
                   const struct value *where, struct diags *diags);

/* Letters, digits and _, no digit first: a valid name of an environment variable. */
bool validate_is_variable(struct str name);

/* "a, b and c" for messages, in the arena; "none" for none. */
const char *validate_join(const struct state_run *run, struct param_strs words);

#endif
