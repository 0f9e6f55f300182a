/*
 * backend - fetches settings values from outside the files: `secret_backends`.
 *
 *     secret_backends:
 *       vault: {kind: http, url: https://vault.example:8200/v1/secret/data, fields: data.data, ...}
 *       store: {kind: command, command: [pass, show], environment: {HOME: /var/lib/zester}}
 *       disk:  {kind: file, folder: /etc/zester/secrets}
 *
 * A kind is a row of the table in backend.c: its keys, and a function that fetches the value of a
 * path. Values are text, without a final newline.
 *
 *     backends_read -> { backends_find -> backend_get -> backend_pick }... -> backends_drop
 *
 * Memory: reference-counted, because workers use them across a reload. Threads: immutable; any
 * thread may fetch, which blocks.
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
#define BACKEND_VALUE_MAX ((size_t)64 << 10) /* maximum size of a value, or of its document */

/* How a program receives the path. */
enum backend_way { BACKEND_BY_ARGUMENT, BACKEND_BY_STDIN };

/* One fetch. */
struct backend_call {
    struct arena *arena;
    const char *path;
    const struct cancel *cancel;
};

struct backend_kind {
    const char *name;
    const struct param *rows;
    /* Further checks; adds to `diags`. NULL: none. */
    void (*check)(const struct backend *backend, const struct value *given, struct diags *diags);
    /* Returns text in the arena. The error contains neither the back-end's name nor the path. */
    int (*get)(const struct backend *backend, const struct backend_call *call,
               struct str *ret_bytes, struct err *err);
};

struct backend {
    const char *name;
    const struct backend_kind *kind;
    /* of all kinds */
    const char *kind_name;
    int64_t refresh, timeout; /* nanoseconds */
    const char *fields;       /* dotted path of the fields in a document; NULL: top level */
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

/* Rows shared by all kinds. */
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

/* Reads a copy of `given`; NULL: none. Always returns the valid ones. Mistakes go to `diags`, which
 * may be NULL. */
struct backends *backends_read(const struct value *given, struct diags *diags);
struct backends *backends_hold(struct backends *backends);
/* NULL is fine. */
void backends_drop(struct backends *backends);

/* NULL: no such back-end. */
const struct backend *backends_find(const struct backends *backends, struct str name);
/* Do the definitions of this name differ? */
bool backends_differ(const struct backends *a, const struct backends *b, struct str name);

/* Fetch the text of a path, in the arena. */
int backend_get(const struct backend *backend, const struct backend_call *call,
                struct str *ret_text, struct err *err);
/* Get a field of such a text, which must be a JSON map, in the arena. Errors never quote it. */
int backend_pick(const struct backend *backend, struct arena *arena, struct str text,
                 struct str field, struct str *ret_text, struct err *err);

#endif
