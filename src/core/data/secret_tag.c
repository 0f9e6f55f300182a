#include "core/data/secret_tag.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/data/value.h"

const char *const secret_tag_only[] = { SECRET_TAG, NULL };

/* The same place without a tag. */
static const struct value_source *bare_source(struct arena *arena,
                                              const struct value_source *source)
{
    struct value_source *bare = ARENA_NEW(arena, struct value_source);

    *bare = *source;
    bare->tag = NULL;
    return bare;
}

/* The depth is that of the document, which its reader has limited. */
static bool mark_secret_values(struct arena *arena, struct value *v, bool secret)
{
    const char *tag = value_tag(v);

    if (tag && strcmp(tag, SECRET_TAG) == 0) {
        secret = true;
        v->source = bare_source(arena, v->source);
    }
    if (secret)
        v->flags |= VALUE_SECRET;
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        secret |= mark_secret_values(arena, &v->list->items[i], v->flags & VALUE_SECRET);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        secret |= mark_secret_values(arena, &v->map->pairs[i].value, v->flags & VALUE_SECRET);
    return secret;
}

bool secret_tag_mark(struct arena *arena, struct value *doc)
{
    return mark_secret_values(arena, doc, false);
}

bool secret_tag_has(const struct value *v)
{
    bool any = v->flags & VALUE_SECRET;

    for (size_t i = 0; !any && v->kind == VALUE_LIST && i < v->list->count; i++)
        any = secret_tag_has(&v->list->items[i]);
    for (size_t i = 0; !any && v->kind == VALUE_MAP && i < v->map->count; i++)
        any = secret_tag_has(&v->map->pairs[i].value);
    return any;
}
