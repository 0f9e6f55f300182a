/*
 * section - the settings of one beacon, checked by the table of its kind.
 *
 *     beacons:
 *       service: { services: { nginx: {} }, interval: 10s }     a map
 *       disk: [{ paths: { /: 90% } }, { interval: 60 }]         or a list of maps, as in Salt
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_BEACONS_SECTION_H
#define FLEET_BEACONS_SECTION_H

#include "fleet/beacons/kind.h"

struct buf;

/* The struct of the kind, filled; NULL after mistakes in `diags`: the section is refused. */
const void *section_read(struct arena *arena, const struct beacon_kind *kind,
                         const struct value *section, struct diags *diags);

/* A section as one map, from either form. */
int section_map(struct arena *arena, const struct value *section, struct value *ret,
                struct diags *diags);

/* Names that are the keys of a map (with empty values), a list, or one text. */
int section_names(struct arena *arena, const struct value *given, const char *key,
                  struct param_strs *ret_names, struct diags *diags);
/* A percentage: 90, 90.5 or "90%". */
int section_percent(const struct value *given, double *ret_percent, struct diags *diags);

/* The manual of a kind: its events and keys. */
void section_print_doc(const struct beacon_kind *kind, struct buf *out);
void section_print_markdown(const struct beacon_kind *kind, struct buf *out);

#endif
