#include "fleet/nats/error.h"

#include <stdio.h>
#include <string.h>

#include "core/base/err.h"

static const enum err_code codes[] = {
    [NATS_FAULT_CANCELED] = ERR_CANCELED,
    [NATS_FAULT_DISCONNECTED] = ERR_CANCELED,
    [NATS_FAULT_TIMEOUT] = ERR_TIMEOUT,
    [NATS_FAULT_NETWORK] = ERR_UNSUPPORTED,
    [NATS_FAULT_AUTH] = ERR_UNSUPPORTED,
    [NATS_FAULT_DENIED] = ERR_UNSUPPORTED,
    [NATS_FAULT_NO_RESPONDERS] = ERR_NOT_FOUND,
    [NATS_FAULT_NOT_FOUND] = ERR_NOT_FOUND,
    [NATS_FAULT_CONFLICT] = ERR_BUSY,
    [NATS_FAULT_REFUSED] = ERR_UNSUPPORTED,
    [NATS_FAULT_DIFFERS] = ERR_UNSUPPORTED,
    [NATS_FAULT_PROTOCOL] = ERR_INVALID,
    [NATS_FAULT_SLOW] = ERR_BUSY,
};

void nats_error_set(struct nats_error *error, enum nats_fault fault, int code, const char *fmt, ...)
{
    va_list args;

    error->fault = fault;
    error->code = code;
    va_start(args, fmt);
    (void)vsnprintf(error->text, sizeof(error->text), fmt, args);
    va_end(args);
}

void nats_error_wrap(struct nats_error *error, const char *fmt, ...)
{
    char words[NATS_ERROR_TEXT_SIZE], old[NATS_ERROR_TEXT_SIZE];
    va_list args;

    memcpy(old, error->text, sizeof(old));
    va_start(args, fmt);
    (void)vsnprintf(words, sizeof(words), fmt, args);
    va_end(args);
    if (snprintf(error->text, sizeof(error->text), "%s: %s", words, old) >=
        (int)sizeof(error->text))
        memcpy(error->text, old, sizeof(old)); /* the cause is worth more */
}

int nats_error_to_err(const struct nats_error *error, struct err *err)
{
    return err_set(err, codes[error->fault], "%s", error->text);
}
