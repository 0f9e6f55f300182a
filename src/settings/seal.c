#include "settings/seal.h"

#include <string.h>

#include "base/arena.h"
#include "base/diag.h"
#include "data/value.h"
#include "settings/sanitize.h"

#define TAG_SECRET "!secret"

struct seal {
    struct arena *arena;
    struct diags *diags;
};

/* The same place without a tag. */
static const struct value_source *bare_source(struct seal *seal, const struct value_source *source)
{
    struct value_source *bare = ARENA_NEW(seal->arena, struct value_source);

    *bare = *source;
    bare->tag = NULL;
    return bare;
}

static int read_tag(struct seal *seal, struct value *v, bool *secret)
{
    const char *tag = value_tag(v);

    if (!tag)
        return 0;
    for (const char *const *known = sanitize_tags; *known; known++)
        if (strcmp(tag, *known) == 0)
            return value_diag(seal->diags, v, "'%s' is for the settings of a fleet", tag);
    if (strcmp(tag, TAG_SECRET) != 0) {
        (void)value_diag(seal->diags, v, "unknown tag '%s' in settings", tag);
        diag_hint(seal->diags, "'%s' marks a value that is never shown", TAG_SECRET);
        return -1;
    }
    *secret = true;
    v->source = bare_source(seal, v->source);
    return 0;
}

/* Depth: that of the document, which its reader has limited. */
static int mark(struct seal *seal, struct value *v, bool secret)
{
    int result = read_tag(seal, v, &secret);

    if (secret)
        v->flags |= VALUE_SECRET;
    if (v->kind == VALUE_LIST)
        for (size_t i = 0; i < v->list->count; i++)
            result |= mark(seal, &v->list->items[i], secret);
    if (v->kind == VALUE_MAP)
        for (size_t i = 0; i < v->map->count; i++)
            result |= mark(seal, &v->map->pairs[i].value, secret);
    return result;
}

int seal_mark(struct arena *arena, struct value *doc, struct diags *diags)
{
    struct seal seal = { arena, diags };

    return mark(&seal, doc, false);
}
