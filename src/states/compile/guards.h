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
 * In Salt's files commands run with the options of the state (its folder, environment, shell...),
 * and what is neither a text nor a map is ignored.
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef STATES_COMPILE_GUARDS_H
#define STATES_COMPILE_GUARDS_H

struct arena;
struct diags;
struct plan_guards;
struct value;
struct value_map;

/* The argument of states of Salt that lists options which its guards do not have. */
#define GUARD_EXCLUDES "cmd_opts_exclude"

/* The owner of the guards. */
struct guards_owner {
    struct arena *arena;
    const struct value_map *options; /* arguments of a Salt state, or NULL */
    const char *runas;               /* of that state, or NULL */
    struct diags *warnings, *diags;
};

/* One guard or a list of them, under this key; none when `v` is NULL. */
int guards_read(const struct guards_owner *owner, const struct value *v, const char *key,
                struct plan_guards *ret);
/* The same, but only commands are allowed, and they have no options. */
int guards_read_commands(const struct guards_owner *owner, const struct value *v, const char *key,
                         struct plan_guards *ret);

#endif
