#include "fleet/nats/js.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/nats/error.h"
#include "fleet/nats/request.h"
#include "fleet/nats/subject.h"

#define CODE_NOT_FOUND 404

struct js_call {
    nats_js_fn *fn;
    void *self;
};

const char *nats_js_prefix(const struct nats_js *js)
{
    return js->prefix ? js->prefix : NATS_JS_PREFIX;
}

int64_t nats_js_timeout(const struct nats_js *js)
{
    return js->timeout ? js->timeout : NATS_JS_TIMEOUT_NS;
}

int64_t nats_js_number(const struct value *reply, const char *path, int64_t fallback)
{
    const struct value *v = value_path(reply, str_from(path), '.');

    return value_is(v, VALUE_INT) ? v->i : fallback;
}

static enum nats_fault judge_code(int64_t code, int64_t err_code)
{
    if (err_code == NATS_JS_WRONG_LAST_SEQUENCE)
        return NATS_FAULT_CONFLICT;
    return code == CODE_NOT_FOUND ? NATS_FAULT_NOT_FOUND : NATS_FAULT_REFUSED;
}

bool nats_js_read_error(const struct value *reply, struct nats_error *ret_error)
{
    const struct value *error = value_get(reply, "error"), *text;
    int64_t code, err_code;

    if (!value_is(error, VALUE_MAP))
        return false;
    text = value_get(error, "description");
    code = nats_js_number(error, "code", 0);
    err_code = nats_js_number(error, "err_code", 0);
    if (value_is(text, VALUE_STR) &&
        err_code == 0) /* a client that answers in place of the server */
        nats_error_set(ret_error, judge_code(code, err_code), 0, "%.*s", STR_ARG(text->s));
    else
        nats_error_set(
            ret_error, judge_code(code, err_code), (int)err_code, "JetStream: %.*s (%lld)",
            STR_ARG(value_is(text, VALUE_STR) ? text->s : STR("refused")), (long long)err_code);
    return true;
}

static void on_js_reply(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct js_call call = *(struct js_call *)self;
    struct nats_error refused;
    struct value reply;
    struct err err;

    free(self);
    if (error) {
        call.fn(call.self, error, NULL);
        return;
    }
    if (json_decode_lenient(&arena, msg->payload, &reply, &err) < 0) {
        nats_error_set(&refused, NATS_FAULT_PROTOCOL, 0, "JetStream: %s", err.text);
        call.fn(call.self, &refused, NULL);
    } else if (nats_js_read_error(&reply, &refused)) {
        call.fn(call.self, &refused, NULL);
    } else {
        call.fn(call.self, NULL, &reply);
    }
}

int nats_js_call(const struct nats_js *js, const char *verb, struct str body, nats_js_fn *fn,
                 void *self, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(NATS_SUBJECT_MAX);
    struct js_call *call = mem_alloc(sizeof(*call));

    *call = (struct js_call){ fn, self };
    buf_printf(&subject, "%s.%s", nats_js_prefix(js), verb);
    if (nats_request(js->conn, &(struct nats_pub){ .subject = buf_view(&subject), .payload = body },
                     nats_js_timeout(js), on_js_reply, call, NULL, err) == 0)
        return 0;
    free(call);
    return -1;
}

struct done_call {
    nats_done_fn *fn;
    void *self;
};

static void on_js_answer(void *self, const struct nats_error *error, const struct value *reply)
{
    struct done_call call = *(struct done_call *)self;

    (void)reply;
    free(self);
    call.fn(call.self, error);
}

int nats_js_do(const struct nats_js *js, const char *verb, struct str body, nats_done_fn *fn,
               void *self, struct err *err)
{
    struct done_call *call = mem_alloc(sizeof(*call));

    *call = (struct done_call){ fn, self };
    if (nats_js_call(js, verb, body, on_js_answer, call, err) == 0)
        return 0;
    free(call);
    return -1;
}

/* --- account ------------------------------------------------------------------------ */

struct account_call {
    nats_js_account_fn *fn;
    void *self;
};

static void on_account(void *self, const struct nats_error *error, const struct value *reply)
{
    struct account_call call = *(struct account_call *)self;
    struct nats_js_account account = { 0 };

    free(self);
    if (error) {
        call.fn(call.self, error, NULL);
        return;
    }
    account.memory = nats_js_number(reply, "memory", 0);
    account.storage = nats_js_number(reply, "storage", 0);
    account.streams = nats_js_number(reply, "streams", 0);
    account.consumers = nats_js_number(reply, "consumers", 0);
    account.max_memory = nats_js_number(reply, "limits.max_memory", -1);
    account.max_storage = nats_js_number(reply, "limits.max_storage", -1);
    account.max_streams = nats_js_number(reply, "limits.max_streams", -1);
    account.max_consumers = nats_js_number(reply, "limits.max_consumers", -1);
    call.fn(call.self, NULL, &account);
}

int nats_js_account(const struct nats_js *js, nats_js_account_fn *fn, void *self, struct err *err)
{
    struct account_call *call = mem_alloc(sizeof(*call));

    *call = (struct account_call){ fn, self };
    if (nats_js_call(js, "INFO", STR(""), on_account, call, err) == 0)
        return 0;
    free(call);
    return -1;
}
