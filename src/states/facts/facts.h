/*
 * facts - describes this machine, without starting a process or using the network.
 *
 * Facts are a map. Each family adds a nested map in lower case (os.family is "debian",
 * network.ipv4, memory.total) and, flat beside it, Salt's grains (os_family is "Debian", osfinger,
 * num_cpus, mem_total), with Salt's spelling and units. Custom facts of the administrator, a YAML
 * map in /etc/zester/facts, are merged deeply on top.
 *
 * One name has two meanings: `os` is a map here and a text in Salt. facts_grains returns the same
 * facts with Salt's `os`, for templates with `grains['os']`; target expressions understand both,
 * see language/target/target.h.
 *
 * With a root, files are read below it as if it were "/": the tree of another machine gives its
 * facts, as far as they are in files. Other facts (addresses, mounted space) come from the running
 * kernel.
 *
 * Unknown facts are silently left out.
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
    FACTS_HOST = 2, /* names, and the user of this process */
    FACTS_HARDWARE = 4,
    FACTS_CPU = 8,
    FACTS_MEMORY = 16,
    FACTS_NETWORK = 32,
    FACTS_DISK = 64,
    FACTS_CUSTOM = 128,
    FACTS_SALT = 256, /* facts about Salt itself */
    FACTS_ALL = 511,
    FACTS_ID = 512, /* the ID alone, which FACTS_HOST includes */
};

/* All zero: everything, of this machine. */
struct facts_options {
    const char *root;  /* NULL: "/" */
    const char *id;    /* ID of this machine; NULL: its full name */
    unsigned families; /* 0: FACTS_ALL */
    const char *file;  /* file of custom facts; NULL: FACTS_FILE below the root */
};

/* The environment that the agent is configured for (language/target/top.h). */
#define FACTS_ENVIRONMENT "peel_environment"
/* From the facts; NULL: none, use all environments. */
const char *facts_environment(const struct value *facts);

/* Returns -1 when it added to `diags`: mistakes in the custom facts, or no root. */
int facts_collect(struct arena *arena, const struct facts_options *options,
                  const struct value **ret_facts, struct diags *diags);

/* Go's name for the architecture of this machine: "amd64"; or "unknown". */
const char *facts_go_arch(void);

/* The same facts with `os` as text, for Salt's templates. Shares the rest. */
const struct value *facts_grains(struct arena *arena, const struct value *facts);

/* Write a custom fact into `file` (NULL: FACTS_FILE). `key` is a dotted path; missing folders and
 * maps are created. The file is replaced atomically. Fails when it is not valid YAML, or a part of
 * the path exists and is not a map. */
int facts_set(const char *file, struct str key, const struct value *value, struct err *err);

#endif
