/*
 * authorizer - Lua code that accepts or rejects a request.
 *
 * The body of function(request, caller) in a rule of `kepler.acl` or in the permissions of a
 * service. It accepts only by returning true: another value, an error and an exceeded limit all
 * reject. Each request gets a fresh strict sandbox (language/lua/sandbox.h), in which the
 * functions of `acl.lua` run first: nothing is carried over between requests.
 *
 * Memory: the arena. Threads: any; it may take AUTHORIZER_TIME_MAX, so not the loop's.
 */
#ifndef KEPLER_CONFIG_AUTHORIZER_H
#define KEPLER_CONFIG_AUTHORIZER_H

#include <stdbool.h>
#include <stdint.h>

struct diags;
struct err;
struct value;

/* Total time for one request, and the time after which a warning is logged; nanoseconds. */
#define AUTHORIZER_TIME_MAX  INT64_C(1000000000)
#define AUTHORIZER_TIME_SLOW INT64_C(100000000)
#define AUTHORIZER_MEMORY    ((size_t)8 << 20)

struct authorizer_question {
    const struct value *code, *lua; /* texts; `lua` may be NULL */
    const struct value *request, *caller;
};

/* Does it accept? On failure, which also rejects, `err` is for the daemon log, not for the caller.
 */
int authorizer_ask(const struct authorizer_question *question, bool *ret_agrees, struct err *err);

/* Is it valid Lua? */
int authorizer_check(const struct value *code, struct diags *diags);

#endif
