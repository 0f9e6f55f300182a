/* The top file of states: which of them belong to this machine. target/top.h reads it. */
#include "compile/compile.h"

#include "base/arena.h"
#include "base/err.h"
#include "state/host.h"
#include "compile/load.h"
#include "compile/plan.h"
#include "compile/renderer.h"
#include "compile/tree.h"
#include "target/top.h"

static const char *const top_files[] = { "top.zy", "top.sls" };

static int find_file(struct load *load, const char **ret)
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
    return diag_add(load->diags, (struct place){ 0 },
                    "compiler: read state top file: there is no %s", top_files[0]);
}

struct names {
    VEC(const char *) list;
};

static int read_top(struct load *load, struct names *ret)
{
    const struct state_host *host = load->host;
    const struct target_subject subject = {
        .id = str_from(host->peel_id ? host->peel_id : ""),
        .facts = host->facts,
        .settings = host->settings,
    };
    struct top_refs refs = { VEC_INIT };
    const char *path = top_files[0];
    struct value doc;
    struct err err;

    if (find_file(load, &path) < 0 || load_document(load, "top", path, &doc) < 0 ||
        top_read(load->arena, &doc, &subject, NULL, &refs, load->diags) < 0)
        return -1;
    VEC_EACH (&refs.list, ref) {
        const char *found = NULL;

        if (ref->optional && tree_find(host->tree, load->arena, ref->name->s, &found, &err) == 0 &&
            !found)
            continue;
        VEC_PUSH_IN(load->arena, &ret->list, ref->name->s.p);
    }
    if (ret->list.n == 0)
        return diag_add(load->diags, (struct place){ 0 }, "highstate: no states matched in %s",
                        path);
    return 0;
}

/* Such a run can be taken back by the name 'highstate' too. */
static const struct plan *call_highstate(struct arena *arena, const struct plan *plan)
{
    struct plan *called = ARENA_NEW(arena, struct plan);
    const char **refs = ARENA_ARRAY(arena, const char *, plan->refs.n + 1);

    refs[0] = "highstate";
    for (size_t i = 0; i < plan->refs.n; i++)
        refs[i + 1] = plan->refs.p[i];
    *called = *plan;
    called->refs = (struct param_strs){ plan->refs.n + 1, refs };
    return called;
}

int compile_top(struct arena *arena, struct state_host *host, const struct plan **ret,
                struct diags *diags)
{
    struct renderer *renderer = renderer_new(host, NULL);
    struct names names = { VEC_INIT };
    struct load load;
    int result;

    load_init(&load, arena, host, renderer, diags);
    result = read_top(&load, &names);
    renderer_free(renderer);
    if (result < 0)
        return -1;
    if (compile_refs(arena, host, (struct param_strs){ names.list.n, names.list.p }, ret, diags) <
        0)
        return -1;
    *ret = call_highstate(arena, *ret);
    return 0;
}
