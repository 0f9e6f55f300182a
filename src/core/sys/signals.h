/*
 * signals - signals by name and number.
 */
#ifndef CORE_SYS_SIGNALS_H
#define CORE_SYS_SIGNALS_H

#include "core/base/str.h"

struct buf;

/* "SIGTERM", or NULL for a number without a name (real-time signals have none). */
const char *signal_name(int signo);
/* "SIGTERM", "TERM", "term", "15", "SIGRTMIN+3"; 0 when it is none of these. */
int signal_parse(struct str text);
/* The name, or "signal 42". */
void signal_print(int signo, struct buf *out);

#endif
