#include "commands/cli/fleet/enroll/pause.h"

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/fleet/audit.h"
#include "commands/cli/fleet/bucket.h"
#include "core/data/time_text.h"
#include "core/sys/clock.h"
#include "fleet/wire/enrollment.h"

static struct value_time now_of_clock(void)
{
    const int64_t now = clock_wall();

    return (struct value_time){ now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
}

static int store_pause(struct fleet *fleet, const struct enrollment_pause *pause, int64_t timeout,
                       struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(2 * ENROLLMENT_REASON_MAX);

    if (record_encode(&bytes, &enrollment_pause_type, pause, err) < 0)
        return -1;
    return fleet_bucket_put(fleet, STORE_ENROLLMENTS, ENROLLMENT_PAUSE_KEY, buf_view(&bytes),
                            timeout, err);
}

static int change_pause(struct cli *cli, const struct enroll_pause_args *want, bool is_paused)
{
    const struct enrollment_pause pause = { .is_paused = is_paused,
                                            .operator_name = fleet_user(cli->arena),
                                            .reason = want->reason ? want->reason : "",
                                            .changed_at = now_of_clock() };
    const struct value result = record_value(cli->arena, &enrollment_pause_type, &pause);
    struct err err;
    int status;

    if (strlen(pause.reason) > ENROLLMENT_REASON_MAX)
        return cli_usage(cli, "the reason is longer than %d bytes", ENROLLMENT_REASON_MAX);
    if (fleet_attach(cli, &want->fleet) != CLI_OK)
        return CLI_ERROR;
    status = store_pause(cli->fleet, &pause, want->fleet.timeout, &err);
    fleet_audit(cli, cli->fleet, is_paused ? AUDIT_ENROLL_PAUSE : AUDIT_ENROLL_RESUME,
                ENROLLMENT_PAUSE_KEY, status < 0 ? &err : NULL);
    if (status < 0)
        return cli_err(cli, &err);
    if (want->fleet.format != FLEET_TEXT)
        return fleet_print(cli, want->fleet.format, &result);
    printf("enrollment %s\n", is_paused ? "paused" : "resumed");
    return CLI_OK;
}

int enroll_run_pause(struct cli *cli, const void *args, struct param_strs operands)
{
    (void)operands;
    return change_pause(cli, args, true);
}

int enroll_run_resume(struct cli *cli, const void *args, struct param_strs operands)
{
    (void)operands;
    return change_pause(cli, args, false);
}

int enroll_pause_remark(struct fleet *fleet, struct err *err)
{
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);
    struct enrollment_pause pause;
    struct str bytes;

    if (fleet_bucket_get(fleet, STORE_ENROLLMENTS, ENROLLMENT_PAUSE_KEY, &bytes, err) < 0)
        return err->code == ERR_NOT_FOUND ? 0 : -1;
    if (record_decode(fleet->arena, &enrollment_pause_type, 1, bytes, &pause, err) < 0)
        return -1;
    if (!pause.is_paused)
        return 0;
    buf_add_text(&line, "enrollment is paused since ");
    time_print(&line, (struct value_time){ pause.changed_at.seconds, 0 });
    buf_add_text(&line, " by ");
    columns_print_text(&line, pause.operator_name);
    if (pause.reason[0]) {
        buf_add_text(&line, ": ");
        columns_print_text(&line, pause.reason);
    }
    (void)fprintf(stderr, "%s; 'zester enroll resume' ends it\n", buf_text(&line));
    return 0;
}
