#include "cli/zester.h"

const char zester_details[] =
    "Declare the state of a machine in YAML and Jinja; zester checks what differs,\n"
    "changes only that, and can revert it.\n"
    "\n"
    "on the peels of a fleet:\n"
    "  zester '*' test.ping                     who is there\n"
    "  zester 'web*' state.apply REF --test     what would change\n"
    "  zester 'G@os.family:debian' cmd.run 'uptime'\n"
    "  zester '*' test.ping --help              all options\n"
    "\n"
    "on this machine:\n"
    "  zester --local state.apply REF --test    show what would change\n"
    "  zester --local state.apply REF           apply it\n"
    "  zester --local state.revert REF          revert it\n"
    "  zester --local cmd.run 'uptime'          call any module\n"
    "  zester --local --help                    show all options\n";
