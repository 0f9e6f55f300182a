/*
 * inherited - what a program got from the one that started it, and must not depend on.
 *
 * A shell, cron, a supervisor or an application server hands on ignored and blocked signals, a
 * umask and closed streams. Left as they are, children could not be waited for (SIGCHLD ignored),
 * a time limit would never end a run (SIGALRM blocked), the first file that is opened would become
 * standard output, and a limit on the size of files would kill us instead of failing a write.
 *
 * Each program calls inherited_reset first of all, before it has threads or open files. What it
 * starts begins with default actions and no blocked signal (core/sys/child.c).
 */
#ifndef CORE_SYS_INHERITED_H
#define CORE_SYS_INHERITED_H

#include <stdbool.h>

enum inherited_role {
    INHERITED_COMMAND, /* runs for somebody: what nohup or a shell lets it ignore stays ignored */
    INHERITED_DAEMON,  /* ignores only what it chooses to */
};

void inherited_reset(enum inherited_role role);
/* Was the signal ignored at the start, and is to stay so? */
bool inherited_is_ignored(int signo);

#endif
