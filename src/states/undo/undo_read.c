#include "states/undo/undo.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "core/data/frame.h"
#include "core/sys/path.h"
#include "states/undo/undo_record.h"

#define SEAL_SIZE_MAX ((size_t)1 << 20)
/* How many damaged places are reported one by one. */
#define GAPS_TOLD 3

struct reader {
    struct arena *arena;
    struct undo_run *run;
    uint64_t sequence;
    size_t lost; /* bytes that could not be read so far */
};

static void add_gap(struct reader *reader, size_t offset, size_t size, const char *why)
{
    const struct undo_gap gap = { offset, size, arena_strdup(reader->arena, why) };

    reader->lost += size;
    VEC_PUSH_IN(reader->arena, &reader->run->gaps, gap);
}

/* --- records -------------------------------------------------------------------------- */

/* Uses the level of the state before, since levels only grow; hides its content, which may be
 * secret. */
static void add_lost_state(struct reader *reader)
{
    const size_t count = reader->run->states.n;
    const char *name =
        arena_printf(reader->arena, "state %zu of run %s", count + 1, reader->run->place.id);
    const struct undo_entry entry = {
        .name = name,
        .shown = name,
        .module = "",
        .id = "",
        .level = count > 0 ? reader->run->states.p[count - 1].level : 0,
        .hidden = true,
        .lost = true,
        .notes = value_map_new(reader->arena, 0),
        .sequence = reader->sequence,
    };

    VEC_PUSH_IN(reader->arena, &reader->run->states, entry);
}

/* The state with this number, even if its begin record was lost; but no more can be lost than fit
 * into the damaged bytes. */
static struct undo_entry *get_state(struct reader *reader, uint32_t number)
{
    struct undo_run *run = reader->run;

    if (number >= run->states.n && number - run->states.n >= reader->lost / FRAME_HEAD)
        return NULL;
    while (number >= run->states.n)
        add_lost_state(reader);
    run->states.p[number].records++;
    return &run->states.p[number];
}

static bool on_run_record(struct reader *reader, const struct undo_record *record)
{
    reader->run->time = record->time;
    reader->run->refs = record->refs;
    reader->run->function = record->function;
    reader->run->by = record->by;
    reader->run->named = true;
    return true;
}

static bool on_begin(struct reader *reader, const struct undo_record *record)
{
    const struct undo_entry entry = {
        .name = record->name,
        .module = record->module,
        .id = record->id,
        .shown = record->shown[0] ? record->shown : record->name,
        .secret = record->secret,
        .hidden = record->hidden,
        .body = record->body,
        .level = record->level,
        .notes = value_map_new(reader->arena, 0),
        .retry = record->retry,
        .records = 1,
        .sequence = reader->sequence,
    };

    if (record->state > reader->run->states.n && !get_state(reader, record->state - 1))
        return false;
    if (reader->run->states.n != record->state)
        return false; /* it is there already */
    VEC_PUSH_IN(reader->arena, &reader->run->states, entry);
    return true;
}

static bool on_image(struct reader *reader, const struct undo_record *record)
{
    struct undo_entry *entry = get_state(reader, record->state);
    struct undo_image image = { .image = record->image, .sequence = reader->sequence };

    if (!entry)
        return false;
    if (record->mark)
        VEC_PUSH_IN(reader->arena, &image.left, record->mark);
    VEC_PUSH_IN(reader->arena, &entry->images, image);
    entry->sequence = reader->sequence;
    return true;
}

static bool on_left(struct reader *reader, const struct undo_record *record)
{
    struct undo_entry *entry = get_state(reader, record->state);

    if (!entry)
        return false;
    VEC_EACH (&entry->images, image)
        if (strcmp(image->image.path, record->path) == 0)
            VEC_PUSH_IN(reader->arena, &image->left, record->mark);
    return true;
}

static bool on_note(struct reader *reader, const struct undo_record *record)
{
    struct undo_entry *entry = get_state(reader, record->state);

    if (entry)
        value_map_set(reader->arena, entry->notes, value_text(record->key), record->value);
    return entry != NULL;
}

static bool on_end_record(struct reader *reader, const struct undo_record *record)
{
    struct undo_entry *entry = get_state(reader, record->state);

    if (!entry)
        return false;
    entry->outcome = record->outcome;
    entry->unchanged = record->outcome == OUTCOME_UNCHANGED;
    entry->ended = true;
    entry->records--; /* the end does not count itself */
    if (record->records > entry->records)
        entry->missing = record->records - entry->records;
    return true;
}

static bool on_restored_record(struct reader *reader, const struct undo_record *record)
{
    if (record->state < reader->run->states.n)
        reader->run->states.p[record->state].restored = true;
    return true;
}

static bool on_reverted_record(struct reader *reader, const struct undo_record *record)
{
    (void)record;
    reader->run->reverted = true;
    return true;
}

/* Its file has only this record. */
static bool on_seal(struct reader *reader, const struct undo_record *record)
{
    if (strcmp(record->run, reader->run->place.id) != 0)
        return false;
    if (!reader->run->named)
        (void)on_run_record(reader, record);
    reader->run->sealed = true;
    if (record->records > reader->run->records)
        reader->run->missing = record->records - reader->run->records;
    return true;
}

typedef bool record_fn(struct reader *reader, const struct undo_record *record);

static record_fn *const handlers[UNDO_KINDS] = {
    [UNDO_RUN] = on_run_record,
    [UNDO_BEGIN] = on_begin,
    [UNDO_IMAGE] = on_image,
    [UNDO_LEFT] = on_left,
    [UNDO_NOTE] = on_note,
    [UNDO_END] = on_end_record,
    [UNDO_RESTORED] = on_restored_record,
    [UNDO_REVERTED] = on_reverted_record,
    [UNDO_SEAL] = on_seal,
};

static int read_undo_record(struct reader *reader, struct str payload, unsigned version,
                            struct err *err)
{
    struct undo_record record;
    enum undo_kind kind;

    if (undo_record_decode(reader->arena, payload, version, &kind, &record, err) < 0)
        return -1;
    if (version == UNDO_VERSION_OLD && kind == UNDO_BEGIN)
        record.state = (uint32_t)reader->run->states.n;
    if (!handlers[kind](reader, &record))
        return err_set(err, ERR_INVALID, "a record that contradicts earlier ones");
    reader->sequence++;
    return 0;
}

/* --- a journal ------------------------------------------------------------------------- */

/* Damage is reported in `gaps`, except a torn tail: either the run was killed, or the seal tells
 * what is missing. Returns the offset of the tail. */
static size_t read_frames(struct reader *reader, struct frame_scan *scan)
{
    struct frame frame;
    struct err err;

    for (;;) {
        switch (frame_next(scan, &frame)) {
        case FRAME_WHOLE:
            if (read_undo_record(reader, frame.payload, frame.version, &err) < 0)
                add_gap(reader, frame.offset, frame.size, err.text);
            break;
        case FRAME_DAMAGE:
            add_gap(reader, frame.offset, frame.size, "the checksum does not match");
            break;
        case FRAME_TORN:
        case FRAME_END: return frame.offset;
        }
    }
}

/* The run was killed before it had written anything worth reading. */
static bool is_torn(struct str journal)
{
    struct frame_scan scan = { .bytes = journal };
    struct frame frame;
    const enum frame_step step = frame_next(&scan, &frame);

    return step == FRAME_TORN || step == FRAME_END;
}

void undo_decode(struct arena *arena, struct str journal, struct undo_run *ret_run)
{
    struct reader reader = { .arena = arena, .run = ret_run };
    struct frame_scan scan;
    struct err err;

    if (frame_file_open(&scan, journal, UNDO_JOURNAL_PURPOSE, &err) == 0)
        (void)read_frames(&reader, &scan);
    else if (!is_torn(journal))
        add_gap(&reader, 0, journal.n, err.text);
    ret_run->records = reader.sequence;
}

/* States are numbered by position here, so nothing after a damaged record can be
 * relied on. */
void undo_decode_old(struct arena *arena, struct str journal, struct undo_run *ret_run)
{
    struct reader reader = { .arena = arena, .run = ret_run };
    struct str rest = journal, payload;
    struct err err;

    while (rest.n > 0) {
        const size_t offset = journal.n - rest.n, left = rest.n;

        if (!undo_record_next_old(&rest, &payload)) {
            add_gap(&reader, offset, left, "the checksum does not match, or it is truncated");
            break;
        }
        if (read_undo_record(&reader, payload, UNDO_VERSION_OLD, &err) < 0) {
            add_gap(&reader, offset, left, err.text);
            break;
        }
    }
    ret_run->records = reader.sequence;
}

/* --- the other files ------------------------------------------------------------------- */

static int read_seal(struct arena *arena, struct undo_run *run, bool *ret_found, struct err *err)
{
    struct reader reader = { .arena = arena, .run = run };
    const size_t gaps = run->gaps.n;
    struct frame_scan scan = { 0 };

    if (fs_read(arena, path_join(arena, run->place.folder, UNDO_SEAL_NAME), SEAL_SIZE_MAX,
                &scan.bytes, err) < 0)
        return -1;
    *ret_found = scan.bytes.p != NULL;
    if (!scan.bytes.p)
        return 0;
    (void)read_frames(&reader, &scan);
    if (reader.lost > 0) { /* gaps of a run are those of its journal */
        run->gaps.n = gaps;
        add_gap(&reader, 0, scan.bytes.n, "the seal of the journal is damaged");
    }
    return 0;
}

/* A damaged mark means that a state is reverted once more, which is harmless. */
static int read_marks(struct arena *arena, struct undo_run *run, struct err *err)
{
    struct undo_run ignored_gaps = *run;
    struct reader reader = { .arena = arena, .run = &ignored_gaps };
    struct frame_scan scan;
    struct str bytes;
    struct err ignored;

    if (fs_read(arena, path_join(arena, run->place.folder, UNDO_MARKS_NAME), UNDO_JOURNAL_MAX,
                &bytes, err) < 0)
        return -1;
    if (!bytes.p || frame_file_open(&scan, bytes, UNDO_MARKS_PURPOSE, &ignored) < 0)
        return 0;
    run->marks_size = read_frames(&reader, &scan);
    run->marks_salt = scan.salt;
    run->reverted |= ignored_gaps.reverted;
    return 0;
}

int undo_load(struct arena *arena, const struct undo_place *place, struct undo_run *ret_run,
              struct err *err)
{
    struct undo_run run = { .place = *place, .function = "", .by = "" };
    bool has_seal = false;
    struct str journal;

    if (fs_read(arena, path_join(arena, place->folder, UNDO_JOURNAL_NAME), UNDO_JOURNAL_MAX,
                &journal, err) < 0)
        return -1;
    if (place->number == 0 && journal.p)
        undo_decode_old(arena, journal, &run);
    else if (journal.p)
        undo_decode(arena, journal, &run);
    if (read_seal(arena, &run, &has_seal, err) < 0)
        return -1;
    if (!journal.p && !has_seal)
        return err_set(err, ERR_NOT_FOUND, "no run '%s' is recorded", place->id);
    if (read_marks(arena, &run, err) < 0)
        return -1;
    *ret_run = run;
    return 0;
}

int undo_read(struct arena *arena, const char *data_dir, const char *run_id,
              struct undo_run *ret_run, struct err *err)
{
    struct undo_places places;
    struct ksuid ksuid;

    if (ksuid_parse(str_from(run_id), &ksuid, err) < 0)
        return err_wrap(err, "'%s' is not a valid run ID", run_id);
    if (undo_list(arena, data_dir, &places, err) < 0)
        return -1;
    VEC_EACH (&places.list, place)
        if (strcmp(place->id, run_id) == 0)
            return undo_load(arena, place, ret_run, err);
    return err_set(err, ERR_NOT_FOUND, "no run '%s' is recorded", run_id);
}

/* --- what it did ------------------------------------------------------------------------ */

bool undo_entry_acted(const struct undo_entry *entry)
{
    return entry->images.n > 0 || entry->notes->count > 0 || !entry->ended ||
           entry->outcome == OUTCOME_CHANGED;
}

bool undo_acted(const struct undo_run *run)
{
    VEC_EACH (&run->states, entry)
        if (undo_entry_acted(entry))
            return true;
    return undo_is_damaged(run);
}

/* --- damage ---------------------------------------------------------------------------- */

bool undo_is_damaged(const struct undo_run *run)
{
    return run->gaps.n > 0 || run->missing > 0;
}

const char *undo_describe_loss(struct arena *arena, const struct undo_run *run,
                               const struct undo_entry *entry)
{
    if (!undo_is_damaged(run) || (entry->ended && entry->missing == 0 && !entry->lost))
        return NULL;
    if (entry->lost)
        return "its begin record in the undo journal is damaged: only files were restored";
    if (!entry->ended)
        return "its end record in the undo journal is missing: some of its changes may not be "
               "restored";
    return arena_printf(arena,
                        "%llu of its %llu records in the undo journal are lost: not all of its "
                        "changes are restored",
                        (unsigned long long)entry->missing,
                        (unsigned long long)(entry->missing + entry->records));
}

const char *undo_describe_damage(struct arena *arena, const struct undo_run *run)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < run->gaps.n && i < GAPS_TOLD; i++)
        buf_printf(&out, "%s%zu bytes at offset %zu cannot be read (%s)", i > 0 ? ", " : "",
                   run->gaps.p[i].size, run->gaps.p[i].offset, run->gaps.p[i].why);
    if (run->gaps.n > GAPS_TOLD)
        buf_printf(&out, " and %zu more places", run->gaps.n - GAPS_TOLD);
    if (run->missing > 0)
        buf_printf(&out, "%s%llu of its %llu records are lost", out.n > 0 ? "; " : "",
                   (unsigned long long)run->missing,
                   (unsigned long long)(run->missing + run->records));
    return buf_copy(&out, arena).p;
}
