#include "core/sys/inherited.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"

/* The umask bits that would lock us out of our own files. */
#define UMASK_OWNER 0700

/* Terminal signals: nohup ignores the first, a shell without job control the others for background
 * jobs. */
static const int kept_signals[] = { SIGHUP, SIGINT, SIGQUIT };
static bool kept[ARRAY_LEN(kept_signals)];

bool inherited_is_ignored(int signo)
{
    for (size_t i = 0; i < ARRAY_LEN(kept_signals); i++)
        if (kept_signals[i] == signo)
            return kept[i];
    return false;
}

static bool is_signal_ignored(int signo)
{
    struct sigaction action;

    return sigaction(signo, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void reset_signals(enum inherited_role role)
{
    const struct sigaction usual = { .sa_handler = SIG_DFL }, ignore = { .sa_handler = SIG_IGN };
    sigset_t none;

    for (size_t i = 0; i < ARRAY_LEN(kept_signals); i++)
        kept[i] = role == INHERITED_COMMAND && is_signal_ignored(kept_signals[i]);
    for (int signo = 1; signo <= SIGRTMAX; signo++)
        if (is_signal_ignored(signo) && !inherited_is_ignored(signo))
            (void)sigaction(signo, &usual, NULL);
    (void)sigaction(SIGXFSZ, &ignore,
                    NULL); /* a file that grows too large is an error of the write */
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* A closed stream is replaced by one that is empty, or that cannot be written to, so that lost
 * output is noticed. Numbers are given out from 0, so each lands where one is missing. */
static void fill_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) != fd)
            return;
}

static void reset_umask(void)
{
    const mode_t before = umask(077);

    (void)umask(before & ~(mode_t)UMASK_OWNER);
}

void inherited_reset(enum inherited_role role)
{
    fill_streams();
    reset_signals(role);
    reset_umask();
}
