/*
 * fields - the settings of a stream or consumer by a table: written as JSON, and compared with what
 * the server says it made of them.
 *
 * Servers ignore silently what they do not know, so every answer is compared: a setting that was
 * asked for must be there, one that was not must have its default. Zero, NULL and no texts mean
 * "not asked for". A name with a dot is a field of an object; those of one object stand together.
 * Pure. Threads: any.
 */
#ifndef FLEET_NATS_FIELDS_H
#define FLEET_NATS_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct nats_error;
struct value;

enum nats_field_kind {
    NATS_FIELD_TEXT,   /* const char * */
    NATS_FIELD_TEXTS,  /* struct nats_texts */
    NATS_FIELD_INT,    /* int64_t; durations are nanoseconds */
    NATS_FIELD_INTS,   /* struct nats_ints */
    NATS_FIELD_BOOL,   /* bool */
    NATS_FIELD_CHOICE, /* int: the number of the word in `choices`; always written */
};

struct nats_texts {
    const char *const *p;
    size_t n;
};

struct nats_ints {
    const int64_t *p;
    size_t n;
};

struct nats_field {
    const char *name;
    enum nats_field_kind kind;
    size_t offset;
    const char *const *choices;
    int since;           /* NATS_VERSION that has it; 0: all that we speak with */
    int64_t default_int; /* what the server makes of a number that was not asked for */
    bool any;            /* it chooses freely what was not asked for */
};

/* The object of all that is set. Fails with ERR_UNSUPPORTED when the server, whose version is 0
 * when it is not known, is too old for a field that is set; the error names it. */
int nats_fields_print(const struct nats_field *table, const void *config, int version,
                      struct buf *out, struct err *err);
/* `asked` is what nats_fields_print wrote, as a value. Returns -1 with NATS_FAULT_DIFFERS and
 * the fields that differ, each with both values. */
int nats_fields_compare(const struct nats_field *table, const struct value *asked,
                        const struct value *got, struct nats_error *error);

#endif
