#include "fleet/view/binding.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/data/value.h"
#include "fleet/wire/job.h"

#define NO_WORD FLEET_BINDING_NO_WORD

/* clang-format off */
static const struct fleet_binding bindings[] = {
    { "cmd.run",         { "command" },      1, NO_WORD },
    { "test.ping",       { NULL },           0, "ping" },
    { "facts.items",     { NULL },           0, "items" },
    { "settings.items",  { NULL },           0, "items" },
    { "facts.keys",      { NULL },           0, "keys" },
    { "settings.keys",   { NULL },           0, "keys" },
    { "facts.get",       { "key" },          1, NULL },
    { "settings.get",    { "key" },          1, NULL },
    { "facts.set",       { "key", "value" }, 2, NULL },
    { "state.apply",     { "state" },        0, NULL },
    { "state.highstate", { NULL },           0, "highstate" },
};
/* clang-format on */

/* One positional argument, whatever its name. */
static const struct fleet_binding any_binding = { .keys = { "" } };

const struct fleet_binding *fleet_binding_find(const char *function)
{
    for (size_t i = 0; i < ARRAY_LEN(bindings); i++)
        if (strcmp(bindings[i].function, function) == 0)
            return &bindings[i];
    return &any_binding;
}

void fleet_binding_use(struct arena *arena, struct str function, struct str word, struct job *job)
{
    const char *text = arena_str(arena, word).p;
    const struct fleet_binding *binding;

    job->function = arena_str(arena, function).p;
    binding = fleet_binding_find(job->function);
    job->args = value_map(value_map_new(arena, 1));
    job->state_id = binding->id ? binding->id : text;
    if (word.n > 0 && binding->keys[0] && binding->keys[0][0])
        value_map_set(arena, job->args.map, value_text(binding->keys[0]), value_text(text));
    if (!job->state_id[0])
        job->state_id = strcmp(job->function, "state.apply") == 0 ? "highstate" : NO_WORD;
}
