#include "core/sys/signals.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

/* clang-format off */
static const char *const names[] = {
    [SIGHUP]  = "SIGHUP",  [SIGINT]    = "SIGINT",    [SIGQUIT] = "SIGQUIT", [SIGILL]   = "SIGILL",
    [SIGTRAP] = "SIGTRAP", [SIGABRT]   = "SIGABRT",   [SIGBUS]  = "SIGBUS",  [SIGFPE]   = "SIGFPE",
    [SIGKILL] = "SIGKILL", [SIGUSR1]   = "SIGUSR1",   [SIGSEGV] = "SIGSEGV", [SIGUSR2]  = "SIGUSR2",
    [SIGPIPE] = "SIGPIPE", [SIGALRM]   = "SIGALRM",   [SIGTERM] = "SIGTERM", [SIGSTKFLT] = "SIGSTKFLT",
    [SIGCHLD] = "SIGCHLD", [SIGCONT]   = "SIGCONT",   [SIGSTOP] = "SIGSTOP", [SIGTSTP]  = "SIGTSTP",
    [SIGTTIN] = "SIGTTIN", [SIGTTOU]   = "SIGTTOU",   [SIGURG]  = "SIGURG",  [SIGXCPU]  = "SIGXCPU",
    [SIGXFSZ] = "SIGXFSZ", [SIGVTALRM] = "SIGVTALRM", [SIGPROF] = "SIGPROF", [SIGWINCH] = "SIGWINCH",
    [SIGIO]   = "SIGIO",   [SIGPWR]    = "SIGPWR",    [SIGSYS]  = "SIGSYS",
};

/* Other names of the same numbers. */
static const struct {
    const char *name;
    int signo;
} aliases[] = {
    { "IOT", SIGABRT },
    { "CLD", SIGCHLD },
    { "POLL", SIGIO },
};
/* clang-format on */

const char *signal_name(int signo)
{
    return signo > 0 && (size_t)signo < ARRAY_LEN(names) ? names[signo] : NULL;
}

static bool is_signal_name(struct str text, const char *name)
{
    return strlen(name) == text.n && strncasecmp(text.p, name, text.n) == 0;
}

/* Decimal, 1 to SIGRTMAX; 0 otherwise. */
static int parse_signal_number(struct str text)
{
    int n = 0;

    if (text.n == 0 || text.n > 2)
        return 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return 0;
        n = n * 10 + (text.p[i] - '0');
    }
    return n <= SIGRTMAX ? n : 0;
}

static bool drop_signal_prefix(struct str *text, const char *prefix)
{
    size_t n = strlen(prefix);

    if (text->n < n || strncasecmp(text->p, prefix, n) != 0)
        return false;
    *text = str_from_offset(*text, n);
    return true;
}

/* The rest after "RTMIN" or "RTMAX": nothing, or an offset into the range. */
static int real_time(struct str rest, int base, char sign)
{
    int n = 0;

    if (rest.n > 0) {
        if (rest.p[0] != sign)
            return 0;
        n = parse_signal_number(str_from_offset(rest, 1));
        if (n == 0 && !str_is(str_from_offset(rest, 1), "0"))
            return 0;
    }
    n = sign == '+' ? base + n : base - n;
    return n >= SIGRTMIN && n <= SIGRTMAX ? n : 0;
}

int signal_parse(struct str text)
{
    if (parse_signal_number(text) > 0)
        return parse_signal_number(text);
    (void)drop_signal_prefix(&text, "SIG");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (names[i] && is_signal_name(text, names[i] + 3))
            return (int)i;
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
        if (is_signal_name(text, aliases[i].name))
            return aliases[i].signo;
    if (drop_signal_prefix(&text, "RTMIN"))
        return real_time(text, SIGRTMIN, '+');
    if (drop_signal_prefix(&text, "RTMAX"))
        return real_time(text, SIGRTMAX, '-');
    return 0;
}

void signal_print(int signo, struct buf *out)
{
    const char *name = signal_name(signo);

    if (name)
        buf_add_text(out, name);
    else
        buf_printf(out, "signal %d", signo);
}
