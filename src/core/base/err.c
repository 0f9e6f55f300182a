#include "core/base/err.h"

#include <stdio.h>
#include <string.h>

PRINTF_LIKE(4, 0)
static int set_error(struct err *err, enum err_code code, int errnum, const char *fmt, va_list args)
{
    err->code = code;
    err->errnum = errnum;
    if (vsnprintf(err->text, sizeof(err->text), fmt, args) < 0)
        err->text[0] = '\0';
    return -1;
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)set_error(err, code, 0, fmt, args);
    va_end(args);
    return -1;
}

int err_sys(struct err *err, int errnum, const char *fmt, ...)
{
    char words[ERR_TEXT_SIZE];
    va_list args;

    va_start(args, fmt);
    if (vsnprintf(words, sizeof(words), fmt, args) < 0)
        words[0] = '\0';
    va_end(args);
    (void)err_set(err, ERR_SYSTEM, "%s",
                  strerrordesc_np(errnum) ? strerrordesc_np(errnum) : "unknown error");
    err->errnum = errnum;
    return err_wrap(err, "%s", words);
}

/* The cause stays whole: words in front are cut to the remaining room. */
int err_wrap(struct err *err, const char *fmt, ...)
{
    size_t kept = strlen(err->text);
    size_t room = sizeof(err->text) - 1 - kept;
    char words[ERR_TEXT_SIZE];
    va_list args;
    size_t n;

    va_start(args, fmt);
    if (vsnprintf(words, sizeof(words), fmt, args) < 0)
        words[0] = '\0';
    va_end(args);
    if (room < 3)
        return -1;
    n = strnlen(words, room - 2);
    memmove(err->text + n + 2, err->text, kept + 1);
    memcpy(err->text, words, n);
    memcpy(err->text + n, ": ", 2);
    return -1;
}
