/* zester-master - directs the peels of a fleet. */
#include <unistd.h>

#include "commands/cli/fleet/commands.h"
#include "fleet/master/api/api.h"
#include "fleet/master/operators/approvals.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/enroll/enrollment_cache.h"
#include "fleet/master/enroll/enroll_admin.h"
#include "fleet/master/enroll/enroll_server.h"
#include "fleet/master/operators/operator_proxy.h"
#include "fleet/master/operators/operator_removal.h"
#include "fleet/master/jobs/orchestrator.h"
#include "fleet/master/enroll/revocation.h"
#include "fleet/master/record_guard.h"
#include "fleet/master/services.h"
#include "core/sys/inherited.h"

/* clang-format off */
static const struct master_service *const services[] = {
    &master_roster_service,
    &master_orchestrator_service,
    &master_dispatch_service,
    &master_late_service,
    &master_schedule_service,
    &master_files_service,
    &master_gitfs_service,
    &master_audit_service,
    &record_guard_service,
    &authority_service,
    &enrollment_cache_service,
    &revocation_service,
    &enroll_admin_service,
    &master_enroll_expiry_service,
    &master_departure_service,
    &approvals_service,
    &operator_removal_service,
    &operator_proxy_service,
    &api_service,
    &enroll_server_service,
    &master_reactor_service,
    &master_rollout_service,
    &master_presence_service,
    &master_export_service,
    &master_usage_service,
    &master_peel_trees_service,
    NULL,
};
/* clang-format on */

int main(int argc, char **argv)
{
    const struct command commands[] = {
        command_backup, command_health_master, command_restore, command_setup,
        command_token,  command_verify,        { 0 },
    };
    const struct program program = {
        .name = "zester-master",
        .summary = "directs the peels of a fleet",
        .statuses = "0 done; 1 failed, or wrong usage; 2 the daemon was given an\n"
                    "unknown option or word",
        .commands = commands,
        .globals = command_daemon_globals,
        .unknown_status = COMMAND_DAEMON_USAGE,
    };
    struct master master;
    bool starts_again;
    int status;

    if (command_is_given(&program, argc, argv))
        return command_main(&program, argc, argv);
    inherited_reset(INHERITED_DAEMON);
    if (master_init(&master, argc, argv, &status))
        status = master_run(&master, services);
    starts_again = master_starts_again(&master);
    master_done(&master);
    if (starts_again)
        (void)execv("/proc/self/exe", argv);
    return status;
}
