/*
 * liveness - heartbeats of masters and peels, in buckets whose entries expire.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_LIVENESS_H
#define FLEET_WIRE_LIVENESS_H

#include <stdint.h>

#include "core/base/str.h"
#include "core/data/params.h"
#include "core/data/record.h"

struct arena;

/* A published tree is named by the first digits of its manifest's SHA-256. */
#define LIVENESS_TREE_SIZE 13
/* Bytes of a problem; longer ones are cut. */
#define LIVENESS_PROBLEM_MAX 240

/* Trees by name; "": none, or not known. */
struct liveness_trees {
    const char *states, *settings, *reactor;
    const char *canary;  /* of the states, published beside those for all */
    const char *problem; /* why newer ones are not in use: one line, without secrets; "": none */
    const char *refused; /* settings that cannot be used until they change; "": none */
};
extern const struct record_type liveness_trees_type;
/* Rules in use on a master whose reactor is switched off. */
#define LIVENESS_RULES_OFF "off"

/* The map; a null value when all are empty. */
struct value liveness_show_trees(struct arena *arena, const struct liveness_trees *trees);
/* Views of the map; a malformed one, or null, has no trees. */
void liveness_read_trees(struct arena *arena, const struct value *map, struct liveness_trees *ret);

/* The name of the tree with this manifest. */
void liveness_name_tree(struct str manifest, char ret_name[static LIVENESS_TREE_SIZE]);
/* The first line of a problem, cut to LIVENESS_PROBLEM_MAX: it may come from another machine. */
struct str liveness_problem(struct str text);

struct liveness_master {
    const char *master_id;
    struct param_strs active_jobs;
    struct value_time timestamp;
    const char *version;
    /* Start of gapless heartbeats in the bucket; 0: not known. */
    struct value_time since;
    struct value trees;     /* a map, liveness_trees: the rules in use; null: not known */
    struct value published; /* the same: what is published, as this master sees it */
};
extern const struct record_type liveness_master_type;

struct liveness_peel {
    struct value_time ts;
    const char *version;
    int32_t protocol;
    struct value run;   /* a map: the summary of its last run (states/run/lastrun.h); null: none */
    struct value trees; /* a map, liveness_trees: in use; null: not known */
};
extern const struct record_type liveness_peel_type;

#endif
