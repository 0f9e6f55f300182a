#include "fleet/peel/maintenance_window.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/local/perform.h"
#include "fleet/peel/event_send.h"

#define TIME_TEXT_MAX 64

static int read_window(struct maintenance_window *maintenance_window, const struct value *v,
                       struct buf *text, struct err *err)
{
    struct window window;

    if (v->kind != VALUE_STR)
        return err_set(err, ERR_INVALID, "expected a text as 'Sat,Sun 01:00-05:00', got %s",
                       value_describe(v));
    if (maintenance_window->windows.n >= WINDOW_MAX)
        return err_set(err, ERR_LIMIT, "there are at most %d windows", WINDOW_MAX);
    if (window_parse(v->s, &window, err) < 0)
        return err_wrap(err, "'%.*s'", STR_ARG(v->s));
    buf_printf(text, "%s%.*s", text->n > 0 ? "; " : "", STR_ARG(v->s));
    VEC_PUSH_IN(&maintenance_window->arena, &maintenance_window->windows, window);
    return 0;
}

static int read_windows(struct maintenance_window *maintenance_window, const struct value *windows,
                        struct buf *text, struct err *err)
{
    if (windows->kind != VALUE_LIST)
        return read_window(maintenance_window, windows, text, err);
    for (size_t i = 0; i < windows->list->count; i++)
        if (read_window(maintenance_window, &windows->list->items[i], text, err) < 0)
            return -1;
    return 0;
}

const char *maintenance_window_read(struct maintenance_window *maintenance_window,
                                    const struct value *windows)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    maintenance_window_done(maintenance_window);
    if (windows && windows->kind != VALUE_NULL &&
        read_windows(maintenance_window, windows, &text, &err) < 0)
        maintenance_window->problem = arena_strdup(&maintenance_window->arena, err.text);
    maintenance_window->text = buf_copy(&text, &maintenance_window->arena).p;
    return maintenance_window->problem;
}

void maintenance_window_done(struct maintenance_window *maintenance_window)
{
    arena_done(&maintenance_window->arena);
    *maintenance_window = (struct maintenance_window)MAINTENANCE_WINDOW_INIT;
}

bool maintenance_window_allows(const struct maintenance_window *maintenance_window, time_t now)
{
    if (maintenance_window->problem)
        return false;
    VEC_EACH (&maintenance_window->windows, window)
        if (window_is_open(window, now))
            return true;
    return maintenance_window->windows.n == 0;
}

time_t maintenance_window_next(const struct maintenance_window *maintenance_window, time_t now)
{
    time_t next = -1;

    VEC_EACH (&maintenance_window->windows, window) {
        const time_t at = maintenance_window->problem ? -1 : window_next(window, now);

        if (at != -1 && (next == -1 || at < next))
            next = at;
    }
    return next;
}

const char *maintenance_window_describe(const struct maintenance_window *maintenance_window,
                                        struct arena *arena, time_t now)
{
    const time_t next = maintenance_window_next(maintenance_window, now);
    char when[TIME_TEXT_MAX] = "never";
    struct tm tm;

    if (maintenance_window->problem)
        return arena_printf(arena, "not run: 'maintenance_windows' of this machine: %s",
                            maintenance_window->problem);
    if (next != -1 && localtime_r(&next, &tm))
        (void)strftime(when, sizeof(when), "%a %Y-%m-%d %H:%M %Z", &tm);
    return arena_printf(arena,
                        "not run: outside of the maintenance windows of this machine (%s), the "
                        "next opens %s",
                        maintenance_window->text, when);
}

bool maintenance_window_is_dry_run(const char *function, const struct value *args)
{
    const struct value *test = value_get(args, "test");

    return strcmp(function, "state.test") == 0 || (value_is(test, VALUE_BOOL) && test->b);
}

bool maintenance_window_forbids(const struct maintenance_window *maintenance_window,
                                const char *function, const struct value *args, time_t now,
                                time_t *ret_next)
{
    const enum perform_class class = perform_class(function);

    /* an event says what was done; it changes nothing itself */
    if (strcmp(function, EVENT_SEND) == 0 || (class != PERFORM_ACT && class != PERFORM_STATES) ||
        (class == PERFORM_STATES && maintenance_window_is_dry_run(function, args)) ||
        maintenance_window_allows(maintenance_window, now))
        return false;
    *ret_next = maintenance_window_next(maintenance_window, now);
    return true;
}
