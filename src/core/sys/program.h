/*
 * program - finds a program in PATH, as the shell does.
 */
#ifndef CORE_SYS_PROGRAM_H
#define CORE_SYS_PROGRAM_H

struct arena;

/* The path; NULL when no such program can be run. A name with a slash is not searched for. */
const char *program_find(struct arena *arena, const char *name);
/* The same for one of our own programs: first beside the running one or, where both are installed,
 * in bin or libexec/zester of the same prefix; then as above. */
const char *program_find_beside(struct arena *arena, const char *name);

#endif
