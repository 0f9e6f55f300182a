/* kepler daemon start, stop, restart, status. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/suggest.h"
#include "commands/cli/kepler/kepler.h"
#include "commands/cli/kepler/client.h"
#include "kepler/control/home.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/lock.h"
#include "core/sys/process.h"
#include "core/sys/program.h"

#define PROGRAM "kepler-daemon"
/* How long a daemon may take to listen, after it has ended what an earlier one left; and to
 * release its home. */
#define START_MAX (30 * CLOCK_SECOND)
#define STOP_MAX  (10 * CLOCK_SECOND)
#define LOOK_MS   10
/* How much of the log to show when a daemon did not start. */
#define LAST_WORDS_SIZE 4096

struct daemon_args {
    struct kepler_globals globals;
    bool detach, leave_running;
};

#define ARGS struct daemon_args

static const struct param options[] = {
    PARAM("detach", BOOL, ARGS, detach, "start: run in the background", .aliases = "d"),
    PARAM("leave-running", BOOL, ARGS, leave_running, "stop: leave services running"),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};

static void wait_briefly(void)
{
    (void)poll(NULL, 0, LOOK_MS);
}

/* --- start ----------------------------------------------------------------------------------- */

/* In our own folder, else in PATH. */
static int find_kepler_program(struct arena *arena, const char **ret_path, struct err *err)
{
    *ret_path = program_find_beside(arena, PROGRAM);
    if (!*ret_path)
        return err_set(err, ERR_NOT_FOUND, "program '%s' not found next to kepler or in PATH",
                       PROGRAM);
    return 0;
}

static bool is_listening(const struct home *home)
{
    AUTO_FD int fd = -1;
    struct err ignored;

    return home_connect(home, &fd, &ignored) == 0;
}

/* A daemon that refuses the connection is not absent. */
static bool is_absent(const struct home *home)
{
    AUTO_FD int fd = -1;
    struct err err;

    return home_connect(home, &fd, &err) < 0 && err.code == ERR_NOT_FOUND;
}

static int open_daemon_log(const struct home *home, int *ret_fd, struct err *err)
{
    if (fs_mkdirs(home->root, 0700, err) < 0)
        return -1;
    *ret_fd = open(home->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
    return *ret_fd < 0 ? err_sys(err, errno, "open '%s'", home->log) : 0;
}

/* Print the error that the daemon logged after `begin`; else the path of its log. */
static int report_reason(struct arena *arena, const struct home *home, off_t begin, struct err *err)
{
    char text[LAST_WORDS_SIZE];
    AUTO_FD int fd = open(home->log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text), begin);
    struct str rest = { text, n > 0 ? (size_t)n : 0 }, last = { NULL, 0 };

    while (rest.p && rest.n > 0) {
        struct str line = str_cut(&rest, '\n');
        size_t at = str_find(line, STR("error="), 0);

        if (at != STR_NONE && str_find(line, STR(" error daemon cannot "), 0) != STR_NONE)
            last = str_from_offset(line, at + strlen("error="));
    }
    last = str_cut(&last, '\033'); /* strip the end of a colour, if any */
    if (last.p)
        return err_set(err, ERR_INVALID, "the daemon did not start: %s",
                       arena_strndup(arena, last.p, last.n));
    return err_set(err, ERR_INVALID, "the daemon did not start: see '%s'", home->log);
}

/* Was another daemon started at the same time? Then wait for that one. */
static bool has_other(const struct home *home)
{
    struct err ignored;
    pid_t holder;

    return lock_holder(home->lock, &holder, &ignored) == 0 && holder > 0;
}

/* Wait until it listens, ends, or the time is up. */
static int wait_for_start(struct arena *arena, const struct process *process,
                          const struct home *home, off_t begin, struct err *err)
{
    int64_t deadline = clock_after(clock_real(), START_MAX);
    struct process_status status;
    bool ended = false;

    while (!is_listening(home)) {
        if (!ended && process_reap(process->pidfd, &ended, &status, err) < 0)
            return -1;
        if (ended && !has_other(home))
            return report_reason(arena, home, begin, err);
        if (clock_real() > deadline)
            return err_set(err, ERR_TIMEOUT, "the daemon is not listening after %d s: see '%s'",
                           (int)(START_MAX / CLOCK_SECOND), home->log);
        wait_briefly();
    }
    return 0;
}

static int start_detached(struct arena *arena, const struct home *home, const char *program,
                          struct err *err)
{
    const char *argv[] = { program, NULL };
    AUTO_FD int log = -1;
    struct process_spec spec = { .argv = argv, .cwd = "/", .group = PROCESS_GROUP_SESSION };
    struct process process;
    off_t begin;
    int result;

    if (open_daemon_log(home, &log, err) < 0)
        return -1;
    begin = lseek(log, 0, SEEK_END);
    spec.out = spec.err = (struct process_stream){ .kind = PROCESS_FD, .fd = log };
    if (process_start(&spec, &process, err) < 0)
        return -1;
    result = wait_for_start(arena, &process, home, begin, err);
    process_done(&process);
    return result;
}

static void print_home(const struct daemon_args *args, const struct home *home)
{
    if (args->globals.verbose)
        (void)fprintf(stderr, "State: %s\nSocket: %s\n", home->root, home->socket);
}

static int start_kepler_daemon(struct cli *cli, const struct daemon_args *args)
{
    const char *program;
    struct home home;
    struct err err;

    if (home_find(cli->arena, &home, &err) < 0)
        return kepler_err(&err);
    print_home(args, &home);
    if (is_listening(&home)) {
        if (!args->globals.quiet)
            puts("Daemon is already running");
        return KEPLER_OK;
    }
    if (find_kepler_program(cli->arena, &program, &err) < 0)
        return kepler_err(&err);
    if (!args->detach) {
        (void)execl(program, program, (char *)NULL);
        (void)err_sys(&err, errno, "run '%s'", program);
        return kepler_err(&err);
    }
    if (start_detached(cli->arena, &home, program, &err) < 0)
        return kepler_err(&err);
    if (!args->globals.quiet)
        puts("Daemon started");
    return KEPLER_OK;
}

/* --- stop ------------------------------------------------------------------------------------ */

static int wait_for_end(const struct home *home, struct err *err)
{
    int64_t deadline = clock_after(clock_real(), STOP_MAX);
    pid_t holder = 0;

    for (;;) {
        if (lock_holder(home->lock, &holder, err) < 0)
            return -1;
        if (holder == 0)
            return 0;
        if (clock_real() > deadline)
            return err_set(err, ERR_TIMEOUT,
                           "the daemon (pid %d) does not exit: use 'kill -KILL %d'; the next "
                           "daemon ends its services",
                           (int)holder, (int)holder);
        wait_briefly();
    }
}

static int stop_kepler_daemon(struct cli *cli, const struct daemon_args *args)
{
    const struct request_shutdown how = { args->leave_running };
    struct home home;
    struct value body;
    struct err err;
    int status;

    if (home_find_client(cli->arena, &home, &err) < 0)
        return kepler_err(&err);
    print_home(args, &home);
    if (is_absent(&home)) {
        if (!args->globals.quiet)
            puts("Daemon is not running");
        return KEPLER_OK;
    }
    status = kepler_ask(cli->arena, REQUEST_SHUTDOWN, &how, &body);
    if (status != 0)
        return status;
    if (wait_for_end(&home, &err) < 0)
        return kepler_err(&err);
    if (!args->globals.quiet)
        puts("Daemon stopped");
    return KEPLER_OK;
}

static int restart_daemon(struct cli *cli, const struct daemon_args *args)
{
    const char *program;
    struct err err;
    int status;

    if (find_kepler_program(cli->arena, &program, &err) < 0)
        return kepler_err(&err); /* check before stopping anything that could not be started
                                  * again */
    status = stop_kepler_daemon(cli, args);
    return status == KEPLER_OK ? start_kepler_daemon(cli, args) : status;
}

/* --- status ---------------------------------------------------------------------------------- */

static int print_daemon_status(struct cli *cli, const struct daemon_args *args)
{
    const struct request_ask ask = { 0 };
    const struct value *configs;
    struct home home;
    struct value body;
    struct err err;
    int result;

    if (home_find_client(cli->arena, &home, &err) < 0)
        return kepler_err(&err);
    print_home(args, &home);
    if (is_absent(&home)) {
        puts("Daemon is not running");
        return KEPLER_FAILED;
    }
    result = kepler_ask(cli->arena, REQUEST_LIST, &ask, &body);
    if (result != 0)
        return result;
    printf("Daemon is running (pid %lld)\n", (long long)value_get_int(&body, "pid", 0));
    configs = value_get(&body, "configs");
    for (size_t i = 0; configs && value_is(configs, VALUE_LIST) && i < configs->list->count; i++) {
        const struct value *one = &configs->list->items[i], *path = value_get(one, "config_path");

        printf("  %s: %lld service%s, %lld running\n",
               path && value_is_textual(path) ? path->s.p : "?",
               (long long)value_get_int(one, "services", 0),
               (long long)value_get_int(one, "services", 0) == 1 ? "" : "s",
               (long long)value_get_int(one, "running", 0));
    }
    return KEPLER_OK;
}

/* --- the command ----------------------------------------------------------------------------- */

static const struct {
    const char *word;
    int (*run)(struct cli *cli, const struct daemon_args *args);
} words[] = {
    { "start", start_kepler_daemon },
    { "stop", stop_kepler_daemon },
    { "restart", restart_daemon },
    { "status", print_daemon_status },
};

static int run_daemon(struct cli *cli, const void *args, struct param_strs operands)
{
    struct suggest near;
    struct str best;

    suggest_init(&near, str_from(operands.p[0]));
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(words[i].word, operands.p[0]) == 0)
            return words[i].run(cli, args);
        suggest_offer(&near, str_from(words[i].word));
    }
    best = suggest_best(&near);
    if (best.p)
        return cli_usage(cli, "unknown action '%s' (did you mean '%.*s'?)", operands.p[0],
                         STR_ARG(best));
    return cli_usage(cli, "unknown action '%s': expected start, stop, restart or status",
                     operands.p[0]);
}

const struct command kepler_command_daemon = {
    .name = "daemon",
    .operands = "start|stop|restart|status",
    .summary = "start, stop or query the daemon",
    .details =
        "start      start it, in the background with -d (its log is daemon.log in the state "
        "folder)\n"
        "stop       stop all services, dependents first, and exit; configs with autostart start\n  "
        "         again with the next daemon. --leave-running ends only the daemon: services\n     "
        "      keep running unsupervised, and the next daemon ends them\n"
        "restart    stop and start\n"
        "status     show whether it runs, and its configs; exit status 1 if it does not\n",
    .examples = "  kepler daemon start -d\n  kepler daemon status\n  kepler daemon stop\n",
    .options = options,
    .args_size = sizeof(struct daemon_args),
    .least = 1,
    .most = 1,
    .run = run_daemon,
};
