#include "fleet/update/keeper.h"

#include <stdio.h>
#include <string.h>

#include "core/base/err.h"

#define NEVER INT64_MAX

static struct keeper_slot *find_keeper_slot(struct keeper *keeper, enum keeper_place place)
{
    return &keeper->record.slots[place];
}

static void clear_slot(struct keeper *keeper, enum keeper_place place)
{
    *find_keeper_slot(keeper, place) = (struct keeper_slot){ 0 };
}

static void move_slot(struct keeper *keeper, enum keeper_place from, enum keeper_place to)
{
    *find_keeper_slot(keeper, to) = *find_keeper_slot(keeper, from);
    clear_slot(keeper, from);
}

static int64_t now_of(const struct keeper *keeper)
{
    return keeper->world->now(keeper->self);
}

static int64_t compute_deadline(const struct keeper *keeper, int64_t ns)
{
    const int64_t now = now_of(keeper);

    return ns > NEVER - now ? NEVER : now + ns;
}

static void copy_note(char note[static KEEPER_NOTE_SIZE], const char *text)
{
    (void)snprintf(note, KEEPER_NOTE_SIZE, "%.*s", KEEPER_NOTE_SIZE - 1, text);
}

/* The version in this slot has failed. */
static void set_note(struct keeper *keeper, enum keeper_place place, const char *text)
{
    copy_note(keeper->record.note, text);
    memcpy(keeper->record.failed, find_keeper_slot(keeper, place)->version,
           sizeof(keeper->record.failed));
}

/* Several things wait for a time; the world knows the earliest. */
static void wait_on(struct keeper *keeper)
{
    int64_t at = NEVER;

    if (keeper->child == KEEPER_DOWN && !keeper->is_ending)
        at = keeper->restart_at;
    if (keeper->record.state == UPDATE_SOAKING) {
        if (!keeper->is_probing && keeper->probe_at < at)
            at = keeper->probe_at;
        if (keeper->confirm_by < at)
            at = keeper->confirm_by;
    }
    keeper->world->wake(keeper->self, at);
}

/* The only writer of the state. What cannot be written down is not done. */
static int enter_state(struct keeper *keeper, enum update_state state, const char *words,
                       struct err *err)
{
    const enum update_state before = keeper->record.state;

    keeper->record.state = state;
    if (keeper->world->save(keeper->self, &keeper->record, err) < 0) {
        keeper->record.state = before;
        return -1;
    }
    keeper->world->changed(keeper->self, words);
    return 0;
}

/* A step that is done already: a record that lags behind is put right by keeper_recover. */
static void arrive_at_state(struct keeper *keeper, enum update_state state, const char *words)
{
    struct err err;

    if (enter_state(keeper, state, words, &err) == 0)
        return;
    keeper->record.state = state;
    keeper->world->changed(keeper->self, err.text);
}

/* --- the daemon ---------------------------------------------------------------------- */

static int64_t pause_before_restart(struct keeper *keeper)
{
    int64_t pause = keeper->times.backoff_min;

    if (keeper->failures >= keeper->times.degraded_after)
        return keeper->times.degraded_retry;
    for (int32_t i = 1; i < keeper->failures && pause < keeper->times.backoff_max; i++)
        pause *= 2;
    return pause < keeper->times.backoff_max ? pause : keeper->times.backoff_max;
}

static void count_failure(struct keeper *keeper)
{
    keeper->failures++;
    keeper->restart_at = compute_deadline(keeper, pause_before_restart(keeper));
    if (keeper->failures >= keeper->times.degraded_after && !keeper->degraded) {
        keeper->degraded = true;
        keeper->world->changed(keeper->self, "the daemon does not stay up, node is degraded");
    }
}

static void start_child(struct keeper *keeper)
{
    struct err err;

    if (keeper->is_ending || keeper->child != KEEPER_DOWN)
        return;
    keeper->started = now_of(keeper);
    if (keeper->world->start(keeper->self, &err) < 0) {
        keeper->world->changed(keeper->self, err.text);
        count_failure(keeper);
        return;
    }
    keeper->child = KEEPER_UP;
}

static void stop_child(struct keeper *keeper)
{
    if (keeper->child != KEEPER_UP)
        return;
    keeper->child = KEEPER_STOPPING;
    keeper->world->stop(keeper->self);
}

int64_t keeper_uptime(const struct keeper *keeper)
{
    return keeper->child == KEEPER_DOWN ? 0 : now_of(keeper) - keeper->started;
}

/* --- steps --------------------------------------------------------------------------- */

static void begin_soak(struct keeper *keeper)
{
    const int64_t soak = keeper->record.soak;
    int64_t within = keeper->times.confirm_within;

    if (within == 0)
        within =
            soak > KEEPER_CONFIRM_MIN / KEEPER_SOAKS ? soak * KEEPER_SOAKS : KEEPER_CONFIRM_MIN;
    keeper->ready_since = 0;
    keeper->misses = keeper->failures = 0;
    keeper->degraded = keeper->was_ready = keeper->soak_passed = keeper->is_probing = false;
    keeper->probe_at = compute_deadline(keeper, keeper->times.probe_interval);
    keeper->confirm_by = compute_deadline(keeper, within);
}

/* The daemon is down: swap, and let the new one prove itself. */
static void swap_slots_in(struct keeper *keeper)
{
    struct err err;

    if (keeper->world->swap_in(keeper->self, &err) < 0) {
        set_note(keeper, KEEPER_STAGING, err.text);
        arrive_at_state(keeper, UPDATE_STAGED, "the new version cannot be put in place");
    } else {
        move_slot(keeper, KEEPER_CURRENT, KEEPER_PREV);
        move_slot(keeper, KEEPER_STAGING, KEEPER_CURRENT);
        keeper->record.soak_starts = 0;
        arrive_at_state(keeper, UPDATE_SOAKING, "the new version is in place and soaks");
        begin_soak(keeper);
    }
    start_child(keeper);
}

static void swap_slots_back(struct keeper *keeper)
{
    struct err err;

    keeper->failures = 0;
    keeper->degraded = false;
    if (keeper->world->swap_back(keeper->self, &err) < 0) {
        set_note(keeper, KEEPER_CURRENT, err.text);
        arrive_at_state(keeper, UPDATE_IDLE, "cannot roll back, running the current version");
    } else {
        move_slot(keeper, KEEPER_PREV, KEEPER_CURRENT);
        arrive_at_state(keeper, UPDATE_IDLE, "rolled back");
    }
    start_child(keeper);
}

/* Continues once the daemon is down. */
static void go_on_down(struct keeper *keeper)
{
    if (keeper->is_ending)
        return;
    if (keeper->record.state == UPDATE_APPLYING)
        swap_slots_in(keeper);
    else if (keeper->record.state == UPDATE_ROLLING_BACK)
        swap_slots_back(keeper);
}

static void stop_and_go_on(struct keeper *keeper)
{
    stop_child(keeper);
    if (keeper->child == KEEPER_DOWN)
        go_on_down(keeper);
}

static void roll_back(struct keeper *keeper, const char *why)
{
    struct err err;

    set_note(keeper, KEEPER_CURRENT, why);
    if (enter_state(keeper, UPDATE_ROLLING_BACK, why, &err) < 0) {
        /* A full disk must not keep a bad version: the swap alone needs no room. */
        keeper->record.state = UPDATE_ROLLING_BACK;
        keeper->world->changed(keeper->self, err.text);
    }
    stop_and_go_on(keeper);
}

static void drop_staged(struct keeper *keeper, const char *words)
{
    keeper->world->discard(keeper->self);
    clear_slot(keeper, KEEPER_STAGING);
    arrive_at_state(keeper, UPDATE_IDLE, words);
}

/* --- commands ------------------------------------------------------------------------ */

typedef int command_fn(struct keeper *keeper, const struct update_command *command,
                       struct err *err);

static bool is_commanded_slot(const struct keeper_slot *slot, const struct update_command *command)
{
    return strcmp(slot->version, command->version) == 0 &&
           (!command->sha256[0] || strcmp(slot->sha256, command->sha256) == 0);
}

static int refuse_busy(struct keeper *keeper, const struct update_command *command, struct err *err)
{
    return err_set(err, ERR_BUSY, "cannot %s: this node is %s version '%s'",
                   update_verb_name(command->verb), update_state_name(keeper->record.state),
                   find_keeper_slot(keeper, keeper->record.state == UPDATE_SOAKING ? KEEPER_CURRENT
                                                                                   : KEEPER_STAGING)
                       ->version);
}

static int refuse_unstaged(struct keeper *keeper, const struct update_command *command,
                           struct err *err)
{
    (void)keeper;
    return err_set(err, ERR_NOT_FOUND, "cannot %s: version '%s' is not staged",
                   update_verb_name(command->verb), command->version);
}

static int ignore_command(struct keeper *keeper, const struct update_command *command,
                          struct err *err)
{
    (void)keeper;
    (void)command;
    (void)err;
    return 0;
}

static int prepare_update(struct keeper *keeper, const struct update_command *command,
                          struct err *err)
{
    struct keeper_slot *staging = find_keeper_slot(keeper, KEEPER_STAGING);

    if (is_commanded_slot(find_keeper_slot(keeper, KEEPER_CURRENT), command))
        return 0; /* it runs already */
    keeper->world->discard(keeper->self);
    (void)snprintf(staging->version, sizeof(staging->version), "%s", command->version);
    (void)snprintf(staging->sha256, sizeof(staging->sha256), "%s", command->sha256);
    keeper->record.soak = command->soak > 0 ? command->soak : keeper->times.soak;
    keeper->record.note[0] = keeper->record.failed[0] = '\0';
    if (enter_state(keeper, UPDATE_PREPARING, "fetching a new version", err) < 0) {
        clear_slot(keeper, KEEPER_STAGING);
        return -1;
    }
    keeper->world->fetch(keeper->self, command);
    return 0;
}

static int prepare_other(struct keeper *keeper, const struct update_command *command,
                         struct err *err)
{
    if (is_commanded_slot(find_keeper_slot(keeper, KEEPER_STAGING), command))
        return 0;
    if (keeper->record.state == UPDATE_PREPARING)
        keeper->world->cancel_fetch(keeper->self);
    return prepare_update(keeper, command, err);
}

static int apply_update(struct keeper *keeper, const struct update_command *command,
                        struct err *err)
{
    if (!is_commanded_slot(find_keeper_slot(keeper, KEEPER_STAGING), command))
        return refuse_unstaged(keeper, command, err);
    if (command->soak > 0)
        keeper->record.soak = command->soak;
    if (enter_state(keeper, UPDATE_APPLYING, "applying the new version", err) < 0)
        return -1;
    stop_and_go_on(keeper);
    return 0;
}

/* Told a second time: fine, if it is about the version that runs. */
static int apply_again(struct keeper *keeper, const struct update_command *command, struct err *err)
{
    return is_commanded_slot(find_keeper_slot(keeper, KEEPER_CURRENT), command)
               ? 0
               : refuse_unstaged(keeper, command, err);
}

static int confirm_update(struct keeper *keeper, const struct update_command *command,
                          struct err *err)
{
    if (!is_commanded_slot(find_keeper_slot(keeper, KEEPER_CURRENT), command))
        return refuse_busy(keeper, command, err);
    if (!keeper->soak_passed)
        return err_set(err, ERR_BUSY, "version '%s' has not passed its soak time yet",
                       command->version);
    return enter_state(keeper, UPDATE_CONFIRMED, "the new version is confirmed", err);
}

static int drop_update(struct keeper *keeper, const struct update_command *command, struct err *err)
{
    (void)command;
    (void)err;
    if (keeper->record.state == UPDATE_PREPARING)
        keeper->world->cancel_fetch(keeper->self);
    drop_staged(keeper, "the staged version is dropped");
    return 0;
}

static int go_back(struct keeper *keeper, const struct update_command *command, struct err *err)
{
    if (command->version[0] &&
        !is_commanded_slot(find_keeper_slot(keeper, KEEPER_CURRENT), command))
        return err_set(err, ERR_NOT_FOUND, "version '%s' is not the one that runs",
                       command->version);
    if (!find_keeper_slot(keeper, KEEPER_PREV)->sha256[0])
        return err_set(err, ERR_NOT_FOUND, "there is no previous version to go back to");
    roll_back(keeper, "rolled back by a command");
    return 0;
}

/* clang-format off */
static command_fn *const commands[UPDATE_STATES][UPDATE_VERBS] = {
    [UPDATE_IDLE]         = { prepare_update,       apply_again, refuse_unstaged, ignore_command, ignore_command },
    [UPDATE_PREPARING]    = { prepare_other, refuse_busy, refuse_busy,     drop_update,       ignore_command },
    [UPDATE_STAGED]       = { prepare_other, apply_update,       refuse_busy,     drop_update,       ignore_command },
    [UPDATE_APPLYING]     = { refuse_busy,   ignore_command,  refuse_busy,     refuse_busy, ignore_command },
    [UPDATE_SOAKING]      = { refuse_busy,   apply_again, confirm_update,         go_back,    ignore_command },
    [UPDATE_CONFIRMED]    = { prepare_update,       apply_again, apply_again,     go_back,    ignore_command },
    [UPDATE_ROLLING_BACK] = { refuse_busy,   refuse_busy, refuse_busy,     ignore_command, ignore_command },
};
/* clang-format on */

/* Which version a response speaks of: the one that is coming, or the one that must prove itself. */
static const struct keeper_slot *pending_slot(struct keeper *keeper)
{
    static const struct keeper_slot none;

    switch (keeper->record.state) {
    case UPDATE_PREPARING:
    case UPDATE_STAGED:
    case UPDATE_APPLYING: return find_keeper_slot(keeper, KEEPER_STAGING);
    case UPDATE_SOAKING:
    case UPDATE_CONFIRMED: return find_keeper_slot(keeper, KEEPER_CURRENT);
    case UPDATE_IDLE:
    case UPDATE_ROLLING_BACK: break;
    }
    return &none;
}

void keeper_command(struct keeper *keeper, const struct update_command *command,
                    struct update_response *ret)
{
    const struct keeper_slot *pending;
    struct err err = { 0 };
    int result = commands[keeper->record.state][command->verb](keeper, command, &err);

    copy_note(keeper->said, result < 0                       ? err.text
                            : command->verb == UPDATE_STATUS ? keeper->record.note
                                                             : "");
    pending = pending_slot(keeper);
    *ret = (struct update_response){
        .status = result < 0 ? UPDATE_ERROR : UPDATE_OK,
        .version = pending->version,
        .hash = pending->sha256,
        .error = keeper->said,
        .failed_version = keeper->record.failed,
        .state = keeper->record.state,
        .uptime = keeper_uptime(keeper),
        .running_version = find_keeper_slot(keeper, KEEPER_CURRENT)->version,
        .soak_passed = keeper->record.state == UPDATE_SOAKING && keeper->soak_passed,
    };
    wait_on(keeper);
}

/* --- what happens -------------------------------------------------------------------- */

void keeper_fetched(struct keeper *keeper, const char *error)
{
    if (keeper->record.state != UPDATE_PREPARING)
        return;
    if (error) {
        set_note(keeper, KEEPER_STAGING, error);
        drop_staged(keeper, error);
    } else {
        arrive_at_state(keeper, UPDATE_STAGED, "the new version is staged");
    }
    wait_on(keeper);
}

void keeper_exited(struct keeper *keeper, const char *how)
{
    const bool was_asked = keeper->child == KEEPER_STOPPING;
    const bool was_stable = keeper_uptime(keeper) >= keeper->times.stable_after;

    keeper->child = KEEPER_DOWN;
    keeper->ready_since = 0;
    if (was_asked || keeper->is_ending) {
        go_on_down(keeper);
        wait_on(keeper);
        return;
    }
    if (was_stable) {
        keeper->failures = 0;
        keeper->degraded = false;
    }
    keeper->world->changed(keeper->self, how);
    count_failure(keeper);
    if (keeper->record.state == UPDATE_SOAKING && keeper->failures >= keeper->times.retries)
        roll_back(keeper, "the new version does not stay up");
    wait_on(keeper);
}

static void count_ready(struct keeper *keeper)
{
    const int64_t now = now_of(keeper);

    keeper->misses = 0;
    if (keeper->ready_since == 0)
        keeper->ready_since = now;
    if (!keeper->soak_passed && now - keeper->ready_since >= keeper->record.soak) {
        keeper->soak_passed = true;
        keeper->world->changed(keeper->self, "the new version has passed its soak time");
    }
    keeper->was_ready = true;
}

static void count_miss(struct keeper *keeper)
{
    const bool is_late = keeper_uptime(keeper) >= keeper->times.start_within;

    keeper->ready_since = 0;
    keeper->misses++;
    if (keeper->misses >= keeper->times.retries && (keeper->was_ready || is_late))
        roll_back(keeper, keeper->was_ready ? "the new version is no longer ready"
                                            : "the new version does not become ready");
}

void keeper_probed(struct keeper *keeper, enum keeper_probe result)
{
    if (!keeper->is_probing)
        return;
    keeper->is_probing = false;
    if (keeper->record.state != UPDATE_SOAKING)
        return;
    keeper->probe_at = compute_deadline(keeper, keeper->times.probe_interval);
    if (result == KEEPER_READY)
        count_ready(keeper);
    else if (result == KEEPER_NOT_READY && !keeper->world->has_bus(keeper->self))
        keeper->ready_since = 0; /* not ready because of the bus */
    else if (keeper->child == KEEPER_UP)
        count_miss(keeper);
    wait_on(keeper);
}

static void restart_update(struct keeper *keeper)
{
    if (keeper->record.state == UPDATE_ROLLING_BACK || keeper->record.state == UPDATE_APPLYING)
        go_on_down(keeper);
    else
        start_child(keeper);
}

void keeper_tick(struct keeper *keeper)
{
    const int64_t now = now_of(keeper);

    if (keeper->child == KEEPER_DOWN && !keeper->is_ending && now >= keeper->restart_at)
        restart_update(keeper);
    if (keeper->record.state == UPDATE_SOAKING && now >= keeper->confirm_by)
        roll_back(keeper, "the new version was not confirmed in time");
    if (keeper->record.state == UPDATE_SOAKING && !keeper->is_probing && now >= keeper->probe_at) {
        keeper->is_probing = true;
        keeper->world->probe(keeper->self);
    }
    wait_on(keeper);
}

bool keeper_end(struct keeper *keeper)
{
    keeper->is_ending = true;
    stop_child(keeper);
    wait_on(keeper);
    return keeper->child == KEEPER_DOWN;
}

bool keeper_is_over(const struct keeper *keeper)
{
    return keeper->is_ending && keeper->child == KEEPER_DOWN;
}

/* --- beginning ------------------------------------------------------------------------ */

void keeper_init(struct keeper *keeper, const struct keeper_world *world, void *self,
                 const struct keeper_times *times)
{
    *keeper = (struct keeper){ .world = world, .self = self, .times = *times };
}

static bool has_hash(const struct keeper *keeper, enum keeper_place place, const char *seen)
{
    return seen[0] && strcmp(keeper->record.slots[place].sha256, seen) == 0;
}

/* The swap was the last step before the crash, or was not reached. */
static void recover_apply(struct keeper *keeper, const char *const seen[static KEEPER_PLACES])
{
    if (strcmp(find_keeper_slot(keeper, KEEPER_STAGING)->sha256, seen[KEEPER_CURRENT]) == 0) {
        move_slot(keeper, KEEPER_CURRENT, KEEPER_PREV);
        move_slot(keeper, KEEPER_STAGING, KEEPER_CURRENT);
        keeper->record.state = UPDATE_SOAKING;
        keeper->record.soak_starts = 0;
    } else {
        keeper->record.state = UPDATE_STAGED;
    }
}

static void recover_rollback(struct keeper *keeper, const char *const seen[static KEEPER_PLACES])
{
    if (has_hash(keeper, KEEPER_PREV, seen[KEEPER_PREV]))
        return; /* still to do */
    if (strcmp(find_keeper_slot(keeper, KEEPER_PREV)->sha256, seen[KEEPER_CURRENT]) == 0)
        move_slot(keeper, KEEPER_PREV, KEEPER_CURRENT);
    keeper->record.state = UPDATE_IDLE;
}

static void recover_soak(struct keeper *keeper, const char *const seen[static KEEPER_PLACES])
{
    if (++keeper->record.soak_starts < KEEPER_SOAK_STARTS ||
        !has_hash(keeper, KEEPER_PREV, seen[KEEPER_PREV]))
        return;
    set_note(keeper, KEEPER_CURRENT,
             "the watchdog was started too often while the new version soaked");
    keeper->record.state = UPDATE_ROLLING_BACK;
}

/* Without what was staged there is nothing to apply. */
static void recover_staging(struct keeper *keeper, const char *const seen[static KEEPER_PLACES])
{
    if (keeper->record.state == UPDATE_PREPARING ||
        (keeper->record.state == UPDATE_STAGED &&
         !has_hash(keeper, KEEPER_STAGING, seen[KEEPER_STAGING])))
        keeper->record.state = UPDATE_IDLE;
    if (keeper->record.state != UPDATE_STAGED)
        clear_slot(keeper, KEEPER_STAGING);
}

int keeper_recover(struct keeper *keeper, const struct keeper_record *record,
                   const char *const seen[static KEEPER_PLACES], struct err *err)
{
    keeper->record = *record;
    if (!seen[KEEPER_CURRENT][0] && !seen[KEEPER_PREV][0])
        return err_set(err, ERR_NOT_FOUND, "there is no binary to run");
    if (!seen[KEEPER_CURRENT][0]) {
        set_note(keeper, KEEPER_CURRENT, "the current slot was empty");
        keeper->record.state = UPDATE_ROLLING_BACK;
    } else if (keeper->record.state == UPDATE_APPLYING) {
        recover_apply(keeper, seen);
    } else if (keeper->record.state == UPDATE_ROLLING_BACK) {
        recover_rollback(keeper, seen);
    }
    if (keeper->record.state == UPDATE_SOAKING)
        recover_soak(keeper, seen);
    recover_staging(keeper, seen);
    return 0;
}

void keeper_begin(struct keeper *keeper)
{
    arrive_at_state(keeper, keeper->record.state, "watching");
    if (keeper->record.state != UPDATE_STAGED)
        keeper->world->discard(keeper->self);
    if (keeper->record.state == UPDATE_SOAKING)
        begin_soak(keeper);
    restart_update(keeper);
    wait_on(keeper);
}
