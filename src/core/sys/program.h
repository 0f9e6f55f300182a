/*
 * program - where a program is, as the shell would find it.
 */
#ifndef CORE_SYS_PROGRAM_H
#define CORE_SYS_PROGRAM_H

struct arena;

/* Its path; NULL when there is none that may be run. A name with a slash is looked at as it is. */
const char *program_find(struct arena *arena, const char *name);
/* The same for one of ours: beside the program that runs, else as above. */
const char *program_find_beside(struct arena *arena, const char *name);

#endif
