/*
 * api_access - the one place where it is decided whether a request may be done.
 *
 * Pure. Threads: any.
 */
#ifndef MASTER_API_ACCESS_H
#define MASTER_API_ACCESS_H

#include "data/params.h"
#include "master/api/token.h"

struct err;

/* What a request does. */
enum api_act {
    API_ACT_LOOK,
    API_ACT_RUN_JOB,
    API_ACT_CANCEL_JOB,
    API_ACT_DECIDE_ENROLLMENT,
    API_ACT_SEND_EVENT,
};
#define API_ACTS (API_ACT_SEND_EVENT + 1)

struct api_asker {
    const char *user; /* "api:<username>" */
    enum api_role role;
};

/* Of a job; all NULL or empty otherwise, and before its targets are known. */
struct api_subject {
    const char *function;
    struct param_strs targets; /* as on the wire */
};

/* Fails with ERR_UNSUPPORTED and the reason. Asked before anything else is done, and again when the
 * targets of a job are known. */
int api_may(const struct api_asker *asker, enum api_act act, const struct api_subject *subject,
            struct err *err);

#endif
