#include "states/run/services.h"

#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/compile/renderer.h"
#include "states/run/source.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/state/services.h"
#include "states/undo/change.h"
#include "states/undo/undo.h"

#define RENDER_MAX ((size_t)64 << 20)

static int read_trusted_source(struct state_run *run, const char *source,
                               const struct source_trust *trust, struct str *ret, struct err *err)
{
    return source_read(run->arena, run->host, source, trust, ret, err);
}

static int get_source(struct state_run *run, const char *source, const struct source_trust *trust,
                      struct source_content *ret, struct err *err)
{
    return source_get(run->arena, run->host, source, trust, ret, err);
}

static int list_sources(struct state_run *run, const char *source, struct value_list **ret,
                        struct err *err)
{
    return source_list(run->arena, run->host, source, ret, err);
}

static int find_trusted_source(struct state_run *run, const char *source, const char **ret,
                               struct err *err)
{
    return source_locate(run->arena, run->host, source, ret, err);
}

static int render_text(struct state_run *run, const char *name, struct str text,
                       const struct value *extra, struct str *ret, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(RENDER_MAX);
    struct diags diags = DIAGS_INIT(run->arena);
    /* Salt puts the last newline of a template back, whatever its last tag does. */
    const bool ends = run->salt && str_ends(text, STR("\n"));
    struct renderer *renderer = renderer_new(run->host, NULL);
    int rc;

    if (run->salt)
        renderer_speak_salt(renderer);
    if (ends)
        text.n--;
    rc = renderer_run(renderer, name, text, extra, &out, &diags);
    renderer_free(renderer);
    if (rc < 0)
        return diags_to_err(&diags, err);
    if (ends)
        buf_add_char(&out, '\n');
    *ret = buf_copy(&out, run->arena);
    return 0;
}

static int keep_note(struct state_run *run, const char *key, const struct value *v, struct err *err)
{
    const struct change *change = run->change;

    if (!change->undo)
        return 0;
    if (undo_note(change->undo, change->number, key, v, err) < 0)
        return -1;
    return undo_sync(change->undo, err);
}

const struct state_services run_services = {
    .source = read_trusted_source,
    .source_content = get_source,
    .source_path = find_trusted_source,
    .source_list = list_sources,
    .render = render_text,
    .note = keep_note,
};
