#include "states/facts/facts.h"

#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/facts/custom.h"
#include "states/facts/scan.h"

/* In this order: the network repeats the names. */
static const struct {
    enum facts_family descendants;
    void (*collect)(struct scan *scan);
} families[] = {
    { FACTS_ID, facts_id },           { FACTS_OS, facts_os },
    { FACTS_HOST, facts_host },       { FACTS_HARDWARE, facts_hardware },
    { FACTS_CPU, facts_cpu },         { FACTS_MEMORY, facts_memory },
    { FACTS_NETWORK, facts_network }, { FACTS_DISK, facts_disk },
    { FACTS_SALT, facts_salt },
};

int facts_collect(struct arena *arena, const struct facts_options *options,
                  const struct value **ret_facts, struct diags *diags)
{
    unsigned wanted = options->families ? options->families : FACTS_ALL;
    struct value *facts = ARENA_NEW(arena, struct value);
    struct value custom;
    struct scan scan;
    struct err err;
    int status = 0;

    if (scan_open(&scan, arena, options->root, &err) < 0)
        return diag_err(diags, (struct place){ 0 }, &err);
    scan.id = options->id;
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        if (wanted & families[i].descendants)
            families[i].collect(&scan);
    *facts = value_map(scan.facts);
    if (wanted & FACTS_CUSTOM) {
        status = custom_read(arena,
                             options->file ? options->file
                                           : arena_printf(arena, "%s%s", scan.root, FACTS_FILE),
                             &custom, diags);
        if (status == 0)
            *facts = value_merge(arena, facts, &custom, VALUE_MERGE_REPLACE);
    }
    scan_close(&scan);
    if (status == 0)
        *ret_facts = facts;
    return status;
}

const char *facts_environment(const struct value *facts)
{
    const char *name = value_get_text(facts, FACTS_ENVIRONMENT);

    return name && name[0] ? name : NULL;
}

const struct value *facts_grains(struct arena *arena, const struct value *facts)
{
    const struct value *os = value_get(facts, "os");
    const struct value *title = value_is(os, VALUE_MAP) ? value_get(os, "title") : NULL;
    struct value_map *map = value_map_new(arena, 1);
    struct value over = value_map(map);
    struct value *grains;

    if (!title)
        return facts;
    value_map_set(arena, map, value_text("os"), *title);
    grains = ARENA_NEW(arena, struct value);
    *grains = value_merge(arena, facts, &over, VALUE_MERGE_REPLACE);
    return grains;
}
