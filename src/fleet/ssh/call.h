/*
 * ssh_call - runs one function on one machine, from login to answer.
 *
 * One ssh process, one login: its standard input and output are the channel of fleet/ssh/message.h.
 * The machine stops when that channel ends, for any reason: a canceled call, a killed zester, a
 * broken connection.
 *
 * Memory: the arena. Threads: any, one for each call; it blocks.
 */
#ifndef FLEET_SSH_CALL_H
#define FLEET_SSH_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/wire/exec.h"

struct arena;
struct cancel;
struct ssh_machine;
struct ssh_tree;
struct ssh_program;
struct ssh_settings;

/* The request to every machine. */
struct ssh_question {
    const char *ssh; /* the program */
    const struct exec_request *request;
    const struct ssh_tree *tree;         /* NULL: no tree of states needed */
    const struct ssh_settings *settings; /* NULL: none needed */
    const struct cancel *cancel;
};

enum ssh_call_end {
    SSH_CALL_ANSWERED,    /* `response` is an ExecResponse, not decoded yet */
    SSH_CALL_CLEANED,     /* of ssh_call_clean */
    SSH_CALL_FAILED,      /* `why`: nothing ran, or its result is unknown */
    SSH_CALL_UNREACHABLE, /* `why`: no login, or the connection was lost */
};

struct ssh_outcome {
    enum ssh_call_end end;
    struct str response;
    const char *why;
};

void ssh_call_make(struct arena *arena, const struct ssh_question *question,
                   const struct ssh_machine *machine, const struct ssh_program *program,
                   struct ssh_outcome *ret);
/* Removes files of earlier calls from the machine; undo data stays. */
void ssh_call_clean(struct arena *arena, const struct ssh_question *question,
                    const struct ssh_machine *machine, struct ssh_outcome *ret);

#endif
