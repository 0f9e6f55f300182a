/*
 * operator_form - an operator's request as it is forwarded to a service: in the operator's name,
 * and without anything that only masters may set.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef FLEET_BUS_OPERATOR_FORM_H
#define FLEET_BUS_OPERATOR_FORM_H

#include "core/base/str.h"
#include "fleet/wire/job.h"
#include "fleet/wire/subject.h"

struct arena;
struct buf;
struct err;

/* Binds a request to a name. Fails with ERR_INVALID. */
struct operator_form {
    enum subject_kind kind;
    const char *name;
    struct str subject, payload;
};

/* Makes the job the operator's own: sets the user and the permitted metadata. */
int operator_form_job(struct arena *arena, const struct operator_form *form, struct job *ret_job,
                      struct err *err);
/* Appends the payload and its headers. */
int operator_form_print(struct arena *arena, const struct operator_form *form, struct buf *payload,
                        struct buf *header, struct err *err);

#endif
