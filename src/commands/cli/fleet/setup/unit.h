/*
 * unit - systemd unit files of our daemons: those that are installed, and the drop-ins that adapt
 * them to this machine.
 *
 * A package, or `make install`, brings units with their sandbox. A drop-in names what differs here:
 * the command, the user, the folders that may be written. A whole unit in /etc would hide all of
 * that, so it is written only where none is installed.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef COMMANDS_CLI_FLEET_SETUP_UNIT_H
#define COMMANDS_CLI_FLEET_SETUP_UNIT_H

#include <stdbool.h>

struct arena;
struct buf;
struct err;
struct supervised;

#define UNIT_FOLDER "/etc/systemd/system"
/* Sorted before override.conf, in which `systemctl edit` puts what shall win. */
#define UNIT_DROPIN "10-setup.conf"

enum unit_source {
    UNIT_NONE,   /* not installed */
    UNIT_SYSTEM, /* in a folder where systemd looks for it */
    UNIT_PREFIX, /* beside the program (PREFIX/lib/systemd/system): for `systemctl link` */
    UNIT_HIDDEN, /* installed, but a file in UNIT_FOLDER hides it */
};

/* Is this unit installed, and where (`ret_path`, NULL for UNIT_NONE)? */
enum unit_source unit_find(struct arena *arena, const struct supervised *service,
                           const char **ret_path);

/* The drop-in of a service: its path and text. */
const char *unit_dropin_path(struct arena *arena, const struct supervised *service);
void unit_print_dropin(struct buf *out, const struct supervised *service);
/* A whole unit, for UNIT_NONE. `after`: a unit or target. */
void unit_print_whole(struct buf *out, const struct supervised *service, const char *after);

#endif
