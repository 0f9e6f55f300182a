#include "standing/standing.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "data/time_text.h"
#include "standing/record_file.h"
#include "sys/clock.h"
#include "sys/lock.h"
#include "sys/path.h"

#define STANDING_VERSION 1
#define STANDING_LOCK    "standing.lock"
/* Others hold the lock while they write one file. */
#define LOCK_NS (30 * CLOCK_SECOND)

/* clang-format off */
#define ARGS struct standing_mark
static const struct record_field mark_fields[] = {
    RECORD("name",    TEXT, ARGS, name, RECORD_REQUIRED),
    RECORD("success", BOOL, ARGS, success, 0),
    RECORD("changed", TIME, ARGS, changed, RECORD_OMIT),
    RECORD("error",   TEXT, ARGS, error, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};
#undef ARGS
static const struct record_type mark_type = RECORD_TYPE("mark of a state", struct standing_mark, mark_fields, 0);

static const struct record_field standing_fields[] = {
    RECORD("states", LIST, struct standing, states.list, 0, .inner = &mark_type),
    RECORD("runs",   LIST, struct standing, runs.list, 0, .inner = &mark_type),
    { 0 },
};
static const struct record_type standing_type = RECORD_TYPE("standing", struct standing, standing_fields, 0);
/* clang-format on */

static struct record_file file_of(struct arena *arena, const char *data_dir)
{
    return (struct record_file){ .path = path_join(arena, data_dir, STANDING_FILE),
                                 .type = &standing_type,
                                 .version = STANDING_VERSION,
                                 .max = STANDING_MAX,
                                 .sync = FS_SYNC };
}

/* --- keeping ------------------------------------------------------------------------ */

static void merge_mark(struct standing_mark *kept, const struct standing_mark *ended)
{
    const struct value_time changed = ended->changed.seconds > 0 ? ended->changed : kept->changed;

    *kept = *ended;
    kept->changed = changed;
}

/* Marks keep their places; when there are too many, the oldest go. */
static void merge_marks(struct arena *arena, struct standing_marks *kept,
                        const struct standing_marks *ended)
{
    struct map places = MAP_INIT_IN(arena);
    size_t extra;

    VEC_EACH (&kept->list, mark)
        (void)map_set(&places, str_from(mark->name), (void *)(uintptr_t)(mark - kept->list.p + 1));
    VEC_EACH (&ended->list, mark) {
        const uintptr_t place = (uintptr_t)map_find(&places, str_from(mark->name));

        if (place > 0) {
            merge_mark(&kept->list.p[place - 1], mark);
            continue;
        }
        VEC_PUSH_IN(arena, &kept->list, *mark);
        (void)map_set(&places, str_from(mark->name), (void *)(uintptr_t)kept->list.n);
    }
    extra = kept->list.n > STANDING_MARKS ? kept->list.n - STANDING_MARKS : 0;
    kept->list.p += extra;
    kept->list.n -= extra;
}

int standing_keep(const char *data_dir, const struct standing *ended, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct record_file file = file_of(&arena, data_dir);
    struct standing kept = { 0 };
    struct lock lock = LOCK_NONE;
    struct err ignored;
    int result;

    if (lock_take(&lock, path_join(&arena, data_dir, STANDING_LOCK), LOCK_EXCLUSIVE, LOCK_NS, NULL,
                  err) < 0)
        return -1;
    if (record_file_read(&arena, &file, &kept, &ignored) < 0)
        kept = (struct standing){ 0 }; /* there is none, or it is damaged: begin anew */
    merge_marks(&arena, &kept.states, &ended->states);
    merge_marks(&arena, &kept.runs, &ended->runs);
    result = record_file_write(&file, &kept, err);
    lock_drop(&lock);
    return result;
}

/* --- finding ------------------------------------------------------------------------ */

int standing_read(struct arena *arena, const char *data_dir, struct standing *ret, struct err *err)
{
    const struct record_file file = file_of(arena, data_dir);

    *ret = (struct standing){ 0 };
    if (record_file_read(arena, &file, ret, err) == 0 || err->code == ERR_NOT_FOUND)
        return 0;
    return -1;
}

static void add_mark(struct standing_answer *answer, const struct standing_mark *mark)
{
    if (!answer->known || (answer->success && !mark->success))
        answer->error = mark->error;
    answer->success = mark->success && (!answer->known || answer->success);
    if (time_is_later(mark->changed, answer->changed))
        answer->changed = mark->changed;
    answer->known = true;
}

/* "file.managed:/etc/motd" is called that, and "/etc/motd". */
static bool is_called(const struct standing_mark *mark, const char *name)
{
    const char *colon = strchr(mark->name, ':');

    return strcmp(mark->name, name) == 0 || (colon && strcmp(colon + 1, name) == 0);
}

struct standing_answer standing_find(const struct standing *standing, const char *name)
{
    struct standing_answer answer = { .name = name, .error = "" };

    if (strcmp(name, STANDING_HIGHSTATE) != 0)
        VEC_EACH (&standing->states.list, mark)
            if (is_called(mark, name))
                add_mark(&answer, mark);
    if (answer.known)
        return answer;
    VEC_EACH (&standing->runs.list, mark)
        if (strcmp(mark->name, name) == 0)
            add_mark(&answer, mark);
    return answer;
}
