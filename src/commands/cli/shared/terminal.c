#include "commands/cli/shared/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/shared/color.h"

/* Other screen, no cursor, no wrap; and back. */
#define ENTER "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
#define LEAVE COLOR_OFF "\x1b[?7h\x1b[?25h\x1b[?1049l"

/* Bytes of an answer to a question. */
#define ANSWER_SIZE 64

static const int fatal_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

/* Signal handlers read these: the terminal belongs to the process. */
static struct termios before;
static volatile sig_atomic_t is_open, has_exit_hook;

bool terminal_is_there(void)
{
    return isatty(STDIN_FILENO) && color_is_terminal(STDOUT_FILENO);
}

bool terminal_can_ask(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* poll() ends at a signal, unlike a read, which may be restarted. */
static bool read_answer(char *answer, size_t size)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    ssize_t n;

    if (poll(&input, 1, -1) <= 0)
        return false;
    n = read(STDIN_FILENO, answer, size - 1);
    if (n <= 0)
        return false;
    answer[n] = '\0';
    return true;
}

bool terminal_agrees(const char *question)
{
    char answer[ANSWER_SIZE];
    struct str said;

    (void)fflush(stdout);
    (void)fprintf(stderr, "%s [y/N] ", question);
    if (!read_answer(answer, sizeof(answer))) {
        (void)fputc('\n', stderr);
        return false;
    }
    said = str_trim(str_from(answer));
    return said.n > 0 && (strncasecmp(said.p, "y", said.n) == 0 ||
                          (said.n == 3 && strncasecmp(said.p, "yes", 3) == 0));
}

/* A terminal that is gone cannot be written to, and needs nothing. */
static void write_terminal(const char *text, size_t n)
{
    while (n > 0) {
        const ssize_t written = write(STDOUT_FILENO, text, n);

        if (written < 0 && errno != EINTR)
            return;
        if (written > 0) {
            text += written;
            n -= (size_t)written;
        }
    }
}

/* Only calls that signal handlers may make. */
void terminal_close(void)
{
    if (!is_open)
        return;
    is_open = 0;
    write_terminal(LEAVE, sizeof(LEAVE) - 1);
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

static void on_fatal(int signo)
{
    terminal_close();
    (void)raise(signo); /* its handler was reset */
}

static void catch_fatal(void)
{
    struct sigaction action = { .sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND };
    struct sigaction old;

    for (size_t i = 0; i < ARRAY_LEN(fatal_signals); i++)
        if (sigaction(fatal_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            (void)sigaction(fatal_signals[i], &action, NULL);
}

int terminal_open(struct err *err)
{
    struct termios raw;

    if (tcgetattr(STDIN_FILENO, &before) < 0)
        return err_sys(err, errno, "read the settings of the terminal");
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (!has_exit_hook && atexit(terminal_close) == 0)
        has_exit_hook = 1;
    catch_fatal();
    is_open = 1;
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) < 0) {
        const int errnum = errno;

        is_open = 0;
        return err_sys(err, errnum, "change the settings of the terminal");
    }
    write_terminal(ENTER, sizeof(ENTER) - 1);
    return 0;
}

/* From the first cell, each line to its end, and nothing after the last: no flicker. */
void terminal_draw(struct str lines)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    bool first = true;

    buf_add_text(&out, "\x1b[H");
    while (lines.n > 0) {
        const struct str line = str_cut(&lines, '\n');

        buf_add_text(&out, first ? "" : "\r\n");
        buf_add_str(&out, line);
        buf_add_text(&out, "\x1b[K");
        first = false;
    }
    buf_add_text(&out, "\x1b[J");
    write_terminal(buf_text(&out), out.n);
}

/* --- a line that is not shown --------------------------------------------------------- */

#define CTRL_C 3

static int read_hidden(struct buf *out, struct err *err)
{
    char c = '\0';
    ssize_t n;

    while (c != '\n') {
        n = read(STDIN_FILENO, &c, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, errno, "read from the terminal");
        if (n == 0)
            break;
        if (c == CTRL_C)
            return err_set(err, ERR_CANCELED, "interrupted");
        if (c != '\n')
            buf_add_char(out, c);
    }
    return 0;
}

/* Ctrl-C ends the line instead of the process, which would leave the terminal as it is now. */
int terminal_ask_secret(const char *prompt, struct buf *out, struct err *err)
{
    struct termios shown, hidden;
    int rc;

    if (tcgetattr(STDIN_FILENO, &shown) < 0)
        return err_sys(err, errno, "read the settings of the terminal");
    hidden = shown;
    hidden.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    hidden.c_cc[VEOL] = CTRL_C;
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) < 0)
        return err_sys(err, errno, "change the settings of the terminal");
    (void)fprintf(stderr, "%s", prompt);
    rc = read_hidden(out, err);
    (void)fprintf(stderr, "\n");
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    return rc;
}
