/* zester-watchdog - runs a daemon of the fleet and replaces it by new versions. */
#include "core/sys/inherited.h"
#include "fleet/watchdog/watchdog.h"

int main(int argc, char **argv)
{
    inherited_reset(INHERITED_DAEMON);
    return watchdog_main(argc, argv);
}
