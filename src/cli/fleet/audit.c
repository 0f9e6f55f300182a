#include "cli/fleet/audit.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/fleet/link.h"
#include "nats/conn.h"
#include "wire/subject.h"

#define AUDIT_NS (INT64_C(5) * 1000000000)

void fleet_audit(struct cli *cli, struct fleet *fleet, enum audit_act act, const char *id,
                 const struct err *failure)
{
    const struct audit_notice notice = {
        .act = act, .operator= fleet_user(cli->arena), .id = id, .err = failure ? failure->text : ""
    };
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct str reply;
    struct err err;

    if (record_encode(&bytes, &audit_notice_type, &notice, &err) == 0 &&
        fleet_request(
            fleet,
            &(struct nats_pub){ .subject = str_from(subject_template(SUBJECT_AUDIT_NOTICE)),
                                .payload = buf_view(&bytes) },
            AUDIT_NS, &reply, &err) == 0)
        return;
    (void)fprintf(stderr, "warning: not in the audit of any master: %s\n",
                  err.code == ERR_NOT_FOUND ? "none is running" : err.text);
}
