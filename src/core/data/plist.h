/*
 * plist - a value tree as a property list in XML, byte by byte as Python's plistlib writes it.
 *
 * Keys are texts. Property lists have no null, and no control characters.
 *
 * Threads: any.
 */
#ifndef CORE_DATA_PLIST_H
#define CORE_DATA_PLIST_H

#include <stdbool.h>

struct arena;
struct buf;
struct err;
struct value;

#define PLIST_DEPTH_MAX 64

/* Fails with ERR_UNSUPPORTED, and names the key of a value without a plist form. */
int plist_print(struct arena *arena, struct buf *out, const struct value *v, bool sort_keys,
                struct err *err);

#endif
