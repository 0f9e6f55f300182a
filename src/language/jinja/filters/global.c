#include "language/jinja/filters/global.h"

#include "core/base/buf.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/context.h"
#include "language/jinja/eval.h"
#include "language/jinja/function.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/sequence.h"
#include "language/jinja/text.h"

#define RANGE_MAX 100000 /* limit of Jinja2's sandbox, which Salt uses */

static int global_range(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *args = bound->args[0].list;
    int64_t numbers[3] = { 0, 0, 1 };
    const struct range *range;
    size_t first = args->count == 1 ? 1 : 0;

    if (args->count < 1 || args->count > 3)
        return render_fail(render, RENDER_TYPE, "range expected 1 to 3 arguments, got %zu",
                           args->count);
    for (size_t i = 0; i < args->count; i++)
        if (argument_int(render, &args->items[i], &numbers[first + i]) < 0)
            return -1;
    if (range_new(render, numbers[0], numbers[1], numbers[2], ret) < 0)
        return -1;
    range = object_as(ret, &range_type);
    if (range && range->length > RANGE_MAX)
        return render_fail(render, RENDER_LIMIT, "a range has at most %d items", RANGE_MAX);
    return 0;
}

/* dict(other, a=1): the pairs of the first argument, then the named ones. */
static int global_dict(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *args = bound->args[0].list;
    struct value made = value_map(container_new_map(render, 0)), ignored;
    struct value named = bound->args[1];

    if (args->count > 1)
        return render_fail(render, RENDER_TYPE, "dict expected at most 1 argument, got %zu",
                           args->count);
    if (args->count == 1 && argument_method(render, &made, "update", args->items, 1, &ignored) < 0)
        return -1;
    if (argument_method(render, &made, "update", &named, 1, &ignored) < 0)
        return -1;
    *ret = made;
    return 0;
}

/* --- namespace ---------------------------------------------------------------------------- */

/* A map whose names may be set from inner scopes: {% set ns.found = true %}. */
struct namespace
{
    struct object object;
    struct value_map *map;
};

static int namespace_get(struct render *render, struct object *object, struct str name,
                         struct value *ret, bool *ret_found)
{
    const struct namespace *ns = container_of(object, struct namespace, object);
    const struct value map = value_map(ns->map);
    const struct value *found = value_get_str(&map, name);

    (void)render;
    *ret_found = found != NULL;
    if (found)
        *ret = *found;
    return 0;
}

static int namespace_set(struct render *render, struct object *object, struct str name,
                         struct value value)
{
    struct namespace *ns = container_of(object, struct namespace, object);

    value_map_set(render->arena, ns->map, op_new_str(render, name), value);
    return 0;
}

static int namespace_print(struct render *render, struct object *object, struct buf *out)
{
    const struct namespace *ns = container_of(object, struct namespace, object);
    const struct value map = value_map(ns->map);

    buf_add_text(out, "<Namespace ");
    if (op_repr(render, &map, out) < 0)
        return -1;
    buf_add_char(out, '>');
    return 0;
}

static const struct object_type namespace_type = {
    .name = "Namespace",
    .get = namespace_get,
    .set = namespace_set,
    .print = namespace_print,
};

static int global_namespace(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    struct namespace *ns;
    struct value map;

    if (global_dict(render, bound, &map) < 0)
        return -1;
    ns = ARENA_NEW(render->arena, struct namespace);
    ns->object.type = &namespace_type;
    ns->map = map.map;
    *ret = object_value(&ns->object);
    return 0;
}

/* --- cycler and joiner ----------------------------------------------------------------------- */

struct cycler {
    struct object object;
    const struct value_list *items;
    size_t at;
};

static int cycler_next(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct cycler *cycler = bound->user;

    (void)render;
    *ret = cycler->items->items[cycler->at];
    cycler->at = (cycler->at + 1) % cycler->items->count;
    return 0;
}

static int cycler_reset(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct cycler *cycler = bound->user;

    (void)render;
    cycler->at = 0;
    *ret = value_null();
    return 0;
}

static int cycler_get(struct render *render, struct object *object, struct str name,
                      struct value *ret, bool *ret_found)
{
    static const struct function methods[] = {
        { "next", "", cycler_next, "the current item; the next one is next" },
        { "reset", "", cycler_reset, "start again" },
    };
    struct cycler *cycler = container_of(object, struct cycler, object);

    if (str_is(name, "current")) {
        *ret = cycler->items->items[cycler->at];
        *ret_found = true;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (str_is(name, methods[i].name)) {
            *ret = function_value(render, &methods[i], cycler);
            *ret_found = true;
        }
    return 0;
}

static const struct object_type cycler_type = { .name = "Cycler", .get = cycler_get };

static int global_cycler(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct cycler *cycler = ARENA_NEW(render->arena, struct cycler);

    cycler->object.type = &cycler_type;
    cycler->items = bound->args[0].list;
    if (cycler->items->count == 0)
        return render_fail(render, RENDER_TYPE, "at least one item has to be provided");
    *ret = object_value(&cycler->object);
    return 0;
}

struct joiner {
    struct object object;
    struct value between;
    bool used;
};

static int joiner_call(struct render *render, struct object *object,
                       const struct function_call *call, struct value *ret)
{
    struct joiner *joiner = container_of(object, struct joiner, object);

    if (call->count + call->named_count > 0)
        return render_fail(render, RENDER_TYPE, "a joiner takes no arguments");
    *ret = joiner->used ? joiner->between : value_text("");
    joiner->used = true;
    return 0;
}

static const struct object_type joiner_type = { .name = "Joiner", .call = joiner_call };

static int global_joiner(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct joiner *joiner = ARENA_NEW(render->arena, struct joiner);

    joiner->object.type = &joiner_type;
    joiner->between = bound->args[0];
    *ret = object_value(&joiner->object);
    return 0;
}

/* --- lipsum and raise -------------------------------------------------------------------- */

static const char *const words[] = {
    "lorem", "ipsum",  "dolor",  "sit",     "amet",   "elit",   "sed",    "nisi",
    "massa", "tellus", "magna",  "vitae",   "porta",  "nulla",  "congue", "risus",
    "augue", "mattis", "turpis", "aliquam", "semper", "mauris", "lectus", "viverra",
};

/* Text to fill a page with: paragraphs of so many words, from the caller's random source. */
static int global_lipsum(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    int64_t n, least, most;
    bool html;

    if (argument_int(render, &bound->args[0], &n) < 0 ||
        op_truth(render, &bound->args[1], &html) < 0 ||
        argument_int(render, &bound->args[2], &least) < 0 ||
        argument_int(render, &bound->args[3], &most) < 0)
        return -1;
    if (!render->options->random)
        return render_fail(render, RENDER_TYPE, "'lipsum' is not available here");
    if (least < 1 || most <= least)
        return render_fail(render, RENDER_TYPE, "lipsum requires 0 < min < max");
    for (int64_t i = 0; i < n; i++) {
        uint64_t chance = render->options->random(render->options->user);
        int64_t count = least + (int64_t)(chance % (uint64_t)(most - least));

        buf_add_text(&out, html ? "<p>" : i > 0 ? "\n\n" : "");
        for (int64_t k = 0; k < count; k++) {
            const char *word =
                words[render->options->random(render->options->user) % ARRAY_LEN(words)];

            if (render_step(render, 1) < 0)
                return -1;
            buf_printf(&out, "%s%c%s", k > 0 ? " " : "", k == 0 ? word[0] - 0x20 : word[0],
                       word + 1);
        }
        buf_add_text(&out, html ? ".</p>\n" : ".");
    }
    return text_finish(render, &out, html ? VALUE_SAFE : 0, ret);
}

/* A template stops with an error. */
static int global_raise(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct str text;

    (void)ret;
    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    return render_fail(render, RENDER_TYPE, "%.*s", STR_ARG(text));
}

/* Salt's functions that show what a template has. */
static int global_show_full_context(struct render *render, const struct bound_args *bound,
                                    struct value *ret)
{
    struct eval *eval = eval_of(render);

    (void)bound;
    *ret = context_all(eval, eval->now.context);
    return 0;
}

/* clang-format off */
const struct function global_functions[] = {
    { "cycler",    "*items", global_cycler, "gives its items in turn: next(), current, reset()" },
    { "dict",      "*args, **kwargs", global_dict, "a map of named arguments" },
    { "joiner",    "sep=', '", global_joiner, "nothing at the first call, the separator afterwards" },
    { "lipsum",    "n=5, html=true, min=20, max=100", global_lipsum, "text to fill a page with" },
    { "namespace", "*args, **kwargs", global_namespace, "names that inner scopes may set" },
    { "raise",     "text", global_raise, "stop with an error message" },
    { "range",     "*args", global_range, "numbers from start up to stop, by step" },
    { "show_full_context", "", global_show_full_context, "all variables and their values, without functions" },
    { 0 },
};
/* clang-format on */
