/*
 * guards - the conditions of a state, read from its attributes.
 *
 * A guard is a command for the shell, or a function in Salt's form:
 *
 *     unless:
 *       - test -e /etc/flag
 *       - fun: file.file_exists
 *         path: /etc/flag
 *
 * Beside `fun` are its arguments by name; `args` is a list of positional ones, and `get_return` a
 * path into the result. Functions that make changes cannot be guards: guards also run in a dry run.
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef COMPILE_GUARDS_H
#define COMPILE_GUARDS_H

struct arena;
struct diags;
struct plan_guards;
struct value;

/* One guard or a list of them, under this key; none when `v` is NULL. */
int guards_read(struct arena *arena, const struct value *v, const char *key,
                struct plan_guards *ret, struct diags *diags);
/* The same, but only commands are allowed. */
int guards_read_commands(struct arena *arena, const struct value *v, const char *key,
                         struct plan_guards *ret, struct diags *diags);

#endif
