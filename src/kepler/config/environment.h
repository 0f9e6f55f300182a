/*
 * environment - names and values for a process.
 *
 * In the order in which names were first set; a later value replaces an earlier one. Names have no
 * '=' and no NUL, values no NUL: callers have checked (environment_is_name, dotenv,
 * environment_add).
 *
 * Memory: the arena of the environment; everything is copied into it. Threads: one
 * at a time; any number of readers once nobody changes it.
 */
#ifndef KEPLER_CONFIG_ENVIRONMENT_H
#define KEPLER_CONFIG_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/map.h"
#include "core/base/str.h"
#include "core/data/value.h"

struct account;
struct arena;
struct err;

/* Maximum bytes of the names and values of one environment; the kernel limits one text to the same
 * size. */
#define ENVIRONMENT_TEXT_MAX ((size_t)128 << 10)

struct environment {
    struct arena *arena;
    struct map vars; /* name to a NUL-terminated text */
};

void environment_init(struct environment *env, struct arena *arena);
/* A copy in the arena; NULL is empty. */
struct environment *environment_copy(struct arena *arena, const struct environment *env);
/* Begins with the same variables and borrows their texts: `env` must live as long. */
struct environment *environment_share(struct arena *arena, const struct environment *env);

/* Not empty, no '=', no NUL, no blanks. */
bool environment_is_name(struct str name);

void environment_set(struct environment *env, struct str name, struct str value);
/* "NAME=value". Fails when it has no name, no '=', a NUL, or is too long. */
int environment_add(struct environment *env, struct str pair, struct err *err);
/* Adds all of `over`, replacing. */
void environment_merge(struct environment *env, const struct environment *over);
/* From an array such as environ; entries that are not pairs are skipped. */
void environment_merge_array(struct environment *env, const char *const *pairs);
/* The caller's environment without our own secrets. */
void environment_capture(struct environment *env, const struct environment *caller);
/* HOME, USER, LOGNAME and SHELL of an account. */
void environment_set_identity(struct environment *env, const struct account *account);

/* NULL when not set. */
const char *environment_find(const struct environment *env, struct str name);
size_t environment_count(const struct environment *env);
/* "NAME=value"..., ends in NULL. */
const char *const *environment_array(const struct environment *env, struct arena *arena);
/* The array with this variable, replacing any of the same name. */
const char *const *environment_array_with(struct arena *arena, const char *const *pairs,
                                          const char *name, const char *value);
/* A map for scripts; shares the texts. */
struct value environment_value(const struct environment *env, struct arena *arena);

#endif
