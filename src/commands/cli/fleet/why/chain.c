#include "commands/cli/fleet/why/chain.h"

#include <stdarg.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "commands/cli/shared/columns.h"
#include "core/data/time_text.h"

bool why_add(struct why_chain *chain, const struct why_link *link)
{
    VEC_EACH (&chain->list, other)
        if (strcmp(other->kind, link->kind) == 0 && strcmp(other->id, link->id) == 0)
            return false;
    if (chain->list.n == WHY_CHAIN_MAX)
        return false;
    VEC_PUSH_IN(chain->arena, &chain->list, *link);
    return true;
}

void why_end(struct why_chain *chain, const char *fmt, ...)
{
    va_list args;

    if (chain->first_cause)
        return;
    va_start(args, fmt);
    chain->first_cause = arena_vprintf(chain->arena, fmt, args);
    va_end(args);
}

static bool has_time(const struct why_link *link)
{
    return link->time.seconds != 0 || link->time.nanoseconds != 0;
}

static void print_link(const struct why_link *link, struct buf *out)
{
    buf_printf(out, "%s ", link->kind);
    columns_print_text(out, link->id);
    buf_add_text(out, ": ");
    columns_print_text(out, link->what);
    if (has_time(link)) {
        buf_add_text(out, ", ");
        time_print(out, link->time);
    }
    buf_add_char(out, '\n');
}

static void print_link_lines(const struct why_chain *chain, struct buf *out)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct str rest = str_from(chain->text);

    while (rest.n > 0) {
        struct str line = str_cut(&rest, '\n');

        columns_print_text(out, arena_strndup(&scratch, line.p, line.n));
        buf_add_char(out, '\n');
    }
}

void why_chain_print(const struct why_chain *chain, struct buf *out)
{
    for (size_t i = 0; i < chain->list.n; i++) {
        buf_add_text(out, i > 0 ? "  <- " : "");
        print_link(&chain->list.p[i], out);
        if (i == 0 && chain->text)
            print_link_lines(chain, out);
    }
    if (chain->first_cause) {
        buf_add_text(out, "  first cause: ");
        columns_print_text(out, chain->first_cause);
        buf_add_char(out, '\n');
    }
}

static void put_link_value(const struct why_chain *chain, struct value_map *map, const char *key,
                           struct value v)
{
    value_map_set(chain->arena, map, value_text(key), v);
}

static struct value link_value(const struct why_chain *chain, const struct why_link *link)
{
    struct value_map *map = value_map_new(chain->arena, 4);

    put_link_value(chain, map, "kind", value_text(link->kind));
    put_link_value(chain, map, "id", value_text(link->id));
    put_link_value(chain, map, "what", value_text(link->what));
    if (has_time(link))
        put_link_value(chain, map, "time", value_time(link->time.seconds, link->time.nanoseconds));
    return value_map(map);
}

struct value why_chain_value(const struct why_chain *chain)
{
    struct value_list *links = value_list_new(chain->arena, chain->list.n);
    struct value_map *map = value_map_new(chain->arena, 5);

    VEC_EACH (&chain->list, link)
        value_list_push(chain->arena, links, link_value(chain, link));
    if (chain->list.n > 0) {
        put_link_value(chain, map, "kind", value_text(chain->list.p[0].kind));
        put_link_value(chain, map, "id", value_text(chain->list.p[0].id));
    }
    put_link_value(chain, map, "chain", value_list(links));
    put_link_value(chain, map, "first_cause",
                   chain->first_cause ? value_text(chain->first_cause) : value_null());
    if (!value_is(&chain->details, VALUE_NULL))
        put_link_value(chain, map, "details", chain->details);
    return value_map(map);
}
