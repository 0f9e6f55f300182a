#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/provider/command_line.h"

TEST(a_running_process_is_found_by_its_command_line)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    /* As nobody else's: another one of these tests may run. */
    const char *text = arena_printf(&arena, "read line; : looked-for by %d.", getpid());
    const char *words = arena_printf(&arena, "-c %s", text);
    struct err err;
    bool found;
    int ends[2];
    pid_t child;

    CHECK_INT(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        (void)dup2(ends[0], 0); /* nothing comes, so it stays */
        (void)execl("/bin/sh", "sh", "-c", text, (char *)NULL);
        _exit(127);
    }
    CHECK(child > 0);
    do {
        CHECK_INT(command_line_find(words, &found, &err), 0);
    } while (!found && waitpid(child, NULL, WNOHANG) == 0);
    CHECK(found);
    CHECK_INT(command_line_find("-c read another line; : looked-for by", &found, &err), 0);
    CHECK(!found);
    CHECK_INT(kill(child, SIGKILL), 0);
    CHECK_INT(waitpid(child, NULL, 0), child);
    CHECK_INT(command_line_find(words, &found, &err), 0);
    CHECK(!found);
}
