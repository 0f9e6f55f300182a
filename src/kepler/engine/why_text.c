#include "kepler/engine/why_text.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/data/value.h"
#include "kepler/config/reason.h"
#include "kepler/engine/why.h"
#include "core/sys/signals.h"

#define INDENT        2
#define MOMENT_DIGITS 3 /* a fraction of a second */

static const struct value_list *get_list(const struct value *map, const char *key)
{
    static const struct value_list none;
    const struct value *v = value_get(map, key);

    return v && value_is(v, VALUE_LIST) ? v->list : &none;
}

static const char *or_unknown(const char *text)
{
    return text ? text : "?";
}

static void print_why_now(const struct value *why, struct buf *out)
{
    const struct value *code = value_get(why, "exit_code");

    buf_printf(out, "%s: %s", or_unknown(value_get_text(why, "service")),
               or_unknown(value_get_text(why, "status")));
    if (value_get_text(why, "reason")) {
        buf_add_text(out, " (");
        reason_print(str_from(value_get_text(why, "reason")), out);
        buf_add_char(out, ')');
    }
    if (code && value_is(code, VALUE_INT))
        buf_printf(out, ", exit code %lld", (long long)code->i);
    if (value_get_int(why, "signal", 0) > 0) {
        buf_add_text(out, ", ended by ");
        signal_print((int)value_get_int(why, "signal", 0), out);
    }
    if (value_get_int(why, "restarts", 0) > 0)
        buf_printf(out, ", restarts: %lld", (long long)value_get_int(why, "restarts", 0));
    buf_add_char(out, '\n');
}

static void print_wait(const struct value *edge, size_t depth, struct buf *out)
{
    const char *condition = value_get_text(edge, "condition"),
               *doing = value_get_text(edge, "doing");
    const struct value *left = value_get(edge, "timeout_left");
    const char *state = value_get_text(edge, "state"),
               *status = or_unknown(value_get_text(edge, "status"));

    buf_fill(out, ' ', INDENT * depth);
    if (state)
        buf_printf(out, "waiting for state %s, which %s", state, status);
    else
        buf_printf(out, "waiting for %s (%s), which is %s",
                   or_unknown(value_get_text(edge, "service")),
                   condition ? condition : "to be up again", status);
    if (doing)
        buf_printf(out, ": %s", doing);
    if (left && value_is(left, VALUE_INT))
        buf_printf(out, " (%lld s left)", (long long)left->i);
    buf_add_char(out, '\n');
}

/* Recurses as deep as the value, which is limited. */
static void print_waits(const struct value *map, size_t depth, struct buf *out)
{
    const struct value_list *list = get_list(map, "waits_for");

    for (size_t i = 0; i < list->count && depth <= WHY_DEPTH_MAX; i++) {
        print_wait(&list->items[i], depth, out);
        print_waits(&list->items[i], depth + 1, out);
    }
}

/* "waiting -> skipped: cause" */
static void print_change(const struct value *entry, struct buf *out)
{
    buf_printf(out, "%s -> %s: ", or_unknown(value_get_text(entry, "from")),
               or_unknown(value_get_text(entry, "to")));
    reason_print(str_from(or_unknown(value_get_text(entry, "cause"))), out);
    buf_add_char(out, '\n');
}

static void print_chain(const struct value *entry, struct buf *out)
{
    const struct value_list *list = get_list(entry, "chain");

    for (size_t i = 0; i < list->count; i++) {
        const struct value *link = &list->items[i];
        const char *cause = value_get_text(link, "cause");

        buf_fill(out, ' ', INDENT * 3);
        buf_add_text(out, or_unknown(value_get_text(link, "service")));
        if (cause) {
            buf_add_char(out, ' ');
            print_change(link, out);
        } else {
            buf_add_text(out, ": no longer in its history\n");
        }
    }
}

/* Milliseconds, in a fixed width; programs get all digits. */
static void print_why_time(const char *time, struct buf *out)
{
    const char *point = strchr(time, '.');
    const size_t digits = point ? strspn(point + 1, "0123456789") : 0;
    const int shown = digits < MOMENT_DIGITS ? (int)digits : MOMENT_DIGITS;

    if (point)
        buf_printf(out, "  %.*s%.*s%.*sZ", (int)(point - time), time, shown + 1, point,
                   MOMENT_DIGITS - shown, "000");
    else
        buf_printf(out, "  %s", time);
}

void why_print(const struct value *why, struct buf *out)
{
    const struct value_list *history = get_list(why, "history");

    print_why_now(why, out);
    if (value_get_text(why, "doing"))
        buf_printf(out, "  %s\n", value_get_text(why, "doing"));
    print_waits(why, 1, out);
    if (value_get_int(why, "levels", 0) > 1)
        buf_printf(out, "  waiting through %lld levels\n",
                   (long long)value_get_int(why, "levels", 0));
    for (size_t i = 0; i < history->count; i++) {
        const struct value *entry = &history->items[i];

        print_why_time(or_unknown(value_get_text(entry, "time")), out);
        buf_add_char(out, ' ');
        print_change(entry, out);
        print_chain(entry, out);
    }
}
