/*
 * signature - "value, width=4, *rest, **named", parsed once.
 *
 * A call is bound to a signature as Python binds one: by place, by name, by default; the rest goes
 * to `*rest` and `**named` or is an error in Python's words.
 *
 * Memory: the arena given to signature_new. Threads: read only once made.
 */
#ifndef LANGUAGE_JINJA_SIGNATURE_H
#define LANGUAGE_JINJA_SIGNATURE_H

#include "language/jinja/function.h"

struct arena;

/* The most parameters that any of our functions has. */
#define SIGNATURE_MAX 16

enum signature_kind { PARAM_REQUIRED, PARAM_DEFAULT, PARAM_OPTIONAL };

struct signature_param {
    struct str name;
    enum signature_kind kind;
    struct value value; /* PARAM_DEFAULT */
};

struct signature {
    uint32_t count;    /* by place or by name */
    bool rest, named;  /* `*rest` and `**named` follow */
    uint32_t bound;    /* the number of values of a bound call */
    uint32_t required; /* the number of leading ones without a default */
    struct signature_param params[SIGNATURE_MAX];
};

/* Signatures are our own: an invalid one is a bug and ends the process. */
const struct signature *signature_new(struct arena *arena, const char *text);

/* The signatures of called functions, so that each is parsed once. */
struct signatures {
    struct arena *arena;
    struct signatures_entry *entries;
    size_t count, cap; /* cap is a power of two, or 0 */
};

void signatures_init(struct signatures *signatures, struct arena *arena);
const struct signature *signatures_get(struct signatures *signatures,
                                       const struct function *function);

/* Fill `args`, which has room for SIGNATURE_MAX. `first`, unless NULL, comes before all others: the
 * piped or tested value, or the object of a method. `name` is for messages. */
int signature_bind(const struct signature *signature, struct render *render, const char *name,
                   const struct value *first, const struct function_call *call, struct value *args);

#endif
