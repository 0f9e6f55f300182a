#include "run/owed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/sha256.h"
#include "data/msgpack.h"
#include "data/value.h"
#include "undo/stall.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "sys/path.h"

#define DEBT_SIZE_MAX 65536

struct owed {
    struct arena arena;
    const char *folder, *run_id;
    pthread_mutex_t mutex;
    struct map debts; /* by state: struct owed_debt */
    bool has_folder;
};

/* --- files ------------------------------------------------------------------------- */

static const char *debt_path(struct arena *arena, const char *folder, const char *state)
{
    char hex[SHA256_HEX_SIZE];

    sha256_hex(state, strlen(state), hex);
    return path_join(arena, folder, hex);
}

static const char *get_text(const struct value *v, const char *key)
{
    const struct value *found = value_get(v, key);

    return found && found->kind == VALUE_STR ? found->s.p : NULL;
}

/* False when it is not one of ours. */
static bool decode(struct arena *arena, struct str bytes, struct owed_debt *ret)
{
    const struct value *since;
    struct err ignored;
    struct value v;

    if (msgpack_decode(arena, bytes, &v, &ignored) < 0)
        return false;
    since = value_get(&v, "since");
    *ret = (struct owed_debt){
        .state = get_text(&v, "state"),
        .source = get_text(&v, "source"),
        .run = get_text(&v, "run"),
        .since = since && since->kind == VALUE_INT ? since->i : 0,
    };
    return ret->state && ret->source && ret->run;
}

static int write_debt(const char *path, const struct owed_debt *debt, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(DEBT_SIZE_MAX);
    struct value_map *map = value_map_new(&arena, 4);
    const struct value v = value_map(map);

    value_map_set(&arena, map, value_text("state"), value_text(debt->state));
    value_map_set(&arena, map, value_text("source"), value_text(debt->source));
    value_map_set(&arena, map, value_text("run"), value_text(debt->run));
    value_map_set(&arena, map, value_text("since"), value_int(debt->since));
    if (msgpack_encode(&bytes, &v, err) < 0)
        return -1;
    return fs_replace(path, buf_view(&bytes), NULL, err);
}

static int by_state(const void *a, const void *b)
{
    const struct owed_debt *left = a, *right = b;

    return strcmp(left->state, right->state);
}

int owed_list(struct arena *arena, const char *data_dir, struct owed_debts *ret_debts,
              struct err *err)
{
    const char *folder = path_join(arena, data_dir, "owed");
    struct fs_names names = { 0 };
    struct fs_info info;

    *ret_debts = (struct owed_debts){ 0 };
    if (fs_stat(folder, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return 0;
    if (fs_list(arena, folder, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name) {
        struct owed_debt debt;
        struct str bytes;

        if (fs_read(arena, path_join(arena, folder, *name), DEBT_SIZE_MAX, &bytes, err) < 0)
            return -1;
        if (bytes.p && decode(arena, bytes, &debt))
            VEC_PUSH_IN(arena, &ret_debts->list, debt);
    }
    if (ret_debts->list.n > 1)
        qsort(ret_debts->list.p, ret_debts->list.n, sizeof(*ret_debts->list.p), by_state);
    return 0;
}

int owed_waive(const char *data_dir, const char *state, bool *ret_found, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = debt_path(&arena, path_join(&arena, data_dir, "owed"), state);
    struct fs_info info;

    if (fs_lstat(path, &info, err) < 0)
        return -1;
    *ret_found = info.kind != FS_NONE;
    return fs_unlink(path, err);
}

/* --- in a run ---------------------------------------------------------------------- */

struct owed *owed_open(const char *data_dir, const char *run_id, struct err *err)
{
    struct owed *owed = mem_zalloc(sizeof(*owed));
    struct owed_debts debts;

    (void)pthread_mutex_init(&owed->mutex, NULL);
    owed->debts.arena = &owed->arena;
    owed->folder = path_join(&owed->arena, data_dir, "owed");
    owed->run_id = arena_strdup(&owed->arena, run_id);
    if (owed_list(&owed->arena, data_dir, &debts, err) < 0) {
        owed_free(owed);
        return NULL;
    }
    VEC_EACH (&debts.list, debt)
        map_set(&owed->debts, str_from(debt->state), debt);
    return owed;
}

void owed_free(struct owed *owed)
{
    if (!owed)
        return;
    (void)pthread_mutex_destroy(&owed->mutex);
    arena_done(&owed->arena);
    free(owed);
}

const struct owed_debt *owed_find(struct owed *owed, const char *state)
{
    const struct owed_debt *debt;

    (void)pthread_mutex_lock(&owed->mutex);
    debt = map_find(&owed->debts, str_from(state));
    (void)pthread_mutex_unlock(&owed->mutex);
    return debt && strcmp(debt->run, owed->run_id) != 0 ? debt : NULL;
}

/* Under the mutex: others that expect the same debt must not go on before it is on disk. */
static int add(struct owed *owed, const char *state, const char *source, struct err *err)
{
    struct owed_debt *debt;

    if (map_has(&owed->debts, str_from(state)))
        return 0;
    if (!owed->has_folder && fs_mkdirs(owed->folder, 0700, err) < 0)
        return -1;
    owed->has_folder = true;
    debt = ARENA_NEW(&owed->arena, struct owed_debt);
    *debt = (struct owed_debt){
        .state = arena_strdup(&owed->arena, state),
        .source = arena_strdup(&owed->arena, source),
        .run = owed->run_id,
        .since = clock_wall() / CLOCK_SECOND,
    };
    if (write_debt(debt_path(&owed->arena, owed->folder, state), debt, err) < 0)
        return err_wrap(err, "write down what '%s' owes", state);
    map_set(&owed->debts, str_from(debt->state), debt);
    return 0;
}

int owed_expect(struct owed *owed, const char *state, const char *source, struct err *err)
{
    bool stalled = stall_begin();
    int rc;

    (void)pthread_mutex_lock(&owed->mutex);
    rc = add(owed, state, source, err);
    (void)pthread_mutex_unlock(&owed->mutex);
    stall_end(stalled);
    return rc;
}

int owed_settle(struct owed *owed, const char *state, struct err *err)
{
    int rc = 0;

    (void)pthread_mutex_lock(&owed->mutex);
    if (map_remove(&owed->debts, str_from(state)))
        rc = fs_unlink(debt_path(&owed->arena, owed->folder, state), err);
    (void)pthread_mutex_unlock(&owed->mutex);
    return rc;
}
