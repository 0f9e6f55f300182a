#include "fleet/peel/curfew.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/local/perform.h"
#include "fleet/peel/event_send.h"

#define TIME_TEXT_MAX 64

static int read_window(struct curfew *curfew, const struct value *v, struct buf *text,
                       struct err *err)
{
    struct window window;

    if (v->kind != VALUE_STR)
        return err_set(err, ERR_INVALID, "expected a text as 'Sat,Sun 01:00-05:00', got %s",
                       value_describe(v));
    if (curfew->windows.n >= WINDOW_MAX)
        return err_set(err, ERR_LIMIT, "there are at most %d windows", WINDOW_MAX);
    if (window_parse(v->s, &window, err) < 0)
        return err_wrap(err, "'%.*s'", STR_ARG(v->s));
    buf_printf(text, "%s%.*s", text->n > 0 ? "; " : "", STR_ARG(v->s));
    VEC_PUSH_IN(&curfew->arena, &curfew->windows, window);
    return 0;
}

static int read_windows(struct curfew *curfew, const struct value *windows, struct buf *text,
                        struct err *err)
{
    if (windows->kind != VALUE_LIST)
        return read_window(curfew, windows, text, err);
    for (size_t i = 0; i < windows->list->count; i++)
        if (read_window(curfew, &windows->list->items[i], text, err) < 0)
            return -1;
    return 0;
}

const char *curfew_read(struct curfew *curfew, const struct value *windows)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    curfew_done(curfew);
    if (windows && windows->kind != VALUE_NULL && read_windows(curfew, windows, &text, &err) < 0)
        curfew->problem = arena_strdup(&curfew->arena, err.text);
    curfew->text = buf_copy(&text, &curfew->arena).p;
    return curfew->problem;
}

void curfew_done(struct curfew *curfew)
{
    arena_done(&curfew->arena);
    *curfew = (struct curfew)CURFEW_INIT;
}

bool curfew_allows(const struct curfew *curfew, time_t now)
{
    if (curfew->problem)
        return false;
    VEC_EACH (&curfew->windows, window)
        if (window_is_open(window, now))
            return true;
    return curfew->windows.n == 0;
}

time_t curfew_next(const struct curfew *curfew, time_t now)
{
    time_t next = -1;

    VEC_EACH (&curfew->windows, window) {
        const time_t at = curfew->problem ? -1 : window_next(window, now);

        if (at != -1 && (next == -1 || at < next))
            next = at;
    }
    return next;
}

const char *curfew_describe(const struct curfew *curfew, struct arena *arena, time_t now)
{
    const time_t next = curfew_next(curfew, now);
    char when[TIME_TEXT_MAX] = "never";
    struct tm tm;

    if (curfew->problem)
        return arena_printf(arena, "not run: 'maintenance_windows' of this machine: %s",
                            curfew->problem);
    if (next != -1 && localtime_r(&next, &tm))
        (void)strftime(when, sizeof(when), "%a %Y-%m-%d %H:%M %Z", &tm);
    return arena_printf(arena,
                        "not run: outside of the maintenance windows of this machine (%s), the "
                        "next opens %s",
                        curfew->text, when);
}

bool curfew_is_dry_run(const char *function, const struct value *args)
{
    const struct value *test = value_get(args, "test");

    return strcmp(function, "state.test") == 0 || (value_is(test, VALUE_BOOL) && test->b);
}

bool curfew_forbids(const struct curfew *curfew, const char *function, const struct value *args,
                    time_t now, time_t *ret_next)
{
    const enum perform_class class = perform_class(function);

    /* an event says what was done; it changes nothing itself */
    if (strcmp(function, EVENT_SEND) == 0 || (class != PERFORM_ACT && class != PERFORM_STATES) ||
        (class == PERFORM_STATES && curfew_is_dry_run(function, args)) ||
        curfew_allows(curfew, now))
        return false;
    *ret_next = curfew_next(curfew, now);
    return true;
}
