/*
 * backend - where values of settings come from that are not in the files: `secret_backends`.
 *
 *     secret_backends:
 *       vault: {kind: http, url: https://vault.example:8200/v1/secret/data, fields: data.data, ...}
 *       store: {kind: command, command: [pass, show], environment: {HOME: /var/lib/zester}}
 *       disk:  {kind: file, folder: /etc/zester/secrets}
 *
 * A kind is a row of the table in backend.c: its keys, and a function that gets the bytes that
 * belong to a path. What it gets is text, without the line end that closes a file.
 *
 *     backends_read -> { backends_find -> backend_get -> backend_pick }... -> backends_drop
 *
 * Memory: counted holders, because workers use them while the configuration is read again. Threads:
 * they do not change once they are read; any may get, and blocks meanwhile.
 */
#ifndef FLEET_MASTER_SECRETS_BACKEND_H
#define FLEET_MASTER_SECRETS_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/data/params.h"

struct arena;
struct backend;
struct backends;
struct cancel;
struct diags;
struct err;
struct value;

#define BACKENDS_MAX      16
#define BACKEND_VALUE_MAX ((size_t)64 << 10) /* bytes of one value, or of its document */

/* How a program gets the path. */
enum backend_way { BACKEND_BY_ARGUMENT, BACKEND_BY_STDIN };

/* What is wanted, from whom. */
struct backend_call {
    struct arena *arena;
    const char *path;
    const struct cancel *cancel;
};

struct backend_kind {
    const char *name;
    const struct param *rows;
    /* Beyond the table; adds to `diags`. NULL: nothing. */
    void (*check)(const struct backend *backend, const struct value *given, struct diags *diags);
    /* In the arena. The error says neither the name of the back-end nor the path. */
    int (*get)(const struct backend *backend, const struct backend_call *call,
               struct str *ret_bytes, struct err *err);
};

struct backend {
    const char *name;
    const struct backend_kind *kind;
    /* of all kinds */
    const char *kind_name;
    int64_t refresh, timeout; /* nanoseconds */
    const char *fields;       /* where fields are in a document, with dots; NULL: at its top */
    /* file */
    const char *folder;
    /* command */
    struct param_strs command;
    enum backend_way way;
    struct param_strmap environment;
    bool first_line, log_errors;
    /* http */
    const char *url, *token_file, *token_header, *ca;
    bool insecure;
};

/* Rows that every kind has. */
#define BACKEND_ROWS                                                                               \
    PARAM("kind", STR, struct backend, kind_name, "how it is asked: `file`, `command`, `http`",    \
          .flags = PARAM_REQUIRED),                                                                \
        PARAM("refresh", DURATION, struct backend, refresh,                                        \
              "how long a value is used before it is asked for again",                             \
              PARAM_RANGE(CLOCK_SECOND, INT64_MAX / 4), .default_text = "5m"),                     \
        PARAM("timeout", DURATION, struct backend, timeout, "for one value",                       \
              PARAM_RANGE(CLOCK_MS, 300 * CLOCK_SECOND), .default_text = "10s"),                   \
        PARAM("fields", STR, struct backend, fields,                                               \
              "where fields are in a JSON document, with dots between keys")

extern const struct backend_kind backend_kind_file;
extern const struct backend_kind backend_kind_command;
extern const struct backend_kind backend_kind_http;

/* A copy of `given` is read; NULL: there are none. Always returns them: those that could be read.
 * Mistakes go to `diags`, which may be NULL. */
struct backends *backends_read(const struct value *given, struct diags *diags);
struct backends *backends_hold(struct backends *backends);
/* NULL is fine. */
void backends_drop(struct backends *backends);

/* NULL: there is none of that name. */
const struct backend *backends_find(const struct backends *backends, struct str name);
/* Does the name mean something else in the other? */
bool backends_differ(const struct backends *a, const struct backends *b, struct str name);

/* The text of a path, in the arena. */
int backend_get(const struct backend *backend, const struct backend_call *call,
                struct str *ret_text, struct err *err);
/* A field of such a text, which must be a JSON map then, in the arena. No error has words of it. */
int backend_pick(const struct backend *backend, struct arena *arena, struct str text,
                 struct str field, struct str *ret_text, struct err *err);

#endif
