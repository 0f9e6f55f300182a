#include "states/run/owed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/sha256.h"
#include "core/data/frame.h"
#include "core/data/record.h"
#include "states/undo/stall.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define DEBT_SIZE_MAX 65536
#define DEBT_VERSION  2
/* The first byte of an old debt without a frame: a map of four. */
#define OLD_DEBT '\x84'

/* A debt while a run is under way. */
struct entry {
    struct owed_debt debt;
    char file[SHA256_HEX_SIZE];
    bool is_new;     /* noted by this run */
    bool is_adopted; /* its files are gone */
};

struct entries {
    VEC(struct entry *) list;
};

struct owed {
    struct arena arena;
    const char *folder, *run_id;
    pthread_mutex_t mutex;
    struct map states;  /* struct entries by name of the state */
    struct map damaged; /* by file; assigned when its state is looked up */
    bool has_folder;
    bool has_old;        /* there was a debt before this run */
    atomic_bool has_any; /* there is or was a debt */
};

/* clang-format off */
#define ARGS struct owed_debt
static const struct record_field debt_fields[] = {
    RECORD("state",  TEXT,  ARGS, state,  RECORD_REQUIRED),
    RECORD("files",  TEXTS, ARGS, files,  RECORD_OMIT),
    RECORD("source", TEXT,  ARGS, source, RECORD_REQUIRED),
    RECORD("run",    TEXT,  ARGS, run,    RECORD_REQUIRED),
    RECORD("since",  INT,   ARGS, since,  0),
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

/* No part contains a NUL. Without a file: as older versions called it. */
static void name_file(const char *state, const char *file, const char *source, char *ret_hex)
{
    AUTO_BUF struct buf key = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&key, state);
    if (file) {
        buf_add_char(&key, '\0');
        buf_add_text(&key, file);
        buf_add_char(&key, '\0');
        buf_add_text(&key, source);
    }
    sha256_hex(key.p, key.n, ret_hex);
}

static void name_debt(const struct owed_debt *debt, char *ret_hex)
{
    name_file(debt->state, debt->files.n > 0 ? debt->files.p[0] : NULL, debt->source, ret_hex);
}

/* Parse a debt file, with or without a frame. */
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

static int decode_debt(struct arena *arena, const char *name, struct str bytes,
                       struct owed_debt *ret, struct err *err)
{
    char hex[SHA256_HEX_SIZE];
    struct str payload;

    if (find_payload(bytes, &payload, err) < 0 ||
        record_decode(arena, &owed_debt_type, DEBT_VERSION, payload, ret, err) < 0)
        return -1;
    name_debt(ret, hex);
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

static const char *get_first_file(const struct owed_debt *debt)
{
    return debt->files.n > 0 ? debt->files.p[0] : "";
}

static int compare_debts(const void *a, const void *b)
{
    const struct owed_debt *left = a, *right = b;
    int order = strcmp(left->state, right->state);

    if (order == 0)
        order = strcmp(get_first_file(left), get_first_file(right));
    return order != 0 ? order : strcmp(left->source, right->source);
}

/* A file that cannot be read is reported, and does not stop the others. */
static void add_debt_file(struct arena *arena, const char *folder, const char *name,
                          struct owed_debts *debts)
{
    struct owed_debt debt;
    struct str bytes;
    struct err err;

    if (fs_read(arena, path_join(arena, folder, name), DEBT_SIZE_MAX, &bytes, &err) == 0) {
        if (!bytes.p)
            return; /* settled meanwhile */
        if (decode_debt(arena, name, bytes, &debt, &err) == 0) {
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
            add_debt_file(arena, folder, *name, ret_debts);
        else if (fs_is_temp_name(*name))
            VEC_PUSH_IN(arena, &ret_debts->drafts, path_join(arena, folder, *name));
    }
    if (ret_debts->list.n > 1)
        qsort(ret_debts->list.p, ret_debts->list.n, sizeof(*ret_debts->list.p), compare_debts);
    return 0;
}

const char *owed_describe(struct arena *arena, const struct owed_debt *debt)
{
    return arena_printf(arena, "%s  since run %s%s%s: %s had changed", debt->state, debt->run,
                        debt->files.n > 0 ? ", " : "", get_first_file(debt), debt->source);
}

static bool has_listed_text(const struct param_strs *list, struct str text)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_is(text, list->p[i]))
            return true;
    return false;
}

/* "cmd.run:reload", or "web:cmd.run:reload". */
static bool is_debt_named(const struct owed_debt *debt, const char *words)
{
    struct str rest = str_from(words), file = str_cut(&rest, ':');

    return strcmp(debt->state, words) == 0 ||
           (rest.p && str_is(rest, debt->state) && has_listed_text(&debt->files, file));
}

/* The name must match the debts of one state only. */
static int select_debts(const struct owed_debts *debts, const char *words, struct owed_debts *ret,
                        struct arena *arena, struct err *err)
{
    VEC_EACH (&debts->list, debt) {
        const struct owed_debt *first = ret->list.n > 0 ? &ret->list.p[0] : debt;

        if (!is_debt_named(debt, words))
            continue;
        if (strcmp(get_first_file(first), get_first_file(debt)) != 0)
            return err_set(err, ERR_INVALID, "several files declare '%s': use '%s:%s' or '%s:%s'",
                           debt->state, get_first_file(first), debt->state, get_first_file(debt),
                           debt->state);
        VEC_PUSH_IN(arena, &ret->list, *debt);
    }
    return 0;
}

/* A file, regardless of its content. */
static int remove_debt_file(const char *path, bool *ret_found, struct err *err)
{
    struct fs_info info;

    if (fs_lstat(path, &info, err) < 0)
        return -1;
    *ret_found = info.kind != FS_NONE;
    return fs_unlink(path, err);
}

/* The damaged debt of an older version identifies its state by the name alone. */
int owed_waive(const char *data_dir, const char *state, bool *ret_found, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = path_join(&arena, data_dir, "owed");
    struct owed_debts debts, meant = { 0 };
    char hex[SHA256_HEX_SIZE];

    if (is_debt_name(state))
        return remove_debt_file(path_join(&arena, folder, state), ret_found, err);
    if (owed_list(&arena, data_dir, &debts, err) < 0 ||
        select_debts(&debts, state, &meant, &arena, err) < 0)
        return -1;
    VEC_EACH (&meant.list, debt) {
        name_debt(debt, hex);
        if (remove_debt_file(path_join(&arena, folder, hex), ret_found, err) < 0)
            return -1;
    }
    *ret_found = meant.list.n > 0;
    if (*ret_found)
        return 0;
    name_file(state, NULL, NULL, hex);
    return remove_debt_file(path_join(&arena, folder, hex), ret_found, err);
}

/* --- in a run ---------------------------------------------------------------------- */

static void add_owed_entry(struct owed *owed, const struct owed_debt *debt, const char *file,
                           bool is_new)
{
    struct entry *entry = ARENA_NEW(&owed->arena, struct entry);
    void **place = map_place(&owed->states, str_from(debt->state));
    struct entries *entries;

    *entry = (struct entry){ .debt = *debt, .is_new = is_new };
    memcpy(entry->file, file, SHA256_HEX_SIZE);
    if (!*place)
        *place = ARENA_NEW(&owed->arena, struct entries);
    entries = *place;
    VEC_PUSH_IN(&owed->arena, &entries->list, entry);
    atomic_store(&owed->has_any, true);
}

static int load_folder(struct owed *owed, const char *data_dir, enum owed_drafts drafts,
                       struct err *err)
{
    struct owed_debts debts;
    char hex[SHA256_HEX_SIZE];

    if (owed_list(&owed->arena, data_dir, &debts, err) < 0)
        return -1;
    VEC_EACH (&debts.list, debt) {
        name_debt(debt, hex);
        add_owed_entry(owed, debt, hex, false);
    }
    VEC_EACH (&debts.damaged, damage)
        map_set(&owed->damaged, str_from(damage->file), damage);
    owed->has_old = debts.list.n + debts.damaged.n > 0;
    atomic_store(&owed->has_any, owed->has_old);
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
    owed->states.arena = owed->damaged.arena = &owed->arena;
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

void owed_adopt(struct owed *owed, bool (*has_file)(const void *user, const char *file),
                const void *user)
{
    MAP_EACH (&owed->states, item) {
        const struct entries *entries = item->value;

        VEC_EACH (&entries->list, entry) {
            const struct param_strs *files = &(*entry)->debt.files;

            (*entry)->is_adopted = files->n > 0;
            for (size_t i = 0; i < files->n; i++)
                if (has_file(user, files->p[i]))
                    (*entry)->is_adopted = false;
        }
    }
}

bool owed_has_any(const struct owed *owed)
{
    return owed->has_old;
}

static bool is_entry_of_state(const struct entry *entry, const struct owed_state *state)
{
    const struct param_strs *files = &entry->debt.files;

    if (files->n == 0 || entry->is_adopted)
        return !entry->debt.source[0] ||
               has_listed_text(&state->sources, str_from(entry->debt.source));
    for (size_t i = 0; i < files->n; i++)
        if (has_listed_text(state->files, str_from(files->p[i])))
            return true;
    return false;
}

static struct entry *find_owed_entry(const struct owed *owed, const struct owed_state *state,
                                     const char *source)
{
    const struct entries *entries = map_find(&owed->states, str_from(state->name));

    for (size_t i = 0; entries && i < entries->list.n; i++)
        if (strcmp(entries->list.p[i]->debt.source, source) == 0 &&
            is_entry_of_state(entries->list.p[i], state))
            return entries->list.p[i];
    return NULL;
}

/* A damaged debt becomes one of this state, if its file is called so. */
static void claim_file(struct owed *owed, const struct owed_state *state, const char *file,
                       const char *source)
{
    const char **files = ARENA_ARRAY(&owed->arena, const char *, 1);
    struct owed_debt debt = { .state = arena_strdup(&owed->arena, state->name),
                              .source = source ? arena_strdup(&owed->arena, source) : "",
                              .run = "unknown (its record is damaged)" };
    char hex[SHA256_HEX_SIZE];

    name_file(state->name, file, source, hex);
    if (!map_remove(&owed->damaged, str_from(hex)))
        return;
    if (file) {
        files[0] = arena_strdup(&owed->arena, file);
        debt.files = (struct param_strs){ 1, files };
    }
    add_owed_entry(owed, &debt, hex, false);
}

/* Under the mutex. */
static void claim_damaged(struct owed *owed, const struct owed_state *state)
{
    if (map_count(&owed->damaged) == 0)
        return;
    claim_file(owed, state, NULL, NULL);
    for (size_t i = 0; i < state->sources.n; i++)
        for (size_t f = 0; f < state->files->n; f++)
            claim_file(owed, state, state->files->p[f], state->sources.p[i]);
}

void owed_find(struct owed *owed, struct arena *arena, const struct owed_state *state,
               struct owed_found *ret_found)
{
    const struct entries *entries;

    *ret_found = (struct owed_found){ 0 };
    if (!owed->has_old)
        return;
    (void)pthread_mutex_lock(&owed->mutex);
    claim_damaged(owed, state);
    entries = map_find(&owed->states, str_from(state->name));
    for (size_t i = 0; entries && i < entries->list.n; i++)
        if (!entries->list.p[i]->is_new && is_entry_of_state(entries->list.p[i], state))
            VEC_PUSH_IN(arena, &ret_found->list, &entries->list.p[i]->debt);
    (void)pthread_mutex_unlock(&owed->mutex);
}

static struct param_strs copy_debt_files(struct arena *arena, const struct param_strs *files)
{
    const char **copy = ARENA_ARRAY(arena, const char *, files->n + 1);

    for (size_t i = 0; i < files->n; i++)
        copy[i] = arena_strdup(arena, files->p[i]);
    return (struct param_strs){ files->n, copy };
}

/* Under the mutex: another thread that expects the same debt must not go on before it is on disk.
 *  */
static int add_debt(struct owed *owed, const struct owed_state *state, const char *source,
                    struct err *err)
{
    struct owed_debt debt;
    char hex[SHA256_HEX_SIZE];

    claim_damaged(owed, state);
    if (find_owed_entry(owed, state, source))
        return 0;
    if (!owed->has_folder && fs_mkdirs(owed->folder, 0700, err) < 0)
        return -1;
    owed->has_folder = true;
    debt = (struct owed_debt){
        .state = arena_strdup(&owed->arena, state->name),
        .files = copy_debt_files(&owed->arena, state->files),
        .source = arena_strdup(&owed->arena, source),
        .run = owed->run_id,
        .since = clock_wall() / CLOCK_SECOND,
    };
    name_debt(&debt, hex);
    if (write_debt(path_join(&owed->arena, owed->folder, hex), &debt, err) < 0)
        return err_wrap(err, "record the reaction owed by '%s'", state->name);
    add_owed_entry(owed, &debt, hex, true);
    return 0;
}

int owed_expect(struct owed *owed, const struct owed_state *state, const char *source,
                struct err *err)
{
    bool stalled = stall_begin();
    int rc;

    (void)pthread_mutex_lock(&owed->mutex);
    rc = add_debt(owed, state, source, err);
    (void)pthread_mutex_unlock(&owed->mutex);
    stall_end(stalled);
    return rc;
}

/* Selects the debts of a state to settle. */
struct removal {
    const char *made_by;          /* made by this source, in this run; NULL: any */
    const struct param_strs *but; /* not those made by these; NULL: settle all */
};

static bool is_meant_by(const struct removal *removal, const struct entry *entry)
{
    if (removal->made_by && !(entry->is_new && strcmp(entry->debt.source, removal->made_by) == 0))
        return false;
    return !removal->but || !has_listed_text(removal->but, str_from(entry->debt.source));
}

/* Under the mutex. */
static int remove_debts(struct owed *owed, const struct owed_state *state,
                        const struct removal *removal, struct err *err)
{
    struct entries *entries = map_find(&owed->states, str_from(state->name));
    size_t left = 0;
    int rc = 0;

    for (size_t i = 0; entries && i < entries->list.n; i++) {
        struct entry *entry = entries->list.p[i];

        if (!is_entry_of_state(entry, state) || !is_meant_by(removal, entry))
            entries->list.p[left++] = entry;
        else if (fs_unlink(path_join(&owed->arena, owed->folder, entry->file), err) < 0)
            rc = -1;
    }
    if (entries)
        entries->list.n = left;
    return rc;
}

static int remove_if_any(struct owed *owed, const struct owed_state *state,
                         const struct removal *removal, struct err *err)
{
    int rc;

    if (!atomic_load(&owed->has_any))
        return 0;
    (void)pthread_mutex_lock(&owed->mutex);
    rc = remove_debts(owed, state, removal, err);
    (void)pthread_mutex_unlock(&owed->mutex);
    return rc;
}

int owed_drop(struct owed *owed, const struct owed_state *state, const char *source,
              struct err *err)
{
    return remove_if_any(owed, state, &(struct removal){ .made_by = source }, err);
}

int owed_settle(struct owed *owed, const struct owed_state *state, const struct param_strs *but,
                struct err *err)
{
    return remove_if_any(owed, state, &(struct removal){ .but = but }, err);
}
