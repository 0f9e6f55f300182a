/* zester-master - directs the peels of a fleet. */
#include "master/authority.h"
#include "master/census.h"
#include "master/enroll_admin.h"
#include "master/enroll_server.h"
#include "master/revocation.h"
#include "master/services.h"

static const struct master_service *const services[] = {
    &master_roster_service, &master_dispatch_service, &authority_service,     &census_service,
    &revocation_service,    &enroll_admin_service,    &enroll_server_service, NULL,
};

int main(int argc, char **argv)
{
    struct master master;
    int status;

    if (master_init(&master, argc, argv, &status))
        status = master_run(&master, services);
    master_done(&master);
    return status;
}
