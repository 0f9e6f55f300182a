/* top - the top file: which states belong to this machine.
 *
 *     base:
 *       'web*':
 *         - web
 *       'os.family:debian and not G@role:db':
 *         - match: compound
 *         - common
 *
 * Environments are labels: all are read, in the order of the document. References
 * come in the order in which they are first named. */
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "state/compile.h"
#include "state/host.h"
#include "state/load.h"
#include "state/plan.h"
#include "state/renderer.h"
#include "state/tree.h"
#include "target/target.h"

struct top {
    struct load load;
    struct map seen;
    VEC(const char *) refs;
};

static const char *const top_files[] = { "top.zy", "top.sls" };

/* --- one target -------------------------------------------------------------------- */

/* A list may say how its target is meant: `- match: grain`. */
static int read_match(struct top *top, const struct value *list, enum target_type *ret)
{
    const char *nearest;

    *ret = TARGET_COMPOUND;
    for (size_t i = 0; list->kind == VALUE_LIST && i < list->list->count; i++) {
        const struct value *item = &list->list->items[i];
        const struct value *match = value_get(item, "match");

        if (item->kind != VALUE_MAP)
            continue;
        if (!match || match->kind != VALUE_STR || item->map->count != 1)
            return value_diag(top->load.diags, item,
                              "top file: wanted a reference or 'match: TYPE', got %s",
                              value_describe(item));
        if (!target_type_find(match->s, ret, &nearest)) {
            (void)value_diag(top->load.diags, match, "top file: no type of target '%s'",
                             match->s.p);
            if (nearest)
                diag_hint(top->load.diags, "did you mean '%s'?", nearest);
            return -1;
        }
    }
    return 0;
}

static int is_meant(struct top *top, const struct value *text, enum target_type type, bool *ret)
{
    const struct state_host *host = top->load.host;
    const struct target_options options = { .where = text };
    const struct target_subject subject = {
        .id = str_from(host->peel_id ? host->peel_id : ""),
        .facts = host->facts,
        .settings = host->settings,
    };
    const struct target *target;
    struct err err;

    if (text->kind != VALUE_STR)
        return value_diag(top->load.diags, text, "top file: a target is a text, not %s",
                          value_describe(text));
    if (target_parse(top->load.arena, text->s, type, &options, &target, top->load.diags) < 0)
        return -1;
    if (target_match(target, &subject, ret, &err) < 0)
        return value_diag(top->load.diags, text, "top file: %s", err.text);
    return 0;
}

static int add_ref(struct top *top, const struct value *item)
{
    if (item->kind == VALUE_MAP)
        return 0; /* `match`, which has been read */
    if (item->kind != VALUE_STR || item->s.n == 0)
        return value_diag(top->load.diags, item, "top file: wanted a reference, got %s",
                          value_describe(item));
    if (!map_has(&top->seen, item->s)) {
        (void)map_set(&top->seen, item->s, top);
        VEC_PUSH_IN(top->load.arena, &top->refs, item->s.p);
    }
    return 0;
}

static int read_target(struct top *top, const struct value_pair *pair)
{
    const struct value *list = &pair->value;
    enum target_type type;
    bool meant = false;
    int result = 0;

    if (list->kind == VALUE_NULL)
        return 0;
    if (list->kind != VALUE_LIST && list->kind != VALUE_STR)
        return value_diag(top->load.diags, list, "top file: wanted a list of references, got %s",
                          value_describe(list));
    if (read_match(top, list, &type) < 0 || is_meant(top, &pair->key, type, &meant) < 0)
        return -1;
    if (!meant)
        return 0;
    if (list->kind == VALUE_STR)
        return add_ref(top, list);
    for (size_t i = 0; i < list->list->count; i++)
        result |= add_ref(top, &list->list->items[i]);
    return result;
}

/* --- the file ------------------------------------------------------------------------ */

static int read_environments(struct top *top, const struct value *doc)
{
    int result = 0;

    if (doc->kind == VALUE_NULL)
        return 0;
    if (doc->kind != VALUE_MAP)
        return value_diag(top->load.diags, doc, "top file: wanted a map of environments, got %s",
                          value_describe(doc));
    for (size_t i = 0; i < doc->map->count; i++) {
        const struct value *environment = &doc->map->pairs[i].value;

        if (environment->kind == VALUE_NULL)
            continue;
        if (environment->kind != VALUE_MAP) {
            result |= value_diag(top->load.diags, environment,
                                 "top file: wanted a map of targets, got %s",
                                 value_describe(environment));
            continue;
        }
        for (size_t k = 0; k < environment->map->count; k++)
            result |= read_target(top, &environment->map->pairs[k]);
    }
    return result;
}

static int find_file(struct top *top, const char **ret)
{
    struct load *load = &top->load;
    struct str text;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(top_files); i++) {
        if (tree_read(load->host->tree, load->arena, top_files[i], &text, &err) < 0)
            return diag_add(load->diags, (struct place){ .file = top_files[i] },
                            "compiler: read state top file: %s", err.text);
        if (text.p) {
            *ret = top_files[i];
            return 0;
        }
    }
    return diag_add(load->diags, (struct place){ 0 },
                    "compiler: read state top file: there is no %s", top_files[0]);
}

static int read_top(struct top *top)
{
    const char *path = top_files[0];
    struct value doc;

    if (find_file(top, &path) < 0 || load_document(&top->load, "top", path, &doc) < 0 ||
        read_environments(top, &doc) < 0)
        return -1;
    if (top->refs.n == 0)
        return diag_add(top->load.diags, (struct place){ 0 }, "highstate: no states matched in %s",
                        path);
    return 0;
}

int compile_top(struct arena *arena, struct state_host *host, const struct plan **ret,
                struct diags *diags)
{
    struct renderer *renderer = renderer_new(host, NULL);
    struct top top = { .seen = MAP_INIT_IN(arena) };
    int result;

    load_init(&top.load, arena, host, renderer, diags);
    result = read_top(&top);
    renderer_free(renderer);
    if (result < 0)
        return -1;
    return compile_refs(arena, host, (struct param_strs){ top.refs.n, top.refs.p }, ret, diags);
}
