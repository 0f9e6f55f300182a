#include "states/run/lastrun.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "states/state/outcome.h"
#include "states/state/report.h"
#include "states/state/secrets.h"
#include "core/runs/record_log.h"
#include "core/runs/standing.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define PURPOSE         "last runs"
#define LASTRUN_VERSION 1

static const char *const outcome_words[] = {
    [OUTCOME_UNCHANGED] = "unchanged",
    [OUTCOME_CHANGED] = "changed",
    [OUTCOME_FAILED] = "failed",
    [OUTCOME_SKIPPED] = "skipped",
};

/* clang-format off */
#define ARGS struct lastrun
static const struct record_field lastrun_fields[] = {
    RECORD("id",        TEXT,  ARGS, id, RECORD_OMIT, .fallback_text = ""),
    RECORD("function",  TEXT,  ARGS, function, 0, .fallback_text = ""),
    RECORD("refs",      TEXTS, ARGS, refs, RECORD_OMIT),
    RECORD("time",      TIME,  ARGS, time, 0),
    RECORD("converged", TIME,  ARGS, converged, RECORD_OMIT),
    RECORD("test",      BOOL,  ARGS, test, RECORD_OMIT),
    RECORD("success",   BOOL,  ARGS, success, 0),
    RECORD("looked",    BOOL,  ARGS, looked, RECORD_OMIT),
    RECORD("stale",     BOOL,  ARGS, stale, RECORD_OMIT),
    RECORD("states",    INT,   ARGS, states, 0),
    RECORD("changed",   INT,   ARGS, changed, RECORD_OMIT),
    RECORD("failed",    INT,   ARGS, failed, RECORD_OMIT),
    RECORD("skipped",   INT,   ARGS, skipped, RECORD_OMIT),
    RECORD("would_change_again", INT, ARGS, again, RECORD_OMIT),
    RECORD("differs",   TEXTS, ARGS, differs, RECORD_OMIT),
    RECORD("error",     TEXT,  ARGS, error, RECORD_OMIT, .fallback_text = ""),
    RECORD("duration",  INT,   ARGS, duration, RECORD_OMIT),
    { 0 },
};
#undef ARGS
const struct record_type lastrun_type = RECORD_TYPE("last run", struct lastrun, lastrun_fields, RECORD_LENIENT);

#define ARGS struct lastrun_state
static const struct record_field state_fields[] = {
    RECORD("name",     TEXT, ARGS, name, 0, .fallback_text = ""),
    RECORD("level",    INT,  ARGS, level, RECORD_OMIT),
    RECORD("outcome",  WORD, ARGS, outcome, 0, RECORD_WORDS(outcome_words)),
    RECORD("duration", INT,  ARGS, duration, RECORD_OMIT),
    RECORD("error",    TEXT, ARGS, error, RECORD_OMIT, .fallback_text = ""),
    RECORD("reason",   TEXT, ARGS, reason, RECORD_OMIT, .fallback_text = ""),
    RECORD("cause",    TEXT, ARGS, cause, RECORD_OMIT, .fallback_text = ""),
    RECORD("would_change_again", TEXT, ARGS, again, RECORD_OMIT, .fallback_text = ""),
    RECORD("diff",     TEXT, ARGS, diff, RECORD_OMIT, .fallback_text = ""),
    RECORD("needs",    ANY,  ARGS, needs, RECORD_OMIT),
    { 0 },
};
#undef ARGS
static const struct record_type state_type = RECORD_TYPE("state of the last run", struct lastrun_state, state_fields, RECORD_LENIENT);

static const struct record_field states_fields[] = {
    RECORD("id",     TEXT, struct lastrun_states, id, 0, .fallback_text = ""),
    RECORD("states", LIST, struct lastrun_states, list, 0, .inner = &state_type),
    { 0 },
};
const struct record_type lastrun_states_type = RECORD_TYPE("states of the last run", struct lastrun_states, states_fields, RECORD_LENIENT);
/* clang-format on */

/* --- summaries ---------------------------------------------------------------------- */

/* At a boundary of characters. */
static const char *cut_result_text(struct arena *arena, const char *text)
{
    struct str all = str_from(text);
    struct str kept = str_slice(all, 0, LASTRUN_TEXT_MAX);

    if (all.n <= LASTRUN_TEXT_MAX)
        return text;
    kept.n = utf8_valid_length(kept);
    return arena_str(arena, kept).p;
}

static void bound_texts(struct arena *arena, struct param_strs *texts)
{
    const char **cut = ARENA_ARRAY(arena, const char *, LASTRUN_NAMES);

    if (texts->n > LASTRUN_NAMES)
        texts->n = LASTRUN_NAMES;
    for (size_t i = 0; i < texts->n; i++)
        cut[i] = cut_result_text(arena, texts->p[i]);
    texts->p = cut;
}

/* An impossible time is 0. */
static void bound_time(struct value_time *time)
{
    if (time->seconds < 0 || time->seconds > INT64_MAX / CLOCK_SECOND - 1)
        *time = (struct value_time){ 0 };
}

void lastrun_bound(struct lastrun *run, struct arena *arena)
{
    bound_time(&run->time);
    bound_time(&run->converged);
    bound_texts(arena, &run->refs);
    bound_texts(arena, &run->differs);
    run->id = cut_result_text(arena, run->id);
    run->function = cut_result_text(arena, run->function);
    run->error = cut_result_text(arena, run->error);
}

uint32_t lastrun_count_differs(const struct lastrun *run)
{
    return run->failed + run->again + (run->test ? run->changed : 0);
}

static bool is_different(const struct run_result *result, const struct state_result *state)
{
    return (state->outcome == OUTCOME_FAILED && !state->handler) || state->again ||
           (result->test && state->outcome == OUTCOME_CHANGED);
}

static void count_states(struct arena *arena, const struct run_result *result, struct lastrun *run)
{
    const char **names = ARENA_ARRAY(arena, const char *, LASTRUN_NAMES);

    run->states = (uint32_t)result->states.n;
    run->changed = result->changed;
    run->failed = result->failed - result->handled;
    run->skipped = result->skipped;
    run->again = result->again;
    run->looked = result->looked > 0;
    run->duration = result->duration;
    run->differs.p = names;
    for (size_t i = 0; i < result->states.n && run->differs.n < LASTRUN_NAMES; i++)
        if (is_different(result, &result->states.p[i]))
            names[run->differs.n++] = result->states.p[i].name;
}

/* --- files -------------------------------------------------------------------------- */

/* The summary, which is short and often read, and then the states. */
enum { SUMMARY_PART, STATES_PART, PARTS };

static struct record_log make_record_log(struct arena *arena, const char *data_dir)
{
    return (struct record_log){ .path = path_join(arena, data_dir, LASTRUN_FILE),
                                .purpose = PURPOSE,
                                .version = LASTRUN_VERSION,
                                .max = LASTRUN_STATES_MAX };
}

static const char *mask_result_text(struct secrets *secrets, struct arena *arena, const char *text)
{
    return secrets ? secrets_masked(secrets, arena, str_from(text)).p : text;
}

static struct lastrun_state
describe_last_state(struct arena *arena, const struct state_result *state, struct secrets *secrets)
{
    struct lastrun_state stored = {
        .name = state->name,
        .level = state->level,
        .outcome = (int)state->outcome,
        .duration = state->duration,
        .error = state->error ? state->error : "",
        .reason = state->outcome != OUTCOME_SKIPPED ? ""
                  : state->cause                    ? state->cause
                                                    : skip_reason_text(state->skip_reason),
        .cause = state->outcome == OUTCOME_CHANGED && state->cause ? state->cause : "",
        .again = state->again ? state->again : "",
        .diff = state->diff.n > 0 ? arena_str(arena, state->diff).p : "",
        .needs = report_needs(arena, state),
    };

    stored.name = mask_result_text(secrets, arena, stored.name);
    stored.error = mask_result_text(secrets, arena, stored.error);
    stored.reason = mask_result_text(secrets, arena, stored.reason);
    stored.cause = mask_result_text(secrets, arena, stored.cause);
    stored.again = mask_result_text(secrets, arena, stored.again);
    stored.diff = mask_result_text(secrets, arena, stored.diff);
    return stored;
}

static void mask_summary(struct lastrun *run, struct arena *arena, struct secrets *secrets)
{
    const char **names = ARENA_ARRAY(arena, const char *, run->differs.n);

    for (size_t i = 0; i < run->differs.n; i++)
        names[i] = mask_result_text(secrets, arena, run->differs.p[i]);
    run->differs.p = names;
    run->error = mask_result_text(secrets, arena, run->error);
}

/* Differences are left out when all of it is too large. */
static int write_run(struct arena *arena, struct record_log_writer *writer,
                     const struct lastrun *run, const struct run_result *result,
                     struct secrets *secrets, struct err *err)
{
    struct lastrun_states states = { .id = run->id };
    const struct record_part parts[PARTS] = {
        [SUMMARY_PART] = { &lastrun_type, run },
        [STATES_PART] = { &lastrun_states_type, &states },
    };

    if (result)
        VEC_RESERVE_IN(arena, &states.list, result->states.n);
    for (size_t i = 0; result && i < result->states.n; i++)
        VEC_PUSH_IN(arena, &states.list, describe_last_state(arena, &result->states.p[i], secrets));
    if (record_log_add(writer, parts, PARTS, err) == 0)
        return 0;
    if (err->code != ERR_LIMIT)
        return -1;
    VEC_EACH (&states.list, state)
        state->diff = state->again = "";
    return record_log_add(writer, parts, PARTS, err);
}

/* --- standing ----------------------------------------------------------------------- */

static void mark_states(struct arena *arena, const struct run_result *result,
                        struct value_time time, struct secrets *secrets, struct standing_marks *ret)
{
    VEC_RESERVE_IN(arena, &ret->list, result->states.n);
    for (size_t i = 0; i < result->states.n; i++) {
        const struct state_result *state = &result->states.p[i];
        const bool broken = state_result_is_broken(state);
        const char *why = state->error ? state->error : state->cause ? state->cause : "";
        struct standing_mark mark = { .name = mask_result_text(secrets, arena, state->name),
                                      .success = !broken,
                                      .error = "" };

        if (broken)
            mark.error = cut_result_text(arena, mask_result_text(secrets, arena, why));
        if (state->outcome == OUTCOME_CHANGED)
            mark.changed = time;
        if (strlen(mark.name) <= STANDING_NAME_MAX)
            VEC_PUSH_IN(arena, &ret->list, mark);
    }
}

/* The requested references; without any, the top file. */
static void mark_run(struct arena *arena, const struct lastrun *run, struct standing_marks *ret)
{
    struct standing_mark mark = { .name = STANDING_HIGHSTATE,
                                  .success = run->success,
                                  .changed =
                                      run->changed > 0 ? run->time : (struct value_time){ 0 },
                                  .error = run->success    ? ""
                                           : run->error[0] ? run->error
                                           : run->differs.n > 0
                                               ? arena_printf(arena, "%s failed", run->differs.p[0])
                                               : "" };

    if (run->refs.n == 0)
        VEC_PUSH_IN(arena, &ret->list, mark);
    for (size_t i = 0; i < run->refs.n; i++)
        for (struct str left = str_from(run->refs.p[i]); left.p;) {
            mark.name = arena_str(arena, str_trim(str_cut(&left, ','))).p;
            if (mark.name[0])
                VEC_PUSH_IN(arena, &ret->list, mark);
        }
}

/* Record the standing of states, for services that wait for one. */
static int keep_standing(struct arena *arena, const char *data_dir, const struct lastrun *run,
                         const struct run_result *result, struct secrets *secrets, struct err *err)
{
    struct standing ended = { 0 };

    if (result)
        mark_states(arena, result, run->time, secrets, &ended.states);
    mark_run(arena, run, &ended.runs);
    return standing_keep(data_dir, &ended, err);
}

/* Fill the summary without storing it. */
static struct lastrun sum_up(struct arena *arena, const struct lastrun_request *request,
                             const struct run_result *result, const char *error)
{
    const int64_t now = clock_wall();
    struct lastrun run = {
        .id = result && result->run_id ? result->run_id : "",
        .function = request->function,
        .refs = request->refs,
        .time = { now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) },
        .test = request->test,
        .success = result && !error && run_result_is_success(result),
        .error = error ? error : "",
    };

    if (result)
        count_states(arena, result, &run);
    mask_summary(&run, arena, request->secrets);
    lastrun_bound(&run, arena);
    return run;
}

/* Without a match, the time of the last one stays. */
static void find_converged(struct arena *arena, const char *data_dir, struct lastrun *run)
{
    struct lastrun before = { 0 };
    struct err ignored;

    if (run->success && !run->test && run->looked && run->again == 0)
        run->converged = run->time;
    else if (lastrun_read(arena, data_dir, &before, &ignored) == 0)
        run->converged = before.converged;
}

/* --- doubt -------------------------------------------------------------------------- */

static const char *find_doubt_path(struct arena *arena, const char *data_dir)
{
    return path_join(arena, data_dir, LASTRUN_DOUBT_FILE);
}

/* Its time is that of the last change that began. */
int lastrun_doubt(const char *data_dir, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = find_doubt_path(&arena, data_dir);
    const int64_t now = clock_wall();
    struct err ignored;

    if (fs_utimens(path, now, now, &ignored) == 0)
        return 0;
    if (fs_mkdirs(data_dir, 0700, err) < 0)
        return -1;
    return fs_write(path, (struct str){ "", 0 }, 0600, err);
}

static bool is_doubted(struct arena *arena, const char *data_dir, int64_t *ret_time)
{
    struct fs_info info;
    struct err ignored;

    if (fs_lstat(find_doubt_path(arena, data_dir), &info, &ignored) < 0 || info.kind == FS_NONE)
        return false;
    *ret_time = info.mtime;
    return true;
}

/* The results of the run hold for all changes that began before. */
static void settle_doubt(struct arena *arena, const char *data_dir, const struct run_result *result,
                         struct lastrun *run)
{
    struct err ignored; /* then the doubt remains */
    int64_t time;

    if (!is_doubted(arena, data_dir, &time))
        return;
    if (result && run->success && run->looked && time <= result->looked)
        (void)fs_unlink(find_doubt_path(arena, data_dir), &ignored);
    run->stale = is_doubted(arena, data_dir, &time);
}

/* --- keeping ------------------------------------------------------------------------ */

/* False with no error: a dry run makes no folder. */
static int open_lastrun_log(struct record_log_writer *writer, const struct record_log *log,
                            const char *data_dir, bool test, struct err *err)
{
    if (record_log_open(writer, log, err) == 0)
        return 1;
    if (err->code != ERR_NOT_FOUND)
        return -1;
    if (test)
        return 0;
    return fs_mkdirs(data_dir, 0700, err) < 0 || record_log_open(writer, log, err) < 0 ? -1 : 1;
}

/* A dry run may end together with another run, and each would overwrite the other's data; so the
 * file is locked before it is read. */
int lastrun_keep(struct arena *arena, const char *data_dir, const struct lastrun_request *request,
                 const struct run_result *result, const char *error, struct lastrun *ret_run,
                 struct err *err)
{
    const struct record_log log = make_record_log(arena, data_dir);
    struct record_log_writer writer;
    int status;

    *ret_run = sum_up(arena, request, result, error);
    status = open_lastrun_log(&writer, &log, data_dir, request->test, err);
    if (status <= 0)
        return status;
    find_converged(arena, data_dir, ret_run);
    status = 0;
    if (!ret_run->test)
        status = keep_standing(arena, data_dir, ret_run, result, request->secrets, err);
    if (status == 0)
        status = write_run(arena, &writer, ret_run, result, request->secrets, err);
    if (status == 0)
        settle_doubt(arena, data_dir, result, ret_run);
    record_log_close(&writer);
    return status;
}

void lastrun_print_outcome(struct buf *out, const struct lastrun *run)
{
    struct lastrun outcome = *run;
    struct err ignored; /* then there is no digest, which counts as a change */

    outcome.id = "";
    outcome.time = outcome.converged = (struct value_time){ 0 };
    outcome.duration = 0;
    (void)record_encode(out, &lastrun_type, &outcome, &ignored);
}

int lastrun_read(struct arena *arena, const char *data_dir, struct lastrun *ret_run,
                 struct err *err)
{
    const struct record_log log = make_record_log(arena, data_dir);
    int64_t ignored;

    if (record_log_read_first(arena, &log, &lastrun_type, LASTRUN_MAX, ret_run, err) < 0)
        return -1;
    lastrun_bound(ret_run, arena);
    ret_run->stale = is_doubted(arena, data_dir, &ignored);
    return 0;
}

int lastrun_read_states(struct arena *arena, const char *data_dir,
                        struct lastrun_states *ret_states, struct err *err)
{
    const struct record_log log = make_record_log(arena, data_dir);

    return record_log_read_part(arena, &log, &lastrun_states_type, STATES_PART, ret_states, err);
}

int lastrun_read_value(struct arena *arena, const char *data_dir, struct value *ret_value,
                       struct err *err)
{
    struct value_map *map = value_map_new(arena, 3);
    struct lastrun_states states;
    struct lastrun run;
    struct value stored;

    if (lastrun_read(arena, data_dir, &run, err) < 0 ||
        lastrun_read_states(arena, data_dir, &states, err) < 0)
        return -1;
    if (strcmp(states.id, run.id) != 0)
        states = (struct lastrun_states){ .id = run.id };
    stored = record_value(arena, &lastrun_states_type, &states);
    value_map_set(arena, map, value_text("id"), value_text(run.id));
    value_map_set(arena, map, value_text("run"), record_value(arena, &lastrun_type, &run));
    value_map_set(arena, map, value_text("states"), *value_get(&stored, "states"));
    *ret_value = value_map(map);
    return 0;
}
