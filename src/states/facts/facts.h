/*
 * facts - what this machine is, found without starting a process or using the network.
 *
 * Facts are a map. Each family adds a nested map in lower case (os.family is
 * "debian", network.ipv4, memory.total) and, flat beside it, the names that Salt's
 * grains have (os_family is "Debian", osfinger, num_cpus, mem_total), with Salt's
 * spelling and units. Last comes what the administrator wrote into /etc/zester/facts,
 * a map in YAML that is merged on top, deeply.
 *
 * One name means two things: `os` is a map here and a text in Salt. facts_grains gives
 * the same facts with `os` as Salt has it, for templates that say `grains['os']`; target
 * expressions understand both, see language/target/target.h.
 *
 * With a root, files are read below it as if it were "/": a folder with the tree of
 * another machine gives the facts of that machine, as far as files show. What is not
 * in files (addresses, mounted space) comes from the running kernel.
 *
 * What cannot be found is left out without an error.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_FACTS_FACTS_H
#define STATES_FACTS_FACTS_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;
struct diags;
struct err;
struct value;

#define FACTS_FILE "/etc/zester/facts"

/* Families, for a mask. */
enum facts_family {
    FACTS_OS = 1,
    FACTS_HOST = 2, /* names, and who runs this program */
    FACTS_HARDWARE = 4,
    FACTS_CPU = 8,
    FACTS_MEMORY = 16,
    FACTS_NETWORK = 32,
    FACTS_DISK = 64,
    FACTS_CUSTOM = 128,
    FACTS_SALT = 256, /* what Salt says of itself */
    FACTS_ALL = 511,
    FACTS_ID = 512, /* the id alone, which FACTS_HOST has too */
};

/* All zero: everything, of this machine. */
struct facts_options {
    const char *root;  /* NULL: "/" */
    const char *id;    /* of this machine; NULL: its full name */
    unsigned families; /* 0: FACTS_ALL */
    const char *file;  /* of the administrator; NULL: FACTS_FILE below the root */
};

/* The environment that an agent belongs to, as it is configured (language/target/top.h). */
#define FACTS_ENVIRONMENT "peel_environment"
/* By its facts; NULL: none, so that all count. */
const char *facts_environment(const struct value *facts);

/* Returns -1 when it added to `diags`: mistakes in the file of the administrator, or no root. */
int facts_collect(struct arena *arena, const struct facts_options *options,
                  const struct value **ret_facts, struct diags *diags);

/* What Go calls the architecture of this machine: "amd64"; "unknown" for one that is not known. */
const char *facts_go_arch(void);

/* The same facts with `os` as text, for Salt's templates. Shares the rest. */
const struct value *facts_grains(struct arena *arena, const struct value *facts);

/* Write a fact of the administrator's into `file` (NULL: FACTS_FILE): `key` is a dotted path,
 * folders and maps on the way are made. The file is replaced whole. Fails when it cannot be read as
 * YAML, or a part of the path exists and is not a map. */
int facts_set(const char *file, struct str key, const struct value *value, struct err *err);

#endif
