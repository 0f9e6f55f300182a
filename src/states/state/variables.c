#include "states/state/variables.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/mem.h"
#include "core/base/vec.h"

struct variable {
    const char *name, *value; /* NULL value: removed */
};

struct variables {
    pthread_mutex_t lock;
    struct arena arena;
    VEC(struct variable) list;
};

struct variables *variables_new(void)
{
    struct variables *variables = mem_alloc(sizeof(*variables));

    *variables = (struct variables){ .arena = ARENA_INIT };
    (void)pthread_mutex_init(&variables->lock, NULL);
    return variables;
}

void variables_free(struct variables *variables)
{
    if (!variables)
        return;
    (void)pthread_mutex_destroy(&variables->lock);
    arena_done(&variables->arena);
    free(variables);
}

static struct variable *find_run_variable(struct variables *variables, const char *name, size_t n)
{
    VEC_EACH (&variables->list, variable)
        if (strlen(variable->name) == n && memcmp(variable->name, name, n) == 0)
            return variable;
    return NULL;
}

void variables_set(struct variables *variables, const char *name, const char *value)
{
    struct variable *known;

    if (!variables)
        return;
    (void)pthread_mutex_lock(&variables->lock);
    known = find_run_variable(variables, name, strlen(name));
    if (!known) {
        const struct variable fresh = { arena_strdup(&variables->arena, name), NULL };

        VEC_PUSH_IN(&variables->arena, &variables->list, fresh);
        known = &variables->list.p[variables->list.n - 1];
    }
    if (!value || !known->value || strcmp(known->value, value) != 0)
        known->value = value ? arena_strdup(&variables->arena, value) : NULL;
    (void)pthread_mutex_unlock(&variables->lock);
}

const char *variables_find(struct variables *variables, struct arena *arena, const char *name)
{
    const struct variable *known;
    const char *value = getenv(name);

    if (!variables)
        return value;
    (void)pthread_mutex_lock(&variables->lock);
    known = find_run_variable(variables, name, strlen(name));
    if (known)
        value = known->value;
    value = value ? arena_strdup(arena, value) : NULL;
    (void)pthread_mutex_unlock(&variables->lock);
    return value;
}

const char *const *variables_make(struct variables *variables, struct arena *arena)
{
    VEC(const char *) all = VEC_INIT;

    if (!variables)
        return NULL;
    (void)pthread_mutex_lock(&variables->lock);
    for (char **entry = environ; variables->list.n > 0 && *entry; entry++)
        if (!find_run_variable(variables, *entry, strcspn(*entry, "=")))
            VEC_PUSH_IN(arena, &all, *entry);
    VEC_EACH (&variables->list, variable)
        if (variable->value)
            VEC_PUSH_IN(arena, &all, arena_printf(arena, "%s=%s", variable->name, variable->value));
    if (variables->list.n > 0)
        VEC_PUSH_IN(arena, &all, NULL);
    (void)pthread_mutex_unlock(&variables->lock);
    return all.p;
}
