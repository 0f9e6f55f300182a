/*
 * js - calls the JetStream API: a subject, a JSON body, a JSON answer.
 *
 *     struct nats_js js = { .conn = conn };
 *     nats_js_call(&js, "STREAM.INFO.orders", STR(""), on_info, self, err);
 *
 * A refusal is a struct nats_error with JetStream's err_code as `code`. Missing objects are
 * NATS_FAULT_NOT_FOUND, a wrong expected sequence NATS_FAULT_CONFLICT. Memory: an answer is valid
 * during its callback. Threads: the loop's.
 */
#ifndef FLEET_NATS_JS_H
#define FLEET_NATS_JS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/nats/conn.h"

struct err;
struct nats_error;
struct value;

/* Purpose of a secret for `id_secret`, for nats_nkey_derive. */
#define NATS_JS_ID_PURPOSE "message ids"

#define NATS_JS_PREFIX     "$JS.API"
#define NATS_JS_TIMEOUT_NS (INT64_C(5) * 1000000000)
/* Bytes of a request body. */
#define NATS_JS_BODY_MAX ((size_t)1 << 20)

/* err_codes that callers check. */
enum nats_js_code {
    NATS_JS_STREAM_NOT_FOUND = 10059,
    NATS_JS_CONSUMER_NOT_FOUND = 10014,
    NATS_JS_MESSAGE_NOT_FOUND = 10037,
    NATS_JS_STREAM_EXISTS = 10058,
    NATS_JS_WRONG_LAST_SEQUENCE = 10071,
    NATS_JS_NO_STORAGE = 10047, /* exceeds the storage of the server or the account */
};

/* A value: may be copied; texts are borrowed. Zero is the default of each field but the connection.
 * */
struct nats_js {
    struct nats_conn *conn;
    const char *prefix; /* NATS_JS_PREFIX; "$JS.<domain>.API" for another domain */
    int64_t timeout;
    struct str id_secret; /* for publishers: ids are sent as their HMAC, so that no other client can
                             use one first; empty: sent unchanged */
    bool only_compare;    /* nats_stream_ensure and its like change nothing: a missing or different
                             object is an error */
};

const char *nats_js_prefix(const struct nats_js *js);
int64_t nats_js_timeout(const struct nats_js *js);

/* `error` is NULL, or `reply` is. */
typedef void nats_js_fn(void *self, const struct nats_error *error, const struct value *reply);

/* `verb` follows the prefix. `fn` is called exactly once unless this fails. */
int nats_js_call(const struct nats_js *js, const char *verb, struct str body, nats_js_fn *fn,
                 void *self, struct err *err);
/* The same, without the answer. */
int nats_js_do(const struct nats_js *js, const char *verb, struct str body, nats_done_fn *fn,
               void *self, struct err *err);
/* Reads the "error" of an answer. False: none; also for NULL. */
bool nats_js_read_error(const struct value *reply, struct nats_error *ret_error);

struct nats_js_account {
    int64_t memory, storage, streams, consumers;                 /* in use */
    int64_t max_memory, max_storage, max_streams, max_consumers; /* -1: no limit */
};
typedef void nats_js_account_fn(void *self, const struct nats_error *error,
                                const struct nats_js_account *account);
int nats_js_account(const struct nats_js *js, nats_js_account_fn *fn, void *self, struct err *err);

/* A number of an answer by its path ("state.messages"), or `fallback`. */
int64_t nats_js_number(const struct value *reply, const char *path, int64_t fallback);

#endif
