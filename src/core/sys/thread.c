#include "core/sys/thread.h"

#include <signal.h>

#include "core/base/mem.h"

/* A fault must reach its handler, which a sanitizer or a debugger has set. */
static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP };

static void fill_mask(sigset_t *ret_mask)
{
    (void)sigfillset(ret_mask);
    for (size_t i = 0; i < ARRAY_LEN(faults); i++)
        (void)sigdelset(ret_mask, faults[i]);
}

int thread_start(pthread_t *ret_thread, size_t stack_size, thread_fn *fn, void *arg)
{
    sigset_t mask, before;
    pthread_attr_t attr;
    int errnum;

    fill_mask(&mask);
    (void)pthread_sigmask(SIG_SETMASK, &mask, &before);
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, stack_size);
    errnum = pthread_create(ret_thread, &attr, fn, arg);
    (void)pthread_attr_destroy(&attr);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return errnum;
}
