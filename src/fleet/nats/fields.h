/*
 * fields - the settings of a stream or consumer by a table: writes them as JSON, and compares them
 * with the server's answer.
 *
 * Servers silently ignore unknown settings, so every answer is compared: a requested setting must
 * be there, any other must have its default. Zero, NULL and no texts mean "not requested". A name
 * with a dot is a field of an object; those of one object are adjacent. Pure. Threads: any.
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
    int since;           /* first NATS_VERSION with it; 0: all supported ones */
    int64_t default_int; /* the server's default for a number */
    bool any;            /* the server chooses its own default */
};

/* The object of all set fields. Fails with ERR_UNSUPPORTED and the field's name if the server is
 * too old for a field; version 0: not known. */
int nats_fields_print(const struct nats_field *table, const void *config, int version,
                      struct buf *out, struct err *err);
/* `asked` is the output of nats_fields_print, as a value. Returns -1 with NATS_FAULT_DIFFERS and
 * the fields that differ, each with both values. */
int nats_fields_compare(const struct nats_field *table, const struct value *asked,
                        const struct value *got, struct nats_error *error);

#endif
