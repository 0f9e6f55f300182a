#include "run/owed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/sha256.h"
#include "data/frame.h"
#include "data/record.h"
#include "undo/stall.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "sys/path.h"

#define DEBT_SIZE_MAX 65536
#define DEBT_VERSION  1
/* The first byte of a debt from before there were frames: a map of four. */
#define OLD_DEBT '\x84'

struct owed {
    struct arena arena;
    const char *folder, *run_id;
    pthread_mutex_t mutex;
    struct map debts;   /* by state: struct owed_debt */
    struct map damaged; /* by file: whose they are is known when somebody asks for that state */
    bool has_folder;
    atomic_bool has_any; /* there is a debt, or there was one: most runs have none to look for */
};

/* clang-format off */
#define ARGS struct owed_debt
static const struct record_field debt_fields[] = {
    RECORD("state",  TEXT, ARGS, state,  RECORD_REQUIRED),
    RECORD("source", TEXT, ARGS, source, RECORD_REQUIRED),
    RECORD("run",    TEXT, ARGS, run,    RECORD_REQUIRED),
    RECORD("since",  INT,  ARGS, since,  0),
    { 0 },
};
/* clang-format on */

const struct record_type owed_debt_type = RECORD_TYPE("debt", ARGS, debt_fields, 0);

/* --- files ------------------------------------------------------------------------- */

static bool is_debt_name(const char *name)
{
    return strlen(name) == SHA256_HEX_SIZE - 1 &&
           strspn(name, "0123456789abcdef") == SHA256_HEX_SIZE - 1;
}

static const char *debt_path(struct arena *arena, const char *folder, const char *state)
{
    char hex[SHA256_HEX_SIZE];

    sha256_hex(state, strlen(state), hex);
    return path_join(arena, folder, hex);
}

/* The record of a file, also of one from before there were frames. */
static int find_payload(struct str bytes, struct str *ret, struct err *err)
{
    struct frame_scan scan = { .bytes = bytes };
    struct frame frame;

    if (bytes.n > 0 && bytes.p[0] == OLD_DEBT) {
        *ret = bytes;
        return 0;
    }
    if (frame_next(&scan, &frame) != FRAME_WHOLE || scan.at != bytes.n)
        return err_set(err, ERR_INVALID, "the checksum does not match");
    if (frame.version > DEBT_VERSION)
        return err_set(err, ERR_UNSUPPORTED, "written by a newer version of zester");
    *ret = frame.payload;
    return 0;
}

static int decode(struct arena *arena, const char *name, struct str bytes, struct owed_debt *ret,
                  struct err *err)
{
    char hex[SHA256_HEX_SIZE];
    struct str payload;

    if (find_payload(bytes, &payload, err) < 0 ||
        record_decode(arena, &owed_debt_type, DEBT_VERSION, payload, ret, err) < 0)
        return -1;
    sha256_hex(ret->state, strlen(ret->state), hex);
    if (strcmp(hex, name) != 0)
        return err_set(err, ERR_INVALID, "the file belongs to another state");
    return 0;
}

static int write_debt(const char *path, const struct owed_debt *debt, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(DEBT_SIZE_MAX);

    if (record_append(&bytes, &owed_debt_type, debt, DEBT_VERSION, 0, err) < 0)
        return -1;
    return fs_replace(path, buf_view(&bytes), NULL, err);
}

static int by_state(const void *a, const void *b)
{
    const struct owed_debt *left = a, *right = b;

    return strcmp(left->state, right->state);
}

/* A file that cannot be read is reported, and does not stop the others. */
static void add_file(struct arena *arena, const char *folder, const char *name,
                     struct owed_debts *debts)
{
    struct owed_debt debt;
    struct str bytes;
    struct err err;

    if (fs_read(arena, path_join(arena, folder, name), DEBT_SIZE_MAX, &bytes, &err) == 0) {
        if (!bytes.p)
            return; /* settled meanwhile */
        if (decode(arena, name, bytes, &debt, &err) == 0) {
            VEC_PUSH_IN(arena, &debts->list, debt);
            return;
        }
    }
    VEC_PUSH_IN(arena, &debts->damaged,
                ((struct owed_damage){ name, arena_strdup(arena, err.text) }));
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
        if (is_debt_name(*name))
            add_file(arena, folder, *name, ret_debts);
        else if (fs_is_temp_name(*name))
            VEC_PUSH_IN(arena, &ret_debts->drafts, path_join(arena, folder, *name));
    }
    if (ret_debts->list.n > 1)
        qsort(ret_debts->list.p, ret_debts->list.n, sizeof(*ret_debts->list.p), by_state);
    return 0;
}

int owed_waive(const char *data_dir, const char *state, bool *ret_found, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = path_join(&arena, data_dir, "owed");
    const char *path =
        is_debt_name(state) ? path_join(&arena, folder, state) : debt_path(&arena, folder, state);
    struct fs_info info;

    if (fs_lstat(path, &info, err) < 0)
        return -1;
    *ret_found = info.kind != FS_NONE;
    return fs_unlink(path, err);
}

/* --- in a run ---------------------------------------------------------------------- */

static int load_folder(struct owed *owed, const char *data_dir, enum owed_drafts drafts,
                       struct err *err)
{
    struct owed_debts debts;

    if (owed_list(&owed->arena, data_dir, &debts, err) < 0)
        return -1;
    VEC_EACH (&debts.list, debt)
        map_set(&owed->debts, str_from(debt->state), debt);
    VEC_EACH (&debts.damaged, damage)
        map_set(&owed->damaged, str_from(damage->file), damage);
    atomic_store(&owed->has_any, debts.list.n + debts.damaged.n > 0);
    VEC_EACH (&debts.drafts, draft)
        if (drafts == OWED_REMOVE_DRAFTS && fs_unlink(*draft, err) < 0)
            return -1;
    return 0;
}

struct owed *owed_open(const char *data_dir, const char *run_id, enum owed_drafts drafts,
                       struct err *err)
{
    struct owed *owed = mem_zalloc(sizeof(*owed));

    (void)pthread_mutex_init(&owed->mutex, NULL);
    owed->debts.arena = owed->damaged.arena = &owed->arena;
    owed->folder = path_join(&owed->arena, data_dir, "owed");
    owed->run_id = arena_strdup(&owed->arena, run_id);
    if (load_folder(owed, data_dir, drafts, err) == 0)
        return owed;
    owed_free(owed);
    return NULL;
}

void owed_free(struct owed *owed)
{
    if (!owed)
        return;
    (void)pthread_mutex_destroy(&owed->mutex);
    arena_done(&owed->arena);
    free(owed);
}

/* Under the mutex: a damaged debt becomes one of this state, if it is its. */
static void claim_damaged(struct owed *owed, const char *state)
{
    struct owed_debt *debt;
    char hex[SHA256_HEX_SIZE];

    if (map_count(&owed->damaged) == 0)
        return;
    sha256_hex(state, strlen(state), hex);
    if (!map_remove(&owed->damaged, str_from(hex)))
        return;
    debt = ARENA_NEW(&owed->arena, struct owed_debt);
    *debt = (struct owed_debt){ .state = arena_strdup(&owed->arena, state),
                                .source = "something",
                                .run = "unknown (its record is damaged)" };
    map_set(&owed->debts, str_from(debt->state), debt);
}

const struct owed_debt *owed_find(struct owed *owed, const char *state)
{
    const struct owed_debt *debt;

    if (!atomic_load(&owed->has_any))
        return NULL;
    (void)pthread_mutex_lock(&owed->mutex);
    claim_damaged(owed, state);
    debt = map_find(&owed->debts, str_from(state));
    (void)pthread_mutex_unlock(&owed->mutex);
    return debt && strcmp(debt->run, owed->run_id) != 0 ? debt : NULL;
}

/* Under the mutex: others that expect the same debt must not go on before it is on disk. */
static int add_debt(struct owed *owed, const char *state, const char *source, struct err *err)
{
    struct owed_debt *debt;

    atomic_store(&owed->has_any, true);
    claim_damaged(owed, state);
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
        return err_wrap(err, "record the reaction owed by '%s'", state);
    map_set(&owed->debts, str_from(debt->state), debt);
    return 0;
}

int owed_expect(struct owed *owed, const char *state, const char *source, struct err *err)
{
    bool stalled = stall_begin();
    int rc;

    (void)pthread_mutex_lock(&owed->mutex);
    rc = add_debt(owed, state, source, err);
    (void)pthread_mutex_unlock(&owed->mutex);
    stall_end(stalled);
    return rc;
}

int owed_settle(struct owed *owed, const char *state, struct err *err)
{
    int rc = 0;

    if (!atomic_load(&owed->has_any))
        return 0;
    (void)pthread_mutex_lock(&owed->mutex);
    claim_damaged(owed, state);
    if (map_remove(&owed->debts, str_from(state)))
        rc = fs_unlink(debt_path(&owed->arena, owed->folder, state), err);
    (void)pthread_mutex_unlock(&owed->mutex);
    return rc;
}
