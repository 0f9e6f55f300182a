#include "core/data/params.h"

#include <assert.h>
#include <string.h>

#include "core/base/diag.h"
#include "core/base/suggest.h"
#include "core/data/param_read.h"
#include "core/data/value.h"
#include "core/data/words.h"

/* Maximum number of secret lines remembered; with more, no line of the map is shown. */
#define SECRET_LINES_MAX 32

/* A longer table allocates in the arena. */
#define FEW_PARAMS 64

struct decoding {
    struct arena *arena;
    const struct param *table;
    const struct params_policy *policy;
    const struct value *map;
    char *args;
    struct diags *diags;
    const struct value_pair **pairs; /* the pair of each parameter of the table, or NULL */
    bool knows_secrets;              /* the table does */
    size_t secret_count;
    uint32_t secret_lines[SECRET_LINES_MAX];
    struct words_cursor cursor;
};

/* --- the table ------------------------------------------------------------ */

/* One word of "a,b,c"? Mostly not, so the first letter decides most calls. */
static bool is_alias(const struct param *param, struct str name)
{
    for (const char *p = param->aliases; p && name.n > 0; p = strchr(p, ','), p = p ? p + 1 : NULL)
        if (*p == name.p[0] && strnlen(p, name.n) == name.n && memcmp(p, name.p, name.n) == 0 &&
            (p[name.n] == ',' || p[name.n] == '\0'))
            return true;
    return false;
}

bool param_choose(enum param_tristate given, bool otherwise)
{
    return given == PARAM_IS_UNSET ? otherwise : given == PARAM_IS_TRUE;
}

bool param_is_called(const struct param *param, struct str name)
{
    return str_is(name, param->name) || is_alias(param, name);
}

const struct param params_none[] = { { 0 } };

const struct param *params_find(const struct param *table, struct str name)
{
    const char first = name.n > 0 ? name.p[0] : '\0'; /* which decides most calls */

    for (const struct param *p = table; p->name; p++)
        if (((p->name[0] == first && str_is(name, p->name)) || is_alias(p, name)) &&
            !(p->flags & PARAM_REST))
            return p;
    return NULL;
}

const struct param *params_find_primary(const struct param *table)
{
    for (const struct param *p = table; p->name; p++)
        if (p->flags & PARAM_PRIMARY)
            return p;
    return NULL;
}

static size_t count_params(const struct param *table, bool *ret_secret)
{
    unsigned flags = 0;
    size_t n = 0;

    for (; table[n].name; n++)
        flags |= table[n].flags;
    *ret_secret = (flags & PARAM_SECRET) != 0;
    return n;
}

bool params_know_secrets(const struct param *table)
{
    bool secret;

    (void)count_params(table, &secret);
    return secret;
}

const struct param *params_at(const struct param *table, size_t place)
{
    const struct param *primary = params_find_primary(table);

    if (primary && place-- == 0)
        return primary;
    for (const struct param *p = table; p->name; p++)
        if (p != primary && !(p->flags & (PARAM_UNSUPPORTED | PARAM_REST)) && place-- == 0)
            return p;
    return NULL;
}

size_t params_places(const struct param *table)
{
    const struct param *last = NULL;
    size_t count = 0;

    for (const struct param *p; (p = params_at(table, count)); count++)
        last = p;
    return last && last->kind == PARAM_STRS ? SIZE_MAX : count;
}

static struct value make_value_list(struct arena *arena, const struct value *items, size_t count)
{
    struct value_list *list = value_list_new(arena, count);

    for (size_t i = 0; i < count; i++)
        value_list_push(arena, list, items[i]);
    return value_at(value_list(list), &items[0]);
}

static void set_missing(struct arena *arena, struct value_map *map, struct value key,
                        struct value v)
{
    if (!value_map_find(map, &key))
        value_map_set(arena, map, key, v);
}

size_t params_bind(struct arena *arena, const struct param *table, const struct value *items,
                   size_t count, struct value_map *to)
{
    for (size_t i = 0; i < count; i++) {
        const struct param *param = params_at(table, i);
        const size_t left = count - i;
        const bool takes_rest =
            left > 1 && param && param->kind == PARAM_STRS && !params_at(table, i + 1);

        if (!param)
            return i;
        set_missing(arena, to, value_at(value_text(param->name), &items[i]),
                    takes_rest ? make_value_list(arena, &items[i], left) : items[i]);
        if (takes_rest)
            break;
    }
    return count;
}

size_t params_bind_words(struct arena *arena, const struct param *table,
                         const struct param_strs *words, struct value_map *to)
{
    struct value *items = ARENA_ARRAY(arena, struct value, words->n);

    for (size_t i = 0; i < words->n; i++)
        items[i] = value_text(words->p[i]);
    return params_bind(arena, table, items, words->n, to);
}

const struct param *params_find_twice(const struct param *table, size_t count,
                                      const struct value_map *given)
{
    const struct param *param;

    for (size_t i = 0; i < count && (param = params_at(table, i)); i++)
        for (size_t k = 0; k < given->count; k++)
            if (given->pairs[k].key.kind == VALUE_STR &&
                param_is_called(param, given->pairs[k].key.s))
                return param;
    return NULL;
}

/* --- secrets and their lines ---------------------------------------------- */

static void note_secret_line(struct decoding *d, uint32_t line)
{
    if (d->secret_count < SECRET_LINES_MAX)
        d->secret_lines[d->secret_count] = line;
    d->secret_count++;
}

/* Several keys may share a line, so an innocent one must not show the secret beside it. */
static void note_secrets(struct decoding *d)
{
    for (size_t i = 0; i < d->map->map->count; i++) {
        const struct value_pair *pair = &d->map->map->pairs[i];
        const struct param *p = d->knows_secrets && pair->key.kind == VALUE_STR
                                    ? params_find(d->table, pair->key.s)
                                    : NULL;

        if (!(p && (p->flags & PARAM_SECRET)) && !(pair->value.flags & VALUE_SECRET))
            continue;
        note_secret_line(d, pair->key.line);
        if (pair->value.line != pair->key.line)
            note_secret_line(d, pair->value.line);
    }
}

static bool is_secret_line(const struct decoding *d, uint32_t line)
{
    if (d->secret_count > SECRET_LINES_MAX)
        return true;
    for (size_t i = 0; i < d->secret_count; i++)
        if (d->secret_lines[i] == line)
            return true;
    return false;
}

/* --- keys that are not in the table --------------------------------------- */

static bool is_policy_allowed(const struct params_policy *policy, struct str name)
{
    for (const char *const *key = policy->allowed; key && *key; key++)
        if (str_is(name, *key))
            return true;
    return false;
}

/* The nearest known key; a NULL view when none is near. */
static struct str find_nearest_param(const struct decoding *d, struct str name)
{
    struct suggest suggest;

    suggest_init(&suggest, name);
    for (const struct param *p = d->table; p->name; p++) {
        struct str rest = p->aliases ? str_from(p->aliases) : (struct str){ NULL, 0 };

        if (p->flags & (PARAM_HIDDEN | PARAM_UNSUPPORTED | PARAM_REST))
            continue;
        suggest_offer(&suggest, str_from(p->name));
        while (rest.p)
            suggest_offer(&suggest, str_cut(&rest, ','));
    }
    for (const char *const *key = d->policy->allowed; key && *key; key++)
        suggest_offer(&suggest, str_from(*key));
    if (d->policy->offer)
        d->policy->offer(&suggest);
    return suggest_best(&suggest);
}

/* The hint for a foreign key; NULL: none. */
static const char *find_foreign_param(const struct decoding *d, struct str name)
{
    for (const struct param_foreign *one = d->policy->foreign; one && one->key; one++)
        if (str_is(name, one->key))
            return one->hint;
    return NULL;
}

static int refuse_unknown_param(struct decoding *d, const struct value *key)
{
    struct diags *diags = d->policy->unknown ? d->policy->unknown : d->diags;
    const char *noun = d->policy->noun ? d->policy->noun : "parameter";
    const char *owner = d->policy->owner ? d->policy->owner : "";
    const char *foreign = find_foreign_param(d, key->s);
    struct str best = find_nearest_param(d, key->s);
    const struct param *meant = best.p ? params_find(d->table, best) : NULL;

    diag_add(diags, value_place(key), "%s%sno %s '%.*s'", owner, *owner ? " has " : "", noun,
             STR_ARG(key->s));
    if (key->source && !is_secret_line(d, key->line) && !(meant && (meant->flags & PARAM_SECRET)))
        diag_source(diags, key->source->text);
    if (foreign)
        diag_hint(diags, "%s", foreign);
    else if (best.p)
        diag_hint(diags, "did you mean '%.*s'?", STR_ARG(best));
    return d->policy->unknown ? 0 : -1;
}

/* Is the value empty, or the one that always applies? */
static bool is_no_wish(const struct param *param, const struct value *v)
{
    const char *accepted = param->default_text;

    if (v->kind == VALUE_NULL)
        return true;
    if (accepted)
        return v->kind == VALUE_BOOL ? strcmp(accepted, v->b ? "true" : "false") == 0
                                     : v->kind == VALUE_STR && str_is(v->s, accepted);
    return (v->kind == VALUE_BOOL && !v->b) || (v->kind == VALUE_STR && v->s.n == 0) ||
           (v->kind == VALUE_LIST && v->list->count == 0) ||
           (v->kind == VALUE_MAP && v->map->count == 0);
}

int params_refuse(const struct param *param, const struct params_policy *policy,
                  const struct value_pair *pair, bool shows_line, struct diags *diags)
{
    const bool warns = (param->flags & PARAM_EFFECTLESS) && policy->unknown;

    if (is_no_wish(param, &pair->value))
        return 0;
    diag_add(warns ? policy->unknown : diags, value_place(&pair->key),
             "parameter '%.*s'%s%s is not supported: %s", STR_ARG(pair->key.s),
             policy->owner ? " of " : "", policy->owner ? policy->owner : "", param->doc);
    if (pair->key.source && shows_line)
        diag_source(warns ? policy->unknown : diags, pair->key.source->text);
    return warns ? 0 : -1;
}

const struct param *params_find_rest(const struct param *table, const struct value *map)
{
    for (const struct param *p = table; p->name; p++)
        if (p->flags & PARAM_REST) {
            const struct value *when = p->when ? value_get(map, p->when) : NULL;

            return !p->when || (when && !is_no_wish(p, when)) ? p : NULL;
        }
    return NULL;
}

/* Keep an unknown key for the module. True when the module uses it. */
static bool keep_unknown(struct decoding *d, const struct value_pair *pair)
{
    const struct param *rest = d->policy->unknown ? params_find_rest(d->table, d->map) : NULL;
    const struct value **field;

    if (!rest)
        return false;
    field = (const struct value **)(void *)(d->args + rest->offset);
    if (!*field) {
        struct value *map = ARENA_NEW(d->arena, struct value);

        *map = value_map(value_map_new(d->arena, 4));
        *field = map;
    }
    value_map_set(d->arena, (*field)->map, pair->key, pair->value);
    return true;
}

/* --- decoding ------------------------------------------------------------- */

static int read_param(struct decoding *d, const struct param *param, struct str key,
                      const struct value *v)
{
    const struct param_reader reader = {
        .arena = d->arena,
        .param = param,
        .key = key,
        .mark = d->policy->mark,
        .diags = d->diags,
        .strict = d->policy->strict,
        .no_source = is_secret_line(d, v->line),
        .cursor = &d->cursor,
    };

    if (param->given > 0)
        *(bool *)(d->args + param->given - 1) = true;
    return param_read(&reader, v, d->args);
}

static int refuse_twice(struct decoding *d, const struct param *param, const struct value *key,
                        const struct value *first)
{
    diag_add(d->diags, value_place(key), "'%.*s' is the same as '%.*s', which is already given",
             STR_ARG(key->s), STR_ARG(first->s));
    if (key->source && !is_secret_line(d, key->line))
        diag_source(d->diags, key->source->text);
    if (first->line > 0)
        diag_note(d->diags, value_place(first), "given here");
    diag_hint(d->diags, "keep '%s'", param->name);
    return -1;
}

static int decode_pair(struct decoding *d, const struct value_pair *pair)
{
    const struct param *param;
    const struct value_pair **slot;

    if (pair->key.kind != VALUE_STR)
        return diag_add(d->diags, value_place(&pair->key), "the key must be text, got %s",
                        value_describe(&pair->key));
    param = params_find(d->table, pair->key.s);
    if (!param && (is_policy_allowed(d->policy, pair->key.s) || keep_unknown(d, pair)))
        return 0;
    if (!param)
        return refuse_unknown_param(d, &pair->key);
    if (param->flags & PARAM_UNSUPPORTED)
        return params_refuse(param, d->policy, pair, !is_secret_line(d, pair->key.line), d->diags);

    slot = &d->pairs[param - d->table];
    if (*slot)
        return refuse_twice(d, param, &pair->key, &(*slot)->key);
    *slot = pair;
    if (pair->value.kind == VALUE_NULL && param->kind != PARAM_ANY)
        return 0;
    return read_param(d, param, pair->key.s, &pair->value);
}

static int refuse_missing_param(struct decoding *d, const struct param *param,
                                const struct value_pair *pair)
{
    const struct value *where = pair ? &pair->key : d->map;
    struct place at = where ? value_place(where) : (struct place){ 0 };
    const char *owner = d->policy->owner ? d->policy->owner : "";
    const char *mark = d->policy->mark ? d->policy->mark : "";

    diag_add(d->diags, at, "'%s%s' %s%s%s", mark, param->name, pair ? "has no value" : "is missing",
             *owner ? " in " : "", owner);
    diag_hint(d->diags, "%s: %s", param_kind_word(param->kind), param->doc);
    return -1;
}

static void read_default(struct decoding *d, const struct param *param)
{
    const struct param_reader reader = {
        .arena = d->arena,
        .param = param,
        .key = str_from(param->name),
        .diags = d->diags,
        .cursor = &d->cursor,
    };
    struct value v = value_text(param->default_text);
    int result = param_read(&reader, &v, d->args);

    assert(result == 0); /* params_check would have reported it */
    (void)result;
}

/* Does a missing one need a default or an error? */
static bool has_absence(const struct param *param)
{
    return param->default_text || (param->flags & (PARAM_PRIMARY | PARAM_REQUIRED));
}

/* Handle a parameter that is missing in the map. */
static int fill_absent(struct decoding *d, const struct param *param, const struct value_pair *pair)
{
    if ((param->flags & PARAM_PRIMARY) && d->policy->primary)
        return read_param(d, param, str_from(param->name), d->policy->primary);
    if (param->flags & PARAM_REQUIRED)
        return refuse_missing_param(d, param, pair);
    if (param->default_text && !(param->flags & PARAM_UNSUPPORTED))
        read_default(d, param);
    return 0;
}

static int decode_pairs(struct decoding *d)
{
    int result = 0;

    note_secrets(d);
    for (size_t i = 0; i < d->map->map->count; i++)
        if (decode_pair(d, &d->map->map->pairs[i]) < 0)
            result = -1;
    return result;
}

int params_decode(struct arena *arena, const struct param *table,
                  const struct params_policy *policy, const struct value *map, void *args,
                  struct diags *diags)
{
    struct decoding d = {
        .arena = arena,
        .table = table,
        .policy = policy,
        .map = map && map->kind != VALUE_NULL ? map : NULL,
        .args = args,
        .diags = diags,
    };
    const size_t count = count_params(table, &d.knows_secrets);
    const struct value_pair *few[FEW_PARAMS];
    int result = 0;

    d.pairs = count <= FEW_PARAMS ? memset(few, 0, count * sizeof(few[0]))
                                  : ARENA_ARRAY(arena, const struct value_pair *, count);
    if (d.map && d.map->kind != VALUE_MAP)
        return value_diag(diags, map, "%s%smust be a map, got %s",
                          policy->owner ? policy->owner : "", policy->owner ? " " : "",
                          value_describe(map));
    if (d.map)
        result = decode_pairs(&d);

    for (const struct param *p = table; p->name; p++) {
        const struct value_pair *pair = d.pairs[p - table];

        if (pair ? pair->value.kind != VALUE_NULL || p->kind == PARAM_ANY : !has_absence(p))
            continue;
        if (fill_absent(&d, p, pair) < 0)
            result = -1;
    }
    return result;
}

int params_decode_one(struct arena *arena, const struct param *param,
                      const struct params_policy *policy, const struct value *v, void *args,
                      struct diags *diags)
{
    struct decoding d = {
        .arena = arena,
        .table = param,
        .policy = policy,
        .args = args,
        .diags = diags,
    };

    return read_param(&d, param, str_from(param->name), v);
}
