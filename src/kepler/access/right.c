#include "kepler/access/right.h"

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/suggest.h"

/* clang-format off */
static const struct {
    const char *name;
    const char *meaning; /* a short description */
} rights[] = {
    [RIGHT_START]               = { "start", "start services, and load the config" },
    [RIGHT_START_ENV]           = { "start:env-override", "with -e, -r or -D" },
    [RIGHT_START_HARDENING]     = { "start:hardening", "with --hardening" },
    [RIGHT_START_NO_DEPS]       = { "start:no-deps", "with --no-deps" },
    [RIGHT_RUN]                 = { "run", "stop, read the file again, start; apply" },
    [RIGHT_RUN_ENV]             = { "run:env-override", "with -e, -r or -D" },
    [RIGHT_RUN_HARDENING]       = { "run:hardening", "with --hardening" },
    [RIGHT_RUN_NO_DEPS]         = { "run:no-deps", "with --no-deps" },
    [RIGHT_RUN_START_CLEAN]     = { "run:start-clean", "with --start-clean" },
    [RIGHT_STOP]                = { "stop", "stop services" },
    [RIGHT_STOP_CLEAN]          = { "stop:clean", "with --clean" },
    [RIGHT_STOP_SIGNAL]         = { "stop:signal", "with -s" },
    [RIGHT_RESTART]             = { "restart", "restart services" },
    [RIGHT_RESTART_ENV]         = { "restart:env-override", "with -e, -r or -D" },
    [RIGHT_RESTART_NO_DEPS]     = { "restart:no-deps", "with --no-deps" },
    [RIGHT_RECREATE]            = { "recreate", "stop, remove stored data, read the file again, start" },
    [RIGHT_RECREATE_ENV]        = { "recreate:env-override", "with -D" },
    [RIGHT_RECREATE_HARDENING]  = { "recreate:hardening", "with --hardening" },
    [RIGHT_STATUS]              = { "status", "ps, why, daemon status" },
    [RIGHT_INSPECT]             = { "inspect", "inspect, without the sections below" },
    [RIGHT_INSPECT_SERVICES]    = { "inspect:services", "the section of services" },
    [RIGHT_INSPECT_ENVIRONMENT] = { "inspect:environment", "the environment, and that of services" },
    [RIGHT_INSPECT_FLAGS]       = { "inspect:flags", "the flags of -D" },
    [RIGHT_LOGS]                = { "logs", "stored and new lines" },
    [RIGHT_LOGS_SEARCH]         = { "logs:search", "with -F" },
    [RIGHT_LOGS_SEARCH_SQL]     = { "logs:search:sql", "with --sql" },
    [RIGHT_SUBSCRIBE]           = { "subscribe", "follow a restart (--wait, --follow)" },
    [RIGHT_QUIESCENCE]          = { "quiescence", "wait until services have ended" },
    [RIGHT_READINESS]           = { "readiness", "wait until services are up, or healthy" },
    [RIGHT_MONITOR]             = { "monitor", "measured CPU and memory of services" },
    [RIGHT_MONITOR_SEARCH]      = { "monitor:search", "with -F" },
    [RIGHT_MONITOR_SEARCH_SQL]  = { "monitor:search:sql", "with --sql" },
};
/* clang-format on */
_Static_assert(ARRAY_LEN(rights) == RIGHTS, "every right has a name");
_Static_assert(RIGHTS < 64, "a set of rights is a number");

const char *right_name(enum right right)
{
    return rights[right].name;
}

bool right_find(struct str name, enum right *ret_right)
{
    for (size_t i = 0; i < RIGHTS; i++)
        if (str_is(name, rights[i].name)) {
            *ret_right = (enum right)i;
            return true;
        }
    return false;
}

void right_offer(struct suggest *suggest)
{
    for (size_t i = 0; i < RIGHTS; i++)
        suggest_offer(suggest, str_from(rights[i].name));
    suggest_offer(suggest, STR(RIGHT_ALL_NAME));
}

struct value right_values(struct arena *arena, uint64_t set)
{
    struct value_list *list = value_list_new(arena, 0);

    for (size_t i = 0; i < RIGHTS; i++)
        if (set & RIGHT_BIT(i))
            value_list_push(arena, list, value_text(rights[i].name));
    return value_list(list);
}

uint64_t right_read(const struct value *names)
{
    uint64_t set = 0;
    enum right right;

    for (size_t i = 0; value_is(names, VALUE_LIST) && i < names->list->count; i++)
        if (value_is(&names->list->items[i], VALUE_STR) &&
            right_find(names->list->items[i].s, &right))
            set |= RIGHT_BIT(right);
    return set;
}

void right_print(uint64_t set, struct buf *out)
{
    size_t left = (size_t)__builtin_popcountll(set), done = 0;

    for (size_t i = 0; i < RIGHTS; i++)
        if (set & RIGHT_BIT(i)) {
            left--;
            buf_printf(out, "%s'%s'",
                       done++ == 0 ? ""
                       : left == 0 ? " and "
                                   : ", ",
                       rights[i].name);
        }
}

void right_print_list(struct buf *out)
{
    for (size_t i = 0; i < RIGHTS; i++)
        buf_printf(out, "  %-22s  %s\n", rights[i].name, rights[i].meaning);
}
