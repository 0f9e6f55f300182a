#include "states/modules/file/checksums.h"

#include "core/base/arena.h"
#include "core/base/digest.h"
#include "core/data/value.h"
#include "states/state/module.h"
#include "states/state/source_hash.h"

struct value checksums_value(struct state_run *run, const struct digest *kind, struct str digits)
{
    struct value_map *map = value_map_new(run->arena, 2);

    value_map_set(run->arena, map, value_text("hsum"), value_str(arena_str(run->arena, digits)));
    value_map_set(run->arena, map, value_text("hash_type"), value_text(digest_name(kind)));
    return value_map(map);
}

/* The place of a line's name among the wanted ones; their number: it is not among them. */
static size_t rank_name(const struct checksums_names *names, struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(names->p); i++)
        if (names->p[i] && names->p[i][0] && source_hash_names(name, str_from(names->p[i])))
            return i;
    return ARRAY_LEN(names->p);
}

void checksums_pick(struct state_run *run, struct str text, const struct digest *kind,
                    const struct checksums_names *names, struct value *ret)
{
    struct source_hash hash, best = { 0 };
    size_t best_rank = ARRAY_LEN(names->p) + 1;
    struct str name;

    while (source_hash_next(&text, &name, &hash)) {
        const size_t rank = rank_name(names, name);

        if ((kind && hash.kind != kind) || rank >= best_rank)
            continue;
        best = hash;
        best_rank = rank;
    }
    *ret = best.kind ? checksums_value(run, best.kind, best.digits) : value_null();
}
