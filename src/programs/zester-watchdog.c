/* zester-watchdog - runs a daemon of the fleet and replaces it by new versions. */
#include "watchdog/watchdog.h"

int main(int argc, char **argv)
{
    return watchdog_main(argc, argv);
}
