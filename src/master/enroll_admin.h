/*
 * enroll_admin - answers operators who decide about enrollments; any master of the queue group
 * does.
 */
#ifndef MASTER_ENROLL_ADMIN_H
#define MASTER_ENROLL_ADMIN_H

#include "master/master.h"

extern const struct master_service enroll_admin_service;

#endif
