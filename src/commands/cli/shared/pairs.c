#include "commands/cli/shared/pairs.h"

#include "core/base/err.h"
#include "core/base/utf8.h"
#include "core/data/params.h"
#include "core/data/value.h"

int pairs_read(struct arena *arena, const struct param_strs *words, struct value *ret_map,
               struct err *err)
{
    struct value_map *map = value_map_new(arena, words->n);

    for (size_t i = 0; i < words->n; i++) {
        struct str rest = str_from(words->p[i]);
        const struct str key = str_cut(&rest, '=');

        if (!rest.p || key.n == 0)
            return err_set(err, ERR_INVALID, "'%s' is not KEY=VALUE", words->p[i]);
        if (!utf8_is_valid(str_from(words->p[i])))
            return err_set(err, ERR_INVALID, "'%.*s' is not text in UTF-8", STR_ARG(key));
        value_map_set(arena, map, value_str(arena_str(arena, key)),
                      value_str(arena_str(arena, rest)));
    }
    *ret_map = words->n > 0 ? value_map(map) : value_null();
    return 0;
}
