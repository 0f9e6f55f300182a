#include "language/jinja/render.h"

#include <stdarg.h>

#include "core/base/arena.h"
#include "core/base/stack.h"
#include "language/jinja/template.h"

/* Steps between two checks of the clock. */
#define STEPS_A_LOOK 256

/* Further notes about a deep recursion add nothing new. */
#define NOTES_MAX 20

void render_init(struct render *render, struct jinja *jinja, const struct jinja_options *options,
                 struct arena *arena)
{
    *render = (struct render){
        .jinja = jinja,
        .options = options,
        .arena = arena,
        .autoescape = options->autoescape,
        .next_look = STEPS_A_LOOK,
    };
    if (options->limits.steps > 0 && options->limits.steps < STEPS_A_LOOK)
        render->next_look = options->limits.steps + 1;
    if (options->now && options->limits.nanoseconds > 0)
        render->deadline = options->now(options->user) + options->limits.nanoseconds;
}

struct place render_place(const struct render *render)
{
    if (!render->template)
        return (struct place){ 0 };
    return template_place(render->template, render->at);
}

int render_ask_host(struct render *render, const char *function)
{
    if (!render->options->asked || render->options->asked(render->options->user, function) == 0)
        return 0;
    return render_fail(render, RENDER_HOST, "%s(): " JINJA_ASKS_MACHINE, function);
}

int render_fail(struct render *render, enum render_error error, const char *fmt, ...)
{
    va_list args;

    if (render->failed)
        return -1;
    va_start(args, fmt);
    render->error_text = arena_vprintf(render->arena, fmt, args);
    va_end(args);
    render->failed = true;
    render->error = error;
    render->error_place = render_place(render);
    render->error_template = render->template;
    return -1;
}

void render_hint(struct render *render, const char *fmt, ...)
{
    va_list args;

    if (render->error_hint)
        return;
    va_start(args, fmt);
    render->error_hint = arena_vprintf(render->arena, fmt, args);
    va_end(args);
}

void render_note(struct render *render, const char *fmt, ...)
{
    va_list args;

    if (render->notes.n >= NOTES_MAX)
        return;
    va_start(args, fmt);
    const char *text = arena_vprintf(render->arena, fmt, args);
    va_end(args);
    VEC_PUSH_IN(render->arena, &render->notes,
                (struct diag_note){ .at = render_place(render), .text = text });
}

int render_check(struct render *render)
{
    const struct jinja_limits *limits = &render->options->limits;

    render->next_look = render->steps + STEPS_A_LOOK;
    if (render->options->is_stopped && render->options->is_stopped(render->options->user))
        return render_fail(render, RENDER_LIMIT, "canceled while the template was rendered");
    if (limits->steps > 0 && render->steps > limits->steps)
        return render_fail(render, RENDER_LIMIT,
                           "the template runs more than the limit of %llu steps",
                           (unsigned long long)limits->steps);
    if (limits->memory_bytes > 0 && render->arena->used > limits->memory_bytes)
        return render_fail(render, RENDER_LIMIT,
                           "the values of the template need more than the limit of %zu bytes",
                           limits->memory_bytes);
    if (render->deadline > 0 && render->options->now(render->options->user) > render->deadline)
        return render_fail(render, RENDER_LIMIT,
                           "the template runs longer than the limit of %lld ms",
                           (long long)(limits->nanoseconds / 1000000));
    return 0;
}

int render_enter(struct render *render)
{
    uint32_t limit = render->options->limits.recursion;

    if (limit > 0 && render->depth >= limit)
        return render_fail(render, RENDER_LIMIT,
                           "calls, includes and loops are nested deeper than the limit of %u",
                           limit);
    if (stack_is_low())
        return render_fail(render, RENDER_LIMIT, STACK_IS_LOW, STACK_RESERVE);
    render->depth++;
    return 0;
}

void render_leave(struct render *render)
{
    render->depth--;
}
