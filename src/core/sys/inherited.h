/*
 * inherited - resets what a program inherits from its parent.
 *
 * A shell, cron, a supervisor or an application server passes on ignored and blocked signals, a
 * umask and closed streams. Without a reset, children could not be waited for (SIGCHLD ignored), a
 * time limit would never end a run (SIGALRM blocked), the first opened file would become standard
 * output, and a file size limit would kill us instead of failing a write.
 *
 * Each program calls inherited_reset first, before it has threads or open files. Its children start
 * with default actions and no blocked signal (core/sys/child.c).
 */
#ifndef CORE_SYS_INHERITED_H
#define CORE_SYS_INHERITED_H

#include <stdbool.h>

enum inherited_role {
    INHERITED_COMMAND, /* a foreground program: signals ignored by nohup or a shell stay ignored */
    INHERITED_DAEMON,  /* a daemon: ignores only the signals that it chooses to */
};

void inherited_reset(enum inherited_role role);
/* Was the signal ignored at the start, and must it stay so? */
bool inherited_is_ignored(int signo);

#endif
