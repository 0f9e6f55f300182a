/*
 * machine - what states of the machine (accounts, services, system files) share: tools,
 * and texts that may stand in a line of a system file.
 *
 * Threads: any.
 */
#ifndef MODULES_MACHINE_H
#define MODULES_MACHINE_H

#include <stdbool.h>

#include "data/params.h"
#include "provider/tool.h"

struct diags;
struct state_run;
struct value;

/* For programs that this state runs. */
struct tool machine_tool(const struct state_run *run);

/* What a text may not hold. Nothing may hold a line end or another control character. */
enum machine_text {
    MACHINE_LINE,     /* blanks are fine */
    MACHINE_WORD,     /* no blanks, not empty */
    MACHINE_FIELD,    /* no colon: of passwd and group */
    MACHINE_USER,     /* the name of an account, or a number */
    MACHINE_ARGUMENT, /* a word that no program takes for an option */
};

/* A diagnostic at the value of `key` in the body `where` when the text is not so. A NULL text is
 * fine. */
int machine_validate(const char *key, const char *text, enum machine_text kind,
                     const struct value *where, struct diags *diags);
int machine_validate_all(const char *key, struct param_strs texts, enum machine_text kind,
                         const struct value *where, struct diags *diags);

/* Letters, digits and _, no digit first: what a variable of the environment may be called. */
bool machine_is_variable(struct str name);

/* "a, b and c" for messages, in the arena; "none" for none. */
const char *machine_join(const struct state_run *run, struct param_strs words);

#endif
