/*
 * program - where a program is, as the shell would find it.
 */
#ifndef SYS_PROGRAM_H
#define SYS_PROGRAM_H

struct arena;

/* Its path; NULL when there is none that may be run. A name with a slash is looked at as it is. */
const char *program_find(struct arena *arena, const char *name);

#endif
