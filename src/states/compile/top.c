/* The top file of states: the states of this machine. language/target/top.h reads it. */
#include "states/compile/top.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/compile/compile.h"
#include "states/state/host.h"
#include "states/compile/load.h"
#include "states/compile/renderer.h"
#include "states/compile/tree.h"
#include "language/target/top.h"

static const char *const top_files[] = { "top.zy", "top.sls" };

static int find_top_file(struct load *load, const char **ret)
{
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
    (void)diag_add(load->diags, (struct place){ 0 }, "compiler: read state top file: no %s",
                   top_files[0]);
    diag_hint(load->diags, "write one, or use state.apply REF");
    return -1;
}

/* Opts of the settings: the configuration of masters is unknown here. */
static const struct value *find_groups(const struct state_host *host)
{
    const struct value *groups = host->settings ? value_get(host->settings, "nodegroups") : NULL;

    return value_is(groups, VALUE_MAP) ? groups : NULL;
}

static int report_none(struct load *load, const char *path)
{
    (void)diag_add(load->diags, (struct place){ 0 }, "highstate: no states matched in %s", path);
    if (load->host->environment)
        diag_hint(load->diags, "only environment '%s' applies to this machine",
                  load->host->environment);
    return -1;
}

static int read_top_file(struct load *load, struct top_refs *ret)
{
    const struct state_host *host = load->host;
    const struct target_subject subject = {
        .id = str_from(host->peel_id ? host->peel_id : ""),
        .facts = host_facts(host),
        .settings = host->settings,
    };
    struct top_refs refs = { VEC_INIT };
    const char *path = top_files[0];
    struct value doc;
    struct err err;

    if (find_top_file(load, &path) < 0 || load_document(load, "top", path, &doc) < 0 ||
        top_read(load->arena, &doc, &subject,
                 &(struct top_options){ find_groups(host), host->environment }, &refs,
                 load->diags) < 0)
        return -1;
    VEC_EACH (&refs.list, ref) {
        const char *found = NULL;

        if (ref->optional && tree_find(host->tree, load->arena, ref->name->s, &found, &err) == 0 &&
            !found)
            continue;
        VEC_PUSH_IN(load->arena, &ret->list, *ref);
    }
    if (ret->list.n == 0)
        return report_none(load, path);
    return 0;
}

static int read_top_refs(struct arena *arena, struct state_host *host, struct top_refs *ret,
                         struct diags *diags)
{
    struct renderer *renderer = renderer_new(host, NULL);
    struct load load;
    int result;

    *ret = (struct top_refs){ VEC_INIT };
    load_init(&load, arena, host, renderer, diags, diags);
    result = read_top_file(&load, ret);
    renderer_free(renderer);
    return result;
}

int top_list(struct arena *arena, struct state_host *host, struct top_list *ret,
             struct diags *diags)
{
    struct top_refs refs;
    const char **names;

    if (read_top_refs(arena, host, &refs, diags) < 0)
        return -1;
    names = ARENA_ARRAY(arena, const char *, refs.list.n);
    ret->refs = (struct param_strs){ refs.list.n, names };
    ret->where = ARENA_ARRAY(arena, const struct value *, refs.list.n);
    for (size_t i = 0; i < refs.list.n; i++) {
        ret->where[i] = refs.list.p[i].name;
        names[i] = ret->where[i]->s.p;
    }
    return 0;
}

int compile_top_refs(struct arena *arena, struct state_host *host, struct value *ret,
                     struct diags *diags)
{
    struct value map = value_map(value_map_new(arena, 1));
    struct top_refs refs;

    if (read_top_refs(arena, host, &refs, diags) < 0)
        return -1;
    VEC_EACH (&refs.list, ref) {
        const struct value *found = value_map_find(map.map, ref->environment);
        struct value list = found ? *found : value_list(value_list_new(arena, 1));

        value_list_push(arena, list.list, *ref->name);
        if (!found)
            value_map_set(arena, map.map, *ref->environment, list);
    }
    *ret = map;
    return 0;
}
