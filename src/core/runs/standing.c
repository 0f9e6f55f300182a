#include "core/runs/standing.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/checksum.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/data/frame.h"
#include "core/data/msgpack.h"
#include "core/data/time_text.h"
#include "core/runs/record_file.h"
#include "core/sys/clock.h"
#include "core/sys/lock.h"
#include "core/sys/path.h"

#define STANDING_VERSION 1
#define STANDING_LOCK    "standing.lock"
/* Time limit: writers hold the lock while they write one file. */
#define LOCK_NS (30 * CLOCK_SECOND)

#define SUCCEEDED "succeeded"

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
    RECORD("states",  LIST,  struct standing, states.list, 0, .inner = &mark_type),
    RECORD("runs",    LIST,  struct standing, runs.list, 0, .inner = &mark_type),
    RECORD(SUCCEEDED, BYTES, struct standing, succeeded, RECORD_OMIT), /* must be last: see is_recorded_success */
    { 0 },
};
static const struct record_type standing_type = RECORD_TYPE("standing", struct standing, standing_fields, 0);
/* clang-format on */

static struct record_file get_standing_file(struct arena *arena, const char *data_dir)
{
    return (struct record_file){ .path = path_join(arena, data_dir, STANDING_FILE),
                                 .type = &standing_type,
                                 .version = STANDING_VERSION,
                                 .max = STANDING_MAX,
                                 .sync = FS_SYNC };
}

/* --- keeping ------------------------------------------------------------------------ */

static bool are_successes(const struct standing_marks *marks, bool *ret_changed)
{
    VEC_EACH (&marks->list, mark) {
        if (!mark->success || mark->error[0])
            return false;
        *ret_changed = *ret_changed || mark->changed.seconds > 0;
    }
    return true;
}

static uint64_t sum_names(const struct standing_marks *marks, uint64_t sum)
{
    VEC_EACH (&marks->list, mark)
        sum = checksum(mark->name, strlen(mark->name) + 1, sum);
    return checksum("", 0, sum);
}

/* Does the record already say that all of these names succeeded? It is intact and its keys are in
 * table order, so its last bytes are enough. */
static bool is_recorded_success(struct str payload, struct str sum)
{
    const struct value key = value_text(SUCCEEDED), bytes = value_bytes(sum);
    AUTO_BUF struct buf tail = BUF_INIT(BUF_NO_LIMIT);
    struct err ignored;

    return msgpack_encode(&tail, &key, &ignored) == 0 &&
           msgpack_encode(&tail, &bytes, &ignored) == 0 && str_ends(payload, buf_view(&tail));
}

/* Returns whether anything changed. */
static bool merge_mark(struct standing_mark *kept, const struct standing_mark *ended)
{
    const struct value_time changed = ended->changed.seconds > 0 ? ended->changed : kept->changed;
    const bool same = kept->success == ended->success && strcmp(kept->error, ended->error) == 0 &&
                      kept->changed.seconds == changed.seconds &&
                      kept->changed.nanoseconds == changed.nanoseconds;

    *kept = *ended;
    kept->changed = changed;
    return !same;
}

/* Marks keep their places; when there are too many, the oldest go. Returns whether anything
 * changed. */
static bool merge_marks(struct arena *arena, struct standing_marks *kept,
                        const struct standing_marks *ended)
{
    struct map places = MAP_INIT_IN(arena);
    bool different = false;

    VEC_EACH (&kept->list, mark)
        (void)map_set(&places, str_from(mark->name), (void *)(uintptr_t)(mark - kept->list.p + 1));
    VEC_EACH (&ended->list, mark) {
        const uintptr_t place = (uintptr_t)map_find(&places, str_from(mark->name));

        if (place > 0) {
            different |= merge_mark(&kept->list.p[place - 1], mark);
            continue;
        }
        VEC_PUSH_IN(arena, &kept->list, *mark);
        (void)map_set(&places, str_from(mark->name), (void *)(uintptr_t)kept->list.n);
        different = true;
    }
    if (kept->list.n > STANDING_MARKS) {
        kept->list.p += kept->list.n - STANDING_MARKS;
        kept->list.n = STANDING_MARKS;
    }
    return different;
}

/* The checksum of the names of all states that ended. */
static uint64_t compute_names_sum(const struct standing *ended)
{
    return sum_names(&ended->runs, sum_names(&ended->states, 0));
}

/* The usual case: all succeeded before, and again. The file is always whole, so this needs no lock.
 */
static bool is_standing_kept(struct arena *arena, const struct record_file *file,
                             const struct standing *ended)
{
    const uint64_t sum = compute_names_sum(ended);
    bool changed = false;
    struct frame frame;
    struct err ignored;

    return are_successes(&ended->states, &changed) && are_successes(&ended->runs, &changed) &&
           !changed && record_file_open(arena, file, &frame, &ignored) == 0 &&
           is_recorded_success(frame.payload, (struct str){ (const char *)&sum, sizeof(sum) });
}

/* Called with the lock held. */
static int merge_standing_file(struct arena *arena, const struct record_file *file,
                               const struct standing *ended, struct err *err)
{
    const uint64_t sum = compute_names_sum(ended);
    const struct str names = { (const char *)&sum, sizeof(sum) };
    bool changed = false, there, different;
    const bool succeeded =
        are_successes(&ended->states, &changed) && are_successes(&ended->runs, &changed);
    struct standing kept = { 0 };
    struct frame frame;
    struct err ignored;

    there = record_file_open(arena, file, &frame, &ignored) == 0 &&
            record_file_decode(arena, file, &frame, &kept, &ignored) == 0;
    if (!there)
        kept = (struct standing){ 0 }; /* missing or damaged: start over */
    different = merge_marks(arena, &kept.states, &ended->states);
    different |= merge_marks(arena, &kept.runs, &ended->runs);
    if (there && !different)
        return 0;
    kept.succeeded = succeeded ? names : (struct str){ 0 };
    return record_file_write(file, &kept, err);
}

int standing_keep(const char *data_dir, const struct standing *ended, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct record_file file = get_standing_file(&arena, data_dir);
    struct lock lock = LOCK_NONE;
    int result;

    if (is_standing_kept(&arena, &file, ended))
        return 0;
    if (lock_take(&lock, path_join(&arena, data_dir, STANDING_LOCK), LOCK_EXCLUSIVE, LOCK_NS, NULL,
                  err) < 0)
        return -1;
    result = merge_standing_file(&arena, &file, ended, err);
    lock_drop(&lock);
    return result;
}

/* --- finding ------------------------------------------------------------------------ */

int standing_read(struct arena *arena, const char *data_dir, struct standing *ret, struct err *err)
{
    const struct record_file file = get_standing_file(arena, data_dir);

    *ret = (struct standing){ 0 };
    if (record_file_read(arena, &file, ret, err) == 0 || err->code == ERR_NOT_FOUND)
        return 0;
    return -1;
}

static void add_standing_mark(struct standing_answer *answer, const struct standing_mark *mark)
{
    if (!answer->known || (answer->success && !mark->success))
        answer->error = mark->error;
    answer->success = mark->success && (!answer->known || answer->success);
    if (time_is_later(mark->changed, answer->changed))
        answer->changed = mark->changed;
    answer->known = true;
}

/* "file.managed:/etc/motd" matches that name, and "/etc/motd". */
static bool is_mark_name(const struct standing_mark *mark, const char *name)
{
    const char *colon = strchr(mark->name, ':');

    return strcmp(mark->name, name) == 0 || (colon && strcmp(colon + 1, name) == 0);
}

struct standing_answer standing_find(const struct standing *standing, const char *name)
{
    struct standing_answer answer = { .name = name, .error = "" };

    if (strcmp(name, STANDING_HIGHSTATE) != 0)
        VEC_EACH (&standing->states.list, mark)
            if (is_mark_name(mark, name))
                add_standing_mark(&answer, mark);
    if (answer.known)
        return answer;
    VEC_EACH (&standing->runs.list, mark)
        if (strcmp(mark->name, name) == 0)
            add_standing_mark(&answer, mark);
    return answer;
}
