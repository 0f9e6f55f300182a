#include "undo/undo.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/ksuid.h"
#include "undo/undo_record.h"
#include "sys/path.h"

/* More states than a plan can have is damage. */
#define STATES_MAX 2000000

struct reader {
    struct arena *arena;
    struct undo_run *run;
    uint64_t sequence;
};

static const char *get_text(const struct value *v, const char *key)
{
    const struct value *found = value_get(v, key);

    if (!found || (found->kind != VALUE_STR && found->kind != VALUE_BYTES))
        return NULL;
    return memchr(found->s.p, '\0', found->s.n) ? NULL : found->s.p;
}

static bool get_bool(const struct value *v, const char *key)
{
    const struct value *found = value_get(v, key);

    return found && found->kind == VALUE_BOOL && found->b;
}

static int64_t get_int(const struct value *v, const char *key)
{
    const struct value *found = value_get(v, key);

    return found && found->kind == VALUE_INT ? found->i : -1;
}

static struct undo_entry *find_state(const struct reader *reader, const struct value *record)
{
    int64_t number = get_int(record, "state");

    if (number < 0 || (size_t)number >= reader->run->states.n)
        return NULL;
    return &reader->run->states.p[number];
}

static bool on_run(struct reader *reader, const struct value *record)
{
    const struct value *refs = value_get(record, "refs"), *time = value_get(record, "time");
    const char **texts;

    if (!refs || refs->kind != VALUE_LIST || !time || time->kind != VALUE_INT)
        return false;
    texts = ARENA_ARRAY(reader->arena, const char *, refs->list->count);
    for (size_t i = 0; i < refs->list->count; i++) {
        if (refs->list->items[i].kind != VALUE_STR)
            return false;
        texts[i] = refs->list->items[i].s.p;
    }
    reader->run->time = time->i;
    reader->run->refs = (struct param_strs){ refs->list->count, texts };
    return true;
}

static bool on_begin(struct reader *reader, const struct value *record)
{
    const struct value *body = value_get(record, "body");
    int64_t level = get_int(record, "level");
    struct undo_entry entry = {
        .name = get_text(record, "name"),
        .module = get_text(record, "module"),
        .id = get_text(record, "id"),
        .secret = get_bool(record, "secret"),
        .hidden = get_bool(record, "hidden"),
        .body = body ? *body : value_null(),
        .notes = value_map_new(reader->arena, 0),
        .retry = { .attempts = get_int(record, "attempts"),
                   .interval = get_int(record, "interval") },
        .sequence = reader->sequence,
    };

    if (!entry.name || !entry.module || !entry.id || level < 0 || level > STATES_MAX ||
        reader->run->states.n == STATES_MAX)
        return false;
    entry.level = (uint32_t)level;
    VEC_PUSH_IN(reader->arena, &reader->run->states, entry);
    return true;
}

static bool on_image(struct reader *reader, const struct value *record)
{
    struct undo_entry *entry = find_state(reader, record);
    const struct value *v = value_get(record, "image");
    struct undo_image image = { .sequence = reader->sequence };
    const char *left = get_text(record, "left");
    struct err ignored;

    if (!entry || !v || image_decode(v, &image.image, &ignored) < 0)
        return false;
    if (left)
        VEC_PUSH_IN(reader->arena, &image.left, left);
    VEC_PUSH_IN(reader->arena, &entry->images, image);
    entry->sequence = reader->sequence;
    return true;
}

static bool on_left(struct reader *reader, const struct value *record)
{
    struct undo_entry *entry = find_state(reader, record);
    const char *path = get_text(record, "path"), *mark = get_text(record, "mark");

    if (!entry || !path || !mark)
        return false;
    VEC_EACH (&entry->images, image)
        if (strcmp(image->image.path, path) == 0)
            VEC_PUSH_IN(reader->arena, &image->left, mark);
    return true;
}

static bool on_note(struct reader *reader, const struct value *record)
{
    struct undo_entry *entry = find_state(reader, record);
    const struct value *key = value_get(record, "key"), *v = value_get(record, "value");

    if (!entry || !key || key->kind != VALUE_STR || !v)
        return false;
    value_map_set(reader->arena, entry->notes, *key, *v);
    return true;
}

static bool on_end(struct reader *reader, const struct value *record)
{
    struct undo_entry *entry = find_state(reader, record);

    if (entry)
        entry->unchanged = get_int(record, "outcome") == OUTCOME_UNCHANGED;
    return entry != NULL;
}

static bool on_restored(struct reader *reader, const struct value *record)
{
    struct undo_entry *entry = find_state(reader, record);

    if (entry)
        entry->restored = true;
    return entry != NULL;
}

static bool on_reverted(struct reader *reader, const struct value *record)
{
    (void)record;
    reader->run->reverted = true;
    return true;
}

typedef bool record_fn(struct reader *reader, const struct value *record);

static record_fn *const handlers[UNDO_KINDS] = {
    [UNDO_RUN] = on_run,           [UNDO_BEGIN] = on_begin,       [UNDO_IMAGE] = on_image,
    [UNDO_LEFT] = on_left,         [UNDO_NOTE] = on_note,         [UNDO_END] = on_end,
    [UNDO_RESTORED] = on_restored, [UNDO_REVERTED] = on_reverted,
};

void undo_decode(struct arena *arena, struct str journal, struct undo_run *ret_run)
{
    struct reader reader = { .arena = arena, .run = ret_run };
    struct str rest = journal;
    enum undo_kind kind;
    struct value record;

    for (;; reader.sequence++) {
        ret_run->size = journal.n - rest.n;
        if (!undo_record_decode(arena, &rest, &kind, &record) || !handlers[kind](&reader, &record))
            return;
    }
}

int undo_read(struct arena *arena, const char *data_dir, const char *run_id,
              struct undo_run *ret_run, struct err *err)
{
    const char *folder = path_join(arena, path_join(arena, data_dir, "undo"), run_id);
    struct str journal;
    struct ksuid ksuid;

    if (ksuid_parse(str_from(run_id), &ksuid, err) < 0)
        return err_wrap(err, "'%s' is not the id of a run", run_id);
    if (fs_read(arena, path_join(arena, folder, UNDO_JOURNAL_NAME), UNDO_JOURNAL_MAX, &journal,
                err) < 0)
        return -1;
    if (!journal.p)
        return err_set(err, ERR_NOT_FOUND, "no run '%s' is kept", run_id);
    *ret_run = (struct undo_run){ .id = arena_strdup(arena, run_id), .folder = folder };
    undo_decode(arena, journal, ret_run);
    return 0;
}

int undo_list(struct arena *arena, const char *data_dir, struct undo_ids *ret_ids, struct err *err)
{
    const char *root = path_join(arena, data_dir, "undo");
    struct fs_names names = { 0 };
    struct fs_info info;
    struct ksuid ksuid;

    *ret_ids = (struct undo_ids){ 0 };
    if (fs_stat(root, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return 0;
    if (fs_list(arena, root, &names, err) < 0)
        return -1;
    for (size_t i = names.list.n; i-- > 0;) /* ids sort by time */
        if (ksuid_parse(str_from(names.list.p[i]), &ksuid, err) == 0)
            VEC_PUSH_IN(arena, &ret_ids->list, names.list.p[i]);
    return 0;
}
