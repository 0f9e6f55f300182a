#include "states/run/run_list.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/run/recorded.h"
#include "states/state/host.h"
#include "states/state/secrets.h"
#include "states/undo/undo.h"

/* clang-format off */
#define ARGS struct run_list_item
static const struct record_field item_fields[] = {
    RECORD("id",       TEXT,  ARGS, id, 0, .fallback_text = ""),
    RECORD("time",     TIME,  ARGS, time, 0),
    RECORD("by",       TEXT,  ARGS, by, 0, .fallback_text = ""),
    RECORD("function", TEXT,  ARGS, function, 0, .fallback_text = ""),
    RECORD("refs",     TEXTS, ARGS, refs, 0),
    RECORD("states",   TEXTS, ARGS, states, 0),
    RECORD("changed",  INT,   ARGS, changed, 0),
    RECORD("failed",   INT,   ARGS, failed, 0),
    RECORD("reverted", BOOL,  ARGS, reverted, 0),
    RECORD("partly",   BOOL,  ARGS, partly, RECORD_OMIT),
    RECORD("damage",   TEXT,  ARGS, damage, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};
const struct record_type run_list_item_type = RECORD_TYPE("recorded run", ARGS, item_fields, RECORD_LENIENT);
/* clang-format on */

static const char *copy_text(struct arena *arena, const char *text)
{
    return arena_strdup(arena, text ? text : "");
}

static struct param_strs copy_texts(struct arena *arena, const struct param_strs *texts)
{
    const char **copy = ARENA_ARRAY(arena, const char *, texts->n + 1);

    for (size_t i = 0; i < texts->n; i++)
        copy[i] = arena_strdup(arena, texts->p[i]);
    return (struct param_strs){ texts->n, copy };
}

static void count_entry(struct arena *arena, struct secrets *secrets,
                        const struct undo_entry *entry, const char **names,
                        struct run_list_item *item)
{
    if (entry->ended && entry->outcome == OUTCOME_FAILED)
        item->failed++;
    else if (undo_entry_acted(entry))
        item->changed++;
    else
        return;
    item->partly |= entry->restored;
    if (item->states.n == RUN_LIST_NAMES)
        return;
    recorded_hide_secrets(secrets, entry);
    names[item->states.n++] =
        arena_strdup(arena, secrets_masked(secrets, arena, str_from(entry->shown)).p);
}

static struct run_list_item make_item(struct arena *arena, struct secrets *secrets,
                                      const struct undo_run *run)
{
    const char **names = ARENA_ARRAY(arena, const char *, RUN_LIST_NAMES);
    struct run_list_item item = { .id = copy_text(arena, run->place.id),
                                  .time = { recorded_time(run), 0 },
                                  .by = copy_text(arena, run->by),
                                  .function = copy_text(arena, run->function),
                                  .refs = copy_texts(arena, &run->refs),
                                  .states = { 0, names },
                                  .reverted = run->reverted,
                                  .damage = "" };

    VEC_EACH (&run->states, entry)
        count_entry(arena, secrets, entry, names, &item);
    item.partly &= !run->reverted;
    if (undo_is_damaged(run))
        item.damage = undo_describe_damage(arena, run);
    return item;
}

int run_list_read(struct arena *arena, const struct state_host *host, const char *refs,
                  struct run_list *ret, struct err *err)
{
    AUTO_ARENA struct arena names = ARENA_INIT;
    struct undo_places places;

    *ret = (struct run_list){ 0 };
    if (undo_list(&names, host->data_dir, &places, err) < 0)
        return -1;
    VEC_EACH (&places.list, place) {
        AUTO_ARENA struct arena scratch = ARENA_INIT;
        struct undo_run run;

        if (undo_load(&scratch, place, &run, err) < 0) {
            if (err->code == ERR_NOT_FOUND) /* it was killed before its journal began */
                continue;
            return -1;
        }
        if (refs[0] && run.named && !recorded_has_ref(&run, refs))
            continue;
        VEC_PUSH_IN(arena, &ret->list, make_item(arena, host->secrets, &run));
    }
    return 0;
}

struct value run_list_value(struct arena *arena, const struct run_list *list)
{
    struct value values = value_list(value_list_new(arena, list->list.n));

    VEC_EACH (&list->list, item)
        value_list_push(arena, values.list, record_value(arena, &run_list_item_type, item));
    return values;
}

/* A run of the top file has that name and the references in it. */
static void add_refs(struct buf *out, const struct run_list_item *item)
{
    const bool is_said = strcmp(item->function, "state.highstate") == 0;
    const size_t first = is_said && item->refs.n > 1 ? 1 : 0;

    for (size_t i = first; i < item->refs.n; i++)
        buf_printf(out, "%s%s", i > first ? "," : " ", item->refs.p[i]);
}

/* A single state: "file.managed /etc/motd". */
static void add_state(struct buf *out, const struct run_list_item *item)
{
    const char *name = item->states.p[0];
    const size_t n = strlen(item->function);
    const bool is_own = strncmp(name, item->function, n) == 0 && name[n] == ':';

    buf_printf(out, " %s", is_own ? name + n + 1 : name);
}

const char *run_list_describe(struct arena *arena, const struct run_list_item *item)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&out, item->function[0] ? item->function : "-");
    if (item->refs.n > 0)
        add_refs(&out, item);
    else if (item->states.n > 0)
        add_state(&out, item);
    return buf_copy(&out, arena).p;
}

const char *run_list_reverted(const struct run_list_item *item)
{
    return item->reverted ? "yes" : item->partly ? "in part" : "";
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t count_common(const char *a, const char *b)
{
    size_t n = 0;

    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

size_t run_list_id_length(const char **ids, size_t count)
{
    size_t length = RUN_LIST_ID_LEAST;

    if (count > 1)
        qsort(ids, count, sizeof(*ids), compare_ids);
    for (size_t i = 1; i < count; i++) {
        const size_t common = count_common(ids[i - 1], ids[i]);

        if (ids[i][common] && common >= length)
            length = common + 1;
    }
    return length;
}
