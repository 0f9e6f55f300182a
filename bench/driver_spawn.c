/* driver_spawn FILE: run each line of FILE by the shell, and again when it ends. The least that a
 * supervisor does; bench/kepler.py compares with it. */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN_MAX  1000
#define LINE_MAX_SIZE 4096

static struct {
    pid_t pid;
    char command[LINE_MAX_SIZE];
} children[CHILDREN_MAX];

static pid_t start(char *command)
{
    char shell[] = "sh", option[] = "-c";
    char *argv[] = { shell, option, command, NULL };
    pid_t pid;

    return posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) == 0 ? pid : -1;
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "re") : NULL;
    int count = 0;
    pid_t pid;

    if (!file)
        return 1;
    for (; count < CHILDREN_MAX && fgets(children[count].command, LINE_MAX_SIZE, file); count++)
        children[count].pid = start(children[count].command);
    (void)fclose(file);
    while ((pid = wait(NULL)) > 0)
        for (int i = 0; i < count; i++)
            if (children[i].pid == pid)
                children[i].pid = start(children[i].command);
    return 0;
}
