#include "fleet/watchdog/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/runs/record_file.h"
#include "core/sys/crash_point.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define FOLDER_MODE 0755
#define BINARY_MODE 0755
#define RECORD_MAX  ((size_t)64 << 10)
#define PIECE       ((size_t)64 << 10)

/* --- the record ----------------------------------------------------------------------- */

struct stored_slot {
    const char *version, *sha256;
};

struct stored {
    enum update_state state;
    struct stored_slot slots[KEEPER_PLACES];
    int64_t soak;
    int32_t soak_starts;
    const char *note, *failed;
};

/* clang-format off */
static const struct record_field slot_fields[] = {
    RECORD("version", TEXT, struct stored_slot, version, 0, .fallback_text = ""),
    RECORD("sha256",  TEXT, struct stored_slot, sha256, 0, .fallback_text = ""),
    { 0 },
};
static const struct record_type slot_type = RECORD_TYPE("slot", struct stored_slot, slot_fields, 0);

static const struct record_field stored_fields[] = {
    RECORD("state",       WORD,   struct stored, state, RECORD_REQUIRED, RECORD_WORDS(update_state_names)),
    RECORD("current",     STRUCT, struct stored, slots[KEEPER_CURRENT], 0, .inner = &slot_type),
    RECORD("prev",        STRUCT, struct stored, slots[KEEPER_PREV], 0, .inner = &slot_type),
    RECORD("staging",     STRUCT, struct stored, slots[KEEPER_STAGING], 0, .inner = &slot_type),
    RECORD("soak",        INT,    struct stored, soak, 0, RECORD_RANGE(0, INT64_MAX)),
    RECORD("soak_starts", INT,    struct stored, soak_starts, 0, RECORD_RANGE(0, INT32_MAX)),
    RECORD("note",        TEXT,   struct stored, note, 0, .fallback_text = ""),
    RECORD("failed",      TEXT,   struct stored, failed, 0, .fallback_text = ""),
    { 0 },
};
static const struct record_type stored_type = RECORD_TYPE("slots", struct stored, stored_fields, 0);
/* clang-format on */

static struct record_file find_slots_file(const struct slots *slots)
{
    return (struct record_file){ slots->record, &stored_type, 1, RECORD_MAX, FS_SYNC };
}

int slots_save(const struct slots *slots, const struct keeper_record *record, struct err *err)
{
    const struct record_file file = find_slots_file(slots);
    struct stored stored = { .state = record->state,
                             .soak = record->soak,
                             .soak_starts = record->soak_starts,
                             .note = record->note,
                             .failed = record->failed };

    for (size_t i = 0; i < KEEPER_PLACES; i++)
        stored.slots[i] = (struct stored_slot){ record->slots[i].version, record->slots[i].sha256 };
    crash_point("slots-save");
    return record_file_write(&file, &stored, err);
}

static int read_stored_slot(const struct stored_slot *stored, struct keeper_slot *ret,
                            struct err *err)
{
    if (strlen(stored->version) >= sizeof(ret->version) ||
        strlen(stored->sha256) >= sizeof(ret->sha256))
        return err_set(err, ERR_INVALID, "a version or a hash is too long");
    (void)snprintf(ret->version, sizeof(ret->version), "%s", stored->version);
    (void)snprintf(ret->sha256, sizeof(ret->sha256), "%s", stored->sha256);
    return 0;
}

int slots_read(const struct slots *slots, struct keeper_record *ret, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct record_file file = find_slots_file(slots);
    struct stored stored;

    if (record_file_read(&arena, &file, &stored, err) < 0)
        return -1;
    *ret = (struct keeper_record){ .state = stored.state,
                                   .soak = stored.soak,
                                   .soak_starts = stored.soak_starts };
    (void)snprintf(ret->note, sizeof(ret->note), "%s", stored.note);
    (void)snprintf(ret->failed, sizeof(ret->failed), "%s", stored.failed);
    for (size_t i = 0; i < KEEPER_PLACES; i++)
        if (read_stored_slot(&stored.slots[i], &ret->slots[i], err) < 0)
            return err_wrap(err, "'%s'", slots->record);
    return 0;
}

/* --- the binaries --------------------------------------------------------------------- */

void slots_init(struct slots *slots, struct arena *arena, const char *folder, const char *name)
{
    const char *current = path_join(arena, folder, name);

    *slots = (struct slots){
        .folder = folder,
        .paths = { [KEEPER_CURRENT] = current,
                   [KEEPER_PREV] = arena_printf(arena, "%s.prev", current),
                   [KEEPER_STAGING] = arena_printf(arena, "%s.staging", current) },
        .record = arena_printf(arena, "%s.slots", current),
        .lock_file = arena_printf(arena, "%s.lock", current),
        .lock = LOCK_NONE,
    };
}

int slots_lock(struct slots *slots, struct err *err)
{
    if (fs_mkdirs(slots->folder, FOLDER_MODE, err) < 0)
        return -1;
    return lock_take(&slots->lock, slots->lock_file, LOCK_EXCLUSIVE, SLOTS_WAIT_NS, NULL, err);
}

static int hash_fd(int fd, struct sha256 *sha)
{
    AUTO_FREE char *piece = mem_alloc(PIECE);
    ssize_t n;

    while ((n = read(fd, piece, PIECE)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            sha256_add(sha, piece, (size_t)n);
    return n < 0 ? -1 : 0;
}

void slots_hash(const struct slots *slots, enum keeper_place place,
                char ret_hash[static SHA256_HEX_SIZE])
{
    AUTO_FD int fd = open(slots->paths[place], O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct sha256 sha;
    struct stat info;

    ret_hash[0] = '\0';
    if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || !(info.st_mode & S_IXUSR))
        return;
    sha256_init(&sha);
    if (hash_fd(fd, &sha) == 0)
        sha256_end_hex(&sha, ret_hash);
}

int slots_seed(const struct slots *slots, const char *program, struct err *err)
{
    const struct fs_replace_options how = { .attr = { BINARY_MODE, FS_KEEP, FS_KEEP } };
    char hash[SHA256_HEX_SIZE];

    for (enum keeper_place place = KEEPER_CURRENT; place <= KEEPER_PREV; place++) {
        slots_hash(slots, place, hash);
        if (hash[0])
            return 0;
    }
    return fs_copy(program, slots->paths[KEEPER_CURRENT], &how, err);
}

/* A second name for what runs, beside the first: the folder never lacks a current one. */
static int keep_current(const struct slots *slots, struct err *err)
{
    const char *prev = slots->paths[KEEPER_PREV];

    if (unlink(prev) < 0 && errno != ENOENT)
        return err_sys(err, errno, "remove '%s'", prev);
    if (link(slots->paths[KEEPER_CURRENT], prev) < 0)
        return err_sys(err, errno, "keep '%s' as '%s'", slots->paths[KEEPER_CURRENT], prev);
    return fs_sync_folder(slots->folder, err);
}

static int move_stored_slot(const struct slots *slots, enum keeper_place from, struct err *err)
{
    if (fs_rename(slots->paths[from], slots->paths[KEEPER_CURRENT], err) < 0)
        return -1;
    return fs_sync_folder(slots->folder, err);
}

int slots_swap_in(const struct slots *slots, const char *sha256, struct err *err)
{
    char hash[SHA256_HEX_SIZE];

    slots_hash(slots, KEEPER_STAGING, hash);
    if (strcmp(hash, sha256) != 0)
        return err_set(err, ERR_UNSAFE, "staged version in '%s' has changed",
                       slots->paths[KEEPER_STAGING]);
    crash_point("slots-keep");
    if (keep_current(slots, err) < 0)
        return -1;
    crash_point("slots-swap");
    return move_stored_slot(slots, KEEPER_STAGING, err);
}

int slots_swap_back(const struct slots *slots, struct err *err)
{
    crash_point("slots-back");
    return move_stored_slot(slots, KEEPER_PREV, err);
}

void slots_discard(const struct slots *slots)
{
    struct err ignored;

    (void)fs_unlink(slots->paths[KEEPER_STAGING], &ignored); /* replaced by the next one anyway */
}
