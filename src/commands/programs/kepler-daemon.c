/* kepler-daemon - manages the services of all configs that were started. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kepler/access/hardening.h"
#include "core/base/buf.h"
#include "core/base/build.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "commands/cli/shared/color.h"
#include "commands/cli/kepler/kepler.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/recover.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/inherited.h"

static const char usage[] =
    "usage: kepler-daemon [--hardening LEVEL] [--help] [--version]\n"
    "\n"
    "Runs services as 'kepler' commands it to. Stays in the foreground and logs to\n"
    "standard error. As root it serves the machine: root, and members of the group\n"
    "'" DAEMON_GROUP "', each with configs of their own. As any other user it serves that user.\n"
    "\n"
    "  --hardening LEVEL    how far services of members are kept from other users: strict\n"
    "                       (default: they run as their owner), no-root (as any user but root) or\n"
    "                       none (as any user, so that members of the group can be root)\n"
    "\n"
    "environment:\n"
    "  KEPLER_HARDENING     the same as --hardening, which wins\n"
    "  KEPLER_DAEMON_PATH   where state is kept: /var/lib/kepler for root, else\n"
    "                       $XDG_STATE_HOME/kepler or ~/.local/state/kepler\n"
    "  KEPLER_SOCKET_PATH   where it listens (kepler.sock in the state folder)\n"
    "  KEPLER_CGROUPS       'no': do without control groups where they could be used\n"
    "  KEPLER_LOG           error, warning, info (default) or debug, which adds every request\n"
    "  KEPLER_COLOR         true or false: colour in the log; else only on a terminal\n"
    "\n"
    "SIGTERM and SIGINT stop all services, dependents first, and end the daemon; a second\n"
    "one kills what still runs.\n"
    "\n"
    "examples:\n"
    "  kepler-daemon\n"
    "  KEPLER_DAEMON_PATH=/tmp/try KEPLER_LOG=debug kepler-daemon\n"
    "\n"
    "exit status: 0 after an ordinary end; 1 it could not start; 2 wrong usage\n";

#define EXIT_USAGE 2

/* Only on terminals: the words of errors and warnings stand out. */
static void print_in_color(void *context, enum log_level level, int64_t ns, struct str text)
{
    static const enum color colors[LOG_LEVELS] = {
        [LOG_LEVEL_ERROR] = COLOR_RED,
        [LOG_LEVEL_WARNING] = COLOR_YELLOW,
        [LOG_LEVEL_INFO] = COLOR_NONE,
        [LOG_LEVEL_DEBUG] = COLOR_DIM,
    };
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);

    (void)context;
    color_begin(&line, colors[level], true);
    log_print_line(level, ns, text, &line);
    buf_cut(&line, line.n - 1); /* the colour ends before the line does */
    color_end(&line, colors[level], true);
    buf_add_char(&line, '\n');
    (void)fwrite(buf_text(&line), 1, line.n, stderr);
}

static const struct log log_with_time = { .clock = clock_wall };
static const struct log log_in_color = { .clock = clock_wall, .sink = print_in_color };

static void set_level(void)
{
    const char *word = getenv("KEPLER_LOG");
    enum log_level level;

    if (!word || !word[0])
        return;
    if (log_level_find(str_from(word), &level))
        log_set_level(level);
    else
        log_warning("invalid KEPLER_LOG, using info value=%s", word);
}

static int serve_requests(enum hardening hardening)
{
    struct daemon daemon;
    struct err err;
    int status = EXIT_FAILURE;

    if (daemon_init(&daemon, hardening, &err) < 0) {
        log_error("daemon cannot start error=%s", err.text);
    } else {
        if (daemon_listen(&daemon, &err) < 0) {
            log_error("daemon cannot listen error=%s", err.text);
        } else {
            recover_all(&daemon);
            daemon_run(&daemon);
            log_info("daemon ends");
            status = EXIT_SUCCESS;
        }
    }
    daemon_done(&daemon);
    return status;
}

/* Output that is lost is not success. */
static int print_text_line(const char *text)
{
    if (fputs(text, stdout) != EOF && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    perror("kepler-daemon: cannot write to standard output");
    return EXIT_FAILURE;
}

static int print_daemon_build(void)
{
    char text[BUILD_TEXT_MAX];

    build_print("kepler-daemon", text);
    return print_text_line(text);
}

/* Answer an option instead of running a daemon. */
static int answer_line(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return print_text_line(usage);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return print_daemon_build();
    if (strcmp(word, "--hardening") == 0) {
        (void)fputs("kepler-daemon: option '--hardening' requires a level\n"
                    "try 'kepler-daemon --help'\n",
                    stderr);
        return EXIT_USAGE;
    }
    (void)fprintf(stderr,
                  "kepler-daemon: unknown argument '%s'; services are named to 'kepler start'\n"
                  "try 'kepler-daemon --help'\n",
                  word);
    return EXIT_USAGE;
}

/* The level that was asked for; NULL: none. Words that are left are answered. */
static const char *find_level(int argc, char **argv, int *ret_used)
{
    static const char option[] = "--hardening";
    const size_t length = sizeof(option) - 1;

    *ret_used = 0;
    if (argc > 1 && strncmp(argv[1], option, length) == 0) {
        *ret_used = argv[1][length] == '=' ? 1 : 2;
        if (argv[1][length] == '=')
            return argv[1] + length + 1;
        if (argv[1][length] == '\0' && argc > 2)
            return argv[2];
        *ret_used = 0;
    }
    return getenv("KEPLER_HARDENING");
}

int main(int argc, char **argv)
{
    enum hardening hardening = HARDENING_DAEMON;
    int used;
    const char *level = find_level(argc, argv, &used);
    struct err err;

    inherited_reset(INHERITED_DAEMON);
    if (argc > used + 1)
        return answer_line(argv[used + 1]);
    if (level && level[0] && hardening_parse(str_from(level), &hardening, &err) < 0) {
        (void)fprintf(stderr, "kepler-daemon: %s\ntry 'kepler-daemon --help'\n", err.text);
        return EXIT_USAGE;
    }
    log_use(color_is_wanted(KEPLER_COLOR, STDERR_FILENO) ? &log_in_color : &log_with_time);
    set_level();
    fd_limit_raise();
    return serve_requests(hardening);
}
