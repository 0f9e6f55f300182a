/*
 * authorizer - Lua that decides whether a caller may have what it asks for.
 *
 * The body of function(request, caller) of a rule of `kepler.acl`, or of the permissions of a
 * service. It agrees by returning true, and by nothing else: another value, an error and a limit
 * are a refusal. Each question gets a strict sandbox (language/lua/sandbox.h) of its own, in which
 * the functions of `acl.lua` are run first: nothing is left of one question for the next.
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

/* All of one question, and what it may take before it is worth a warning; nanoseconds. */
#define AUTHORIZER_TIME_MAX  INT64_C(1000000000)
#define AUTHORIZER_TIME_SLOW INT64_C(100000000)
#define AUTHORIZER_MEMORY    ((size_t)8 << 20)

struct authorizer_question {
    const struct value *code, *lua; /* texts; `lua` may be NULL */
    const struct value *request, *caller;
};

/* Does it agree? Fails, which is a refusal too, with what went wrong: for the log of the daemon,
 * not for the caller. */
int authorizer_ask(const struct authorizer_question *question, bool *ret_agrees, struct err *err);

/* Is it Lua? */
int authorizer_check(const struct value *code, struct diags *diags);

#endif
