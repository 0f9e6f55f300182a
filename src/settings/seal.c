#include "settings/seal.h"

#include <string.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/vec.h"
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

struct texts {
    VEC(const char *) list;
};

static void collect_texts(struct arena *arena, const struct value *v, bool is_secret,
                          struct texts *out)
{
    is_secret = is_secret || (v->flags & VALUE_SECRET);
    if (v->kind == VALUE_STR && is_secret)
        VEC_PUSH_IN(arena, &out->list, v->s.p);
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        collect_texts(arena, &v->list->items[i], is_secret, out);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        collect_texts(arena, &v->map->pairs[i].value, is_secret, out);
}

struct param_strs seal_texts(struct arena *arena, const struct value *v)
{
    struct texts texts = { 0 };

    collect_texts(arena, v, false, &texts);
    return (struct param_strs){ texts.list.n, texts.list.p };
}

void seal_restore(struct value *v, const struct param_strs *texts)
{
    for (size_t i = 0; v->kind == VALUE_STR && i < texts->n; i++)
        if (str_eq_text(v->s, texts->p[i]))
            v->flags |= VALUE_SECRET;
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        seal_restore(&v->list->items[i], texts);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        seal_restore(&v->map->pairs[i].value, texts);
}
