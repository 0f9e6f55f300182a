/*
 * operator_form - what an operator asks for, as it goes on to the service that does it: in their
 * name, and with nothing in it that only masters may say.
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

/* A request, bound to a name. Fails with ERR_INVALID. */
struct operator_form {
    enum subject_kind kind;
    const char *name;
    struct str subject, payload;
};

/* A job as the operator's own: who asked, and what a job may say of itself, are set here. */
int operator_form_job(struct arena *arena, const struct operator_form *form, struct job *ret_job,
                      struct err *err);
/* Append the payload, and the headers that go with it. */
int operator_form_print(struct arena *arena, const struct operator_form *form, struct buf *payload,
                        struct buf *header, struct err *err);

#endif
