#include "states/settings/seal.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/vec.h"
#include "core/data/secret_tag.h"
#include "core/data/value.h"
#include "states/settings/sanitize.h"

static int check_tag(const struct value *v, struct diags *diags)
{
    const char *tag = value_tag(v);

    if (!tag || strcmp(tag, SECRET_TAG) == 0)
        return 0;
    for (const char *const *known = sanitize_tags; *known; known++)
        if (strcmp(tag, *known) == 0)
            return value_diag(diags, v, "'%s' is supported in fleet settings only", tag);
    (void)value_diag(diags, v, "unknown tag '%s' in settings", tag);
    diag_hint(diags, "'%s' marks a value to be masked in all output", SECRET_TAG);
    return -1;
}

/* The reader of the document has limited its depth. */
static int check_seal_tags(const struct value *v, struct diags *diags)
{
    int result = check_tag(v, diags);

    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        result |= check_seal_tags(&v->list->items[i], diags);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        result |= check_seal_tags(&v->map->pairs[i].value, diags);
    return result;
}

int seal_mark(struct arena *arena, struct value *doc, struct diags *diags)
{
    if (check_seal_tags(doc, diags) < 0)
        return -1;
    (void)secret_tag_mark(arena, doc);
    return 0;
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
