/*
 * doctor - the findings of `zester doctor` between this machine and a working fleet.
 *
 * Each step adds findings, in the order in which they are shown: doctor_add and its short forms.
 * Steps that are larger than a function have a file each: reach.c (names, ports and what servers
 * present there), presence.c (who runs), trees.c (who uses what is published), room.c (what is
 * full), own_peel.c (the agent of this machine).
 *
 * Memory: the arena. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_DOCTOR_DOCTOR_H
#define COMMANDS_CLI_FLEET_DOCTOR_DOCTOR_H

#include <stdint.h>

#include "core/base/vec.h"
#include "commands/cli/fleet/link.h"

struct arena;
struct cli;

#define DOCTOR_DAY INT64_C(86400)
/* Warn about terms that end within this time, */
#define DOCTOR_SOON (30 * DOCTOR_DAY)
/* or within this share of their life: automatically renewed ones may live for hours. */
#define DOCTOR_SOON_SHARE 4
/* Certificates begin so long before they are made (fleet/enroll/certificate.h). */
#define DOCTOR_EARLY DOCTOR_DAY

enum doctor_verdict { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_finding {
    const char *check;
    enum doctor_verdict verdict;
    const char *text, *advice; /* advice NULL: none is needed */
};

struct doctor {
    struct arena *arena;
    struct fleet_target target;
    const char *person;  /* whose credentials these are, of an operator with a name; or NULL */
    struct fleet *fleet; /* NULL: not connected */
    VEC(struct doctor_finding) findings;
};

void doctor_add(struct doctor *doctor, struct doctor_finding finding);
void doctor_add_ok(struct doctor *doctor, const char *check, const char *text);

/* Something that is good from `begins` to `ends`, in seconds since 1970. */
struct doctor_term {
    const char *check, *what;
    int64_t begins, ends; /* begins 0: not known; ends 0: never */
    const char *advice;   /* when it ended, or ends soon */
};
void doctor_add_term(struct doctor *doctor, const struct doctor_term *term);

/* Names and ports of the servers, and the certificates that they and the enrollment endpoint of
 * this machine's master present. */
void doctor_check_reach(struct doctor *doctor);
/* Masters and peels that run, and their versions. Connected only. */
void doctor_check_presence(struct doctor *doctor);

/* Masters and peels that do not use what is published. Connected only. */
void doctor_check_trees(struct doctor *doctor);

/* Streams that are nearly full, and peels that masters cut off for it. Connected only. */
void doctor_check_room(struct doctor *doctor);

/* The agent of this machine, with this configuration. */
void doctor_check_own_peel(struct doctor *doctor, const char *file);

/* All findings on standard output. Returns the exit status. */
int doctor_print(struct doctor *doctor, struct cli *cli, enum fleet_format format);

#endif
