#include "states/compile/renderer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/data/value.h"
#include "language/jinja/jinja.h"
#include "states/compile/builtin.h"
#include "states/compile/host_filters.h"
#include "states/compile/matching.h"
#include "states/state/host.h"
#include "states/compile/salt.h"
#include "states/compile/stamps.h"
#include "states/compile/steady.h"
#include "states/compile/tree.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/path.h"

struct renderer {
    struct state_host *host;
    struct builtin_context context;
    const struct builtins *builtins;
    struct jinja *jinja;
    struct arena arena; /* of the environment: globals */
    const char *folder; /* of the rendered file, for "./x" */
    const char *ref;    /* its reference and path, if it is a state file; NULL */
    const char *path;
    bool salt;           /* all templates are Salt's */
    bool relative_names; /* templates that the environment knows by a relative name */
};

/* --- variables --------------------------------------------------------------------- */

static void set_context_variable(struct arena *arena, struct value_map *map, const char *key,
                                 struct value value)
{
    value_map_set(arena, map, value_text(key), value);
}

static const char *replace_variable(struct arena *arena, const char *text, char from, char to)
{
    char *copy = arena_strdup(arena, text);

    for (char *p = copy; *p; p++)
        *p = *p == from ? to : *p;
    return copy;
}

/* The location of the template, with Salt's names: tplfile a/b/init.zy, tpldir a/b, tplroot a. */
static void set_template_place(struct arena *arena, struct value_map *map, const char *path)
{
    const char *folder = path_dirname(arena, path);
    struct str rest = str_from(folder);
    const struct str root = str_cut(&rest, '/');
    const bool at_root = strcmp(folder, ".") == 0;

    set_context_variable(arena, map, "tplfile", value_text(path));
    set_context_variable(arena, map, "tpldir", value_text(folder));
    set_context_variable(arena, map, "tpldot",
                         value_text(at_root ? "" : replace_variable(arena, folder, '/', '.')));
    set_context_variable(arena, map, "tplroot", value_str(arena_str(arena, root)));
}

/* The same for a state file: sls a.b, slspath a/b when that is the folder of its init file. */
static void set_state_place(struct arena *arena, struct value_map *map, const char *ref,
                            const char *path)
{
    const char *folder = path_dirname(arena, path);
    const char *slspath = strcmp(folder, ".") == 0 ? "" : folder;

    set_context_variable(arena, map, "sls", value_text(ref));
    set_context_variable(arena, map, "slspath", value_text(slspath));
    set_context_variable(arena, map, "sls_path",
                         value_text(replace_variable(arena, slspath, '/', '_')));
    set_context_variable(arena, map, "slsdotpath",
                         value_text(replace_variable(arena, slspath, '/', '.')));
    set_context_variable(arena, map, "slscolonpath",
                         value_text(replace_variable(arena, slspath, '/', ':')));
}

static struct value_map *new_render_context(struct arena *arena, const struct state_host *host,
                                            const char *path)
{
    struct value_map *map = value_map_new(arena, 16);

    set_context_variable(arena, map, "facts", *host_facts(host));
    set_context_variable(arena, map, "grains", *host_grains(host));
    set_context_variable(arena, map, "settings", *host->settings);
    set_context_variable(arena, map, "pillar", *host->settings);
    set_context_variable(arena, map, "opts", builtin_opts(arena, host));
    set_context_variable(arena, map, "saltenv",
                         value_text(host->environment ? host->environment : "base"));
    set_template_place(arena, map, path);
    return map;
}

/* --- callbacks ------------------------------------------------------------------ */

/* "./x" and "../x" are relative to the folder of the rendered file; the rest to the root. */
static int load_tree_template(void *user, struct str name, struct arena *arena,
                              struct str *ret_text, struct err *err)
{
    struct renderer *renderer = user;
    const char *path = arena_strndup(arena, name.p, name.n);

    if (str_starts(name, STR("./")) || str_starts(name, STR("../"))) {
        path = path_normalise(arena, path_join(arena, renderer->folder, path));
        renderer->relative_names = true;
    }
    return tree_read(renderer->host->tree, arena, path, ret_text, err);
}

static int64_t read_host_clock(void *user)
{
    (void)user;
    return clock_now();
}

static bool is_stopped(void *user)
{
    const struct renderer *renderer = user;

    return cancel_is_raised(renderer->host->cancel);
}

/* The result may be another text next time. */
static int note_question(void *user, const char *function)
{
    const struct renderer *renderer = user;

    if (steady_has(function))
        return 0;
    stamps_doubt(renderer->host->stamps);
    return renderer->host->is_elsewhere ? -1 : 0;
}

static uint64_t read_host_random(void *user)
{
    uint64_t number = 0;

    (void)note_question(user, "random");
    arc4random_buf(&number, sizeof(number));
    return number;
}

static const struct value *describe_template(void *user, const char *template, struct arena *arena)
{
    const struct renderer *renderer = user;
    struct value *all = ARENA_NEW(arena, struct value);

    *all = value_map(new_render_context(arena, renderer->host, template));
    if (renderer->ref)
        set_state_place(arena, all->map, renderer->ref, renderer->path);
    return all;
}

static void make_environment(struct renderer *renderer)
{
    const struct state_host *host = renderer->host;
    const struct jinja_options options = {
        .lenient = !host->strict_templates,
        .salt = renderer->salt,
        .builtins = renderer->builtins,
        .load = host->tree ? load_tree_template : NULL,
        .about = describe_template,
        .is_stopped = is_stopped,
        .now = read_host_clock,
        .random = read_host_random,
        .asked = note_question,
        .user = renderer,
    };

    jinja_free(renderer->jinja);
    renderer->relative_names = false;
    renderer->jinja = jinja_new(&options);
    jinja_add_functions(renderer->jinja, builtin_globals, &renderer->context);
    jinja_add_functions(renderer->jinja, matching_globals, &renderer->context);
    jinja_add_functions(renderer->jinja, salt_globals, &renderer->context);
    jinja_add_global(renderer->jinja, "salt", salt_value(&renderer->arena, &renderer->context));
}

struct renderer *renderer_new(struct state_host *host, struct output_list *outputs)
{
    struct renderer *renderer = mem_zalloc(sizeof(*renderer));

    renderer->host = host;
    renderer->context = (struct builtin_context){ .host = host, .outputs = outputs };
    renderer->folder = "";
    renderer->builtins = host_filters_builtins(&renderer->arena);
    make_environment(renderer);
    return renderer;
}

struct renderer *renderer_new_inside(const struct builtin_context *outer)
{
    struct renderer *renderer = renderer_new(outer->host, NULL);

    renderer->context.depth = outer->depth + 1;
    return renderer;
}

void renderer_speak_salt(struct renderer *renderer)
{
    renderer->salt = true;
    make_environment(renderer);
}

void renderer_free(struct renderer *renderer)
{
    if (!renderer)
        return;
    jinja_free(renderer->jinja);
    arena_done(&renderer->arena);
    free(renderer);
}

/* --- rendering --------------------------------------------------------------------- */

static int render_source_text(struct renderer *renderer, struct arena *arena, const char *path,
                              struct str text, struct value_map *context, struct buf *out,
                              struct trace *trace, struct diags *diags)
{
    const struct value value = value_map(context);

    if (renderer->relative_names)
        make_environment(renderer); /* "./x" had another meaning in the previous file */
    renderer->folder = path_dirname(arena, path);
    return jinja_render_traced(renderer->jinja, path, text, &value, out, trace, diags);
}

int renderer_run_state(struct renderer *renderer, const char *ref, const char *path,
                       struct str text, struct buf *out, struct trace *trace, struct diags *diags)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *context = new_render_context(&arena, renderer->host, path);
    int result;

    set_state_place(&arena, context, ref, path);
    renderer->ref = ref;
    renderer->path = path;
    result = render_source_text(renderer, &arena, path, text, context, out, trace, diags);
    renderer->ref = renderer->path = NULL;
    return result;
}

int renderer_run(struct renderer *renderer, const char *path, struct str text,
                 const struct value *extra, struct buf *out, struct diags *diags)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *context = new_render_context(&arena, renderer->host, path);

    if (extra && extra->kind == VALUE_MAP)
        for (size_t i = 0; i < extra->map->count; i++)
            value_map_set(&arena, context, extra->map->pairs[i].key, extra->map->pairs[i].value);
    return render_source_text(renderer, &arena, path, text, context, out, NULL, diags);
}
