/*
 * terminal - the whole screen, for a command that draws on it, and the terminal as it was when the
 * command ends, however it ends.
 *
 *     terminal_open -> { terminal_draw }... -> terminal_close
 *
 * While it is open: the other screen of the terminal, no cursor, no line wrap, keys as they come
 * without echo; Ctrl-C and Ctrl-Z are keys. exit() closes it, and so do signals that kill
 * (SIGSEGV and the like), which then kill. Signals that ask to end are the caller's.
 *
 * One for each process. Threads: one.
 */
#ifndef COMMANDS_CLI_SHARED_TERMINAL_H
#define COMMANDS_CLI_SHARED_TERMINAL_H

#include <stdbool.h>

#include "core/base/str.h"

struct buf;
struct err;

/* Print `prompt` on standard error, and append a line of standard input, a terminal, that is not
 * shown while it is typed. Fails with ERR_CANCELED after Ctrl-C. */
int terminal_ask_secret(const char *prompt, struct buf *out, struct err *err);

/* Are standard input and standard error a terminal, so that somebody can be asked? */
bool terminal_can_ask(void);
/* Ask a question on standard error. False unless the answer is yes; also after Ctrl-C. */
bool terminal_agrees(const char *question);

/* Are standard input and output one that can be drawn on? */
bool terminal_is_there(void);
int terminal_open(struct err *err);
/* Does nothing if it is not open. */
void terminal_close(void);

/* Replace the picture: lines that end with \n; as many as there are rows at most. */
void terminal_draw(struct str lines);

#endif
