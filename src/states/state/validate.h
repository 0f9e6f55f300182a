/*
 * validate - checks texts that go into system files or command lines.
 *
 * For the `validate` function of modules: checks beyond the parameter table. Memory: the arena of
 * the run. Threads: any.
 */
#ifndef STATES_STATE_VALIDATE_H
#define STATES_STATE_VALIDATE_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/data/params.h"

struct diags;
struct state_run;
struct value;

/* Allowed content of a text. Control characters, including newlines, are never allowed. */
enum validate_kind {
    VALIDATE_LINE,     /* may contain blanks */
    VALIDATE_WORD,     /* no blanks, not empty */
    VALIDATE_FIELD,    /* a field of passwd or group: no colon */
    VALIDATE_USER,     /* the name of an account, or a number */
    VALIDATE_ARGUMENT, /* a word that no program parses as an option */
};

/* Report a text that is not of this kind, at the value of `key` in the body `where`. NULL is fine.
 *  */
int validate_text(const char *key, const char *text, enum validate_kind kind,
                  const struct value *where, struct diags *diags);
int validate_texts(const char *key, struct param_strs texts, enum validate_kind kind,
                   const struct value *where, struct diags *diags);

/* A valid environment variable name: letters, digits and _, not starting with a digit. */
bool validate_is_variable(struct str name);

/* "a, b and c" for messages, in the arena; "none" for none. */
const char *validate_join(const struct state_run *run, struct param_strs words);

#endif
