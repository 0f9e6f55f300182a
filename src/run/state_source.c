/* Functions of state/module.h: the files and templates that a module may ask for. */
#include "state/module.h"

#include "base/diag.h"
#include "base/err.h"
#include "state/host.h"
#include "compile/renderer.h"
#include "compile/tree.h"
#include "run/source.h"

#define RENDER_MAX ((size_t)64 << 20)

int state_source(struct state_run *run, const char *source, const char *hash, struct str *ret,
                 struct err *err)
{
    const struct source_trust trust = { .hash = hash };

    return source_read(run->arena, run->host, source, &trust, ret, err);
}

int state_source_trusted(struct state_run *run, const char *source,
                         const struct source_trust *trust, struct str *ret, struct err *err)
{
    return source_read(run->arena, run->host, source, trust, ret, err);
}

int state_source_list(struct state_run *run, const char *source, struct value_list **ret,
                      struct err *err)
{
    return source_list(run->arena, run->host, source, ret, err);
}

int state_render(struct state_run *run, const char *name, struct str text,
                 const struct value *extra, struct str *ret, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(RENDER_MAX);
    struct diags diags = DIAGS_INIT(run->arena);
    struct renderer *renderer = renderer_new(run->host, NULL);
    int rc = renderer_run(renderer, name, text, extra, &out, &diags);

    renderer_free(renderer);
    if (rc < 0)
        return diags_to_err(&diags, err);
    *ret = buf_copy(&out, run->arena);
    return 0;
}

int state_source_path(struct state_run *run, const char *source, const char **ret, struct err *err)
{
    *ret = source[0] == '/' ? source : NULL;
    if (*ret || !run->host->tree || !tree_is_source(source))
        return 0;
    return tree_locate(run->host->tree, run->arena, source, ret, err);
}
