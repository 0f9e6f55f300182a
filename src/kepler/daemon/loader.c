#include "kepler/daemon/loader.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/mem.h"
#include "kepler/config/config.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/project.h"
#include "core/sys/background_task.h"

#define DIAGS_TEXT_MAX ((size_t)256 << 10)

/* Between loader_begin and `done`, all but `call` belongs to the worker. */
struct loader {
    struct background_task background_task;
    struct call *call; /* NULL: it has ended */
    const struct config_source *source;
    struct project *project;
    struct arena arena; /* for mistakes */
    struct diags diags;
    bool thorough; /* also check computed values */
    int result;
    bool done;
};

static void drop_loader(struct loader *loader)
{
    project_free(loader->project);
    arena_done(&loader->arena);
    free(loader);
}

static void load_config_file(struct background_task *background_task)
{
    struct loader *loader = container_of(background_task, struct loader, background_task);

    loader->result = project_read(loader->project, loader->source, &loader->diags);
    if (loader->thorough && config_check_code(&loader->arena, loader->source, &loader->diags) < 0)
        loader->result = -1;
}

static void on_config_loaded(struct background_task *background_task)
{
    struct loader *loader = container_of(background_task, struct loader, background_task);

    loader->done = true;
    if (loader->call)
        call_look(loader->call);
    else
        drop_loader(loader);
}

static size_t count_loaders(const struct call *call)
{
    size_t count = 0;

    for (const struct call *other = call->daemon->calls; other; other = other->next)
        count += other->client == call->client && other->loader;
    return count;
}

void loader_begin(struct call *call, call_step_fn *step)
{
    struct loader *loader;

    if (count_loaders(call) >= LOADER_MAX) {
        call_refuse(call, MESSAGE_ERROR, "%d configs are being read: try again", LOADER_MAX);
        return;
    }
    loader = mem_zalloc(sizeof(*loader));
    loader->call = call;
    loader->source = call->source;
    loader->thorough = call->kind == REQUEST_CHECK;
    loader->project = project_new(call->daemon);
    loader->diags = (struct diags)DIAGS_INIT(&loader->arena);
    call->loader = loader;
    call->step = step;
    background_task_begin(&call->daemon->evaluators, &loader->background_task, load_config_file,
                          on_config_loaded);
}

bool loader_is_done(const struct loader *loader)
{
    return loader->done;
}

const struct config *loader_config(const struct loader *loader)
{
    return loader->result < 0 ? NULL : loader->project->config;
}

void loader_refuse(struct call *call)
{
    AUTO_BUF struct buf text = BUF_INIT(DIAGS_TEXT_MAX);

    diags_print(&call->loader->diags, &text);
    call_refuse(call, MESSAGE_ERROR, "the config is not valid\n%.*s",
                STR_ARG(str_trim_right(buf_view(&text))));
}

struct project *loader_take(struct loader *loader)
{
    struct project *project = loader->project;

    loader->project = NULL;
    return project;
}

void loader_free(struct loader *loader)
{
    if (!loader)
        return;
    if (loader->done) {
        drop_loader(loader);
        return;
    }
    background_task_wait(&loader->background_task); /* it uses data of the call */
    loader->call = NULL;
}
