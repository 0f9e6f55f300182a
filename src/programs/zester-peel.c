/* zester-peel - the agent of a machine in a fleet. */
#include "peel/main.h"

int main(int argc, char **argv)
{
    return peel_main(argc, argv);
}
