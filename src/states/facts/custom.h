/*
 * custom - custom facts from a file of the administrator.
 *
 * A map in YAML; no file means no facts. Threads: any; writers one at a time.
 */
#ifndef STATES_FACTS_CUSTOM_H
#define STATES_FACTS_CUSTOM_H

struct arena;
struct diags;
struct value;

#define CUSTOM_FILE_MAX ((size_t)1 << 20)
/* Maximum parts in the path of a fact. */
#define CUSTOM_DEPTH_MAX 32

/* Sets a map, empty when there is no file. Returns -1 when it added to `diags`. */
int custom_read(struct arena *arena, const char *path, struct value *ret_map, struct diags *diags);

#endif
