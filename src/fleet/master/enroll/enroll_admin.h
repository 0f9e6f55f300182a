/*
 * enroll_admin - decisions about enrollments: the record, the audit line, and for a revocation the
 * update of the servers. Any master of the queue group answers operators.
 */
#ifndef FLEET_MASTER_ENROLL_ENROLL_ADMIN_H
#define FLEET_MASTER_ENROLL_ENROLL_ADMIN_H

#include "fleet/enroll/registry.h"
#include "fleet/master/master.h"
#include "fleet/wire/enrollment.h"

extern const struct master_service enroll_admin_service;

/* `status` is ADMISSION_OK, or the kind of error. Valid during the call. */
typedef void enroll_admin_fn(void *self, enum admission_status status,
                             const struct enrollment_reply *reply);

/* Decide, and call `fn` once, also when the master stops; for a revocation, when the servers have
 * confirmed it. The request is copied. */
void enroll_admin_decide(struct master *master, enum admission_decision decision,
                         const struct enrollment_request *request, enroll_admin_fn *fn, void *self);

#endif
