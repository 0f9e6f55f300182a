/*
 * toml - a value tree as TOML, in the layout of Python's toml library.
 *
 * The root is a map; a map in it is a table, a list of maps an array of tables, and keys stay in
 * their order. TOML has no null, no bytes, and no list that holds maps and other things.
 *
 * Threads: any.
 */
#ifndef CORE_DATA_TOML_H
#define CORE_DATA_TOML_H

struct arena;
struct buf;
struct err;
struct value;

/* How deep tables may be in each other. */
#define TOML_DEPTH_MAX 64

/* Fails with ERR_UNSUPPORTED, and names the key of a value without a TOML form. */
int toml_print(struct arena *arena, struct buf *out, const struct value *v, struct err *err);

#endif
