/*
 * guards - what decides whether a state may run, read from its attributes.
 *
 * A guard is a command for the shell, or a function in Salt's form:
 *
 *     unless:
 *       - test -e /etc/flag
 *       - fun: file.file_exists
 *         path: /etc/flag
 *
 * Beside `fun` stand its arguments by name; `args` is a list of those by place, and
 * `get_return` a path into what it gives. Functions that act cannot be guards: a dry
 * run asks them too.
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
/* The same, but only commands will do. */
int guards_read_commands(struct arena *arena, const struct value *v, const char *key,
                         struct plan_guards *ret, struct diags *diags);

#endif
