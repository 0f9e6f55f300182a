/*
 * The service "audit": logs operator actions that bypass masters (fleet/wire/audit_notice.h).
 */
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fleet/master/announce.h"
#include "fleet/master/audit.h"
#include "fleet/master/services.h"
#include "fleet/nats/conn.h"
#include "fleet/wire/audit_notice.h"
#include "fleet/wire/subject.h"

struct auditor {
    struct master *master;
    struct nats_sub *notices;
};

static void on_audit_notice(void *self, const struct nats_msg *msg)
{
    const struct auditor *auditor = self;
    const struct audit_notice_reply reply = { .master = auditor->master->id };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct audit_notice notice;
    struct err err;

    if (record_decode(&arena, &audit_notice_type, 1, msg->payload, &notice, &err) < 0) {
        log_warning("invalid audit notice: %s", err.text);
        return;
    }
    audit_log(&(struct audit){ .action = audit_act_name(notice.act),
                               .by = notice.operator,
                               .id = notice.id,
                               .function = notice.function,
                               .target = notice.target,
                               .peels = notice.peels,
                               .reason = notice.outcome,
                               .error = notice.err });
    if (msg->reply.n)
        master_answer(auditor->master, msg->reply, &audit_notice_reply_type, &reply);
}

static void *open_auditor(struct master *master, struct err *err)
{
    struct auditor *auditor = mem_zalloc(sizeof(*auditor));

    (void)err;
    auditor->master = master;
    return auditor;
}

static int start_auditor(void *self, struct err *err)
{
    struct auditor *auditor = self;

    auditor->notices =
        nats_sub_new(auditor->master->js.conn,
                     &(struct nats_sub_options){ .subject = subject_template(SUBJECT_AUDIT_NOTICE),
                                                 .queue = subject_queue(SUBJECT_AUDIT_NOTICE),
                                                 .message = on_audit_notice,
                                                 .self = auditor },
                     err);
    return auditor->notices ? 0 : -1;
}

static void stop_auditor(void *self)
{
    struct auditor *auditor = self;

    nats_sub_free(auditor->notices);
    auditor->notices = NULL;
}

const struct master_service master_audit_service = {
    .name = "audit",
    .open = open_auditor,
    .start = start_auditor,
    .stop = stop_auditor,
    .free = free,
};
