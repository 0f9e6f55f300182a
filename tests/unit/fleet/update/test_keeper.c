#include "fleet/update/keeper.h"

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "test.h"

#define SECOND INT64_C(1000000000)
#define MINUTE (60 * SECOND)

/* A machine of which only what is done to it is kept, one word for each deed. */
struct fake {
    struct keeper keeper;
    struct keeper_record saved;
    int64_t now, wake;
    char done[512];
    bool no_bus, no_disk, no_swap, no_start;
};

static void note(struct fake *fake, const char *word)
{
    const size_t n = strlen(fake->done);

    (void)snprintf(fake->done + n, sizeof(fake->done) - n, "%s%s", n ? " " : "", word);
}

static int fake_save(void *self, const struct keeper_record *record, struct err *err)
{
    struct fake *fake = self;

    if (fake->no_disk)
        return err_set(err, ERR_SYSTEM, "no space left");
    fake->saved = *record;
    return 0;
}

static void fake_fetch(void *self, const struct update_command *command)
{
    (void)command;
    note(self, "fetch");
}

static void fake_cancel(void *self)
{
    note(self, "cancel");
}

static int fake_swap_in(void *self, struct err *err)
{
    note(self, "swap");
    return ((struct fake *)self)->no_swap ? err_set(err, ERR_SYSTEM, "cannot rename") : 0;
}

static int fake_swap_back(void *self, struct err *err)
{
    note(self, "back");
    return ((struct fake *)self)->no_swap ? err_set(err, ERR_SYSTEM, "cannot rename") : 0;
}

static void fake_discard(void *self)
{
    note(self, "discard");
}

static int fake_start(void *self, struct err *err)
{
    note(self, "start");
    return ((struct fake *)self)->no_start ? err_set(err, ERR_SYSTEM, "cannot run") : 0;
}

static void fake_stop(void *self)
{
    note(self, "stop");
}

static void fake_probe(void *self)
{
    note(self, "probe");
}

static bool fake_has_bus(void *self)
{
    return !((struct fake *)self)->no_bus;
}

static void fake_wake(void *self, int64_t at)
{
    ((struct fake *)self)->wake = at;
}

static int64_t fake_now(void *self)
{
    return ((struct fake *)self)->now;
}

static void fake_changed(void *self, const char *words)
{
    (void)self;
    (void)words;
}

static const struct keeper_world fake_world = {
    .save = fake_save,
    .fetch = fake_fetch,
    .cancel_fetch = fake_cancel,
    .swap_in = fake_swap_in,
    .swap_back = fake_swap_back,
    .discard = fake_discard,
    .start = fake_start,
    .stop = fake_stop,
    .probe = fake_probe,
    .has_bus = fake_has_bus,
    .wake = fake_wake,
    .now = fake_now,
    .changed = fake_changed,
};

static const struct keeper_times times = {
    .soak = MINUTE,
    .start_within = 30 * SECOND,
    .probe_interval = 5 * SECOND,
    .backoff_min = SECOND,
    .backoff_max = MINUTE,
    .degraded_retry = 10 * MINUTE,
    .stable_after = 30 * SECOND,
    .degraded_after = 10,
    .retries = 3,
};

static const struct keeper_record old_record = {
    .state = UPDATE_IDLE,
    .slots = { [KEEPER_CURRENT] = { "1.0", "aa" } },
};

static void begin_with(struct fake *fake, const struct keeper_record *record,
                       const char *const seen[KEEPER_PLACES])
{
    struct err err;

    *fake = (struct fake){ .now = SECOND };
    keeper_init(&fake->keeper, &fake_world, fake, &times);
    CHECK_INT(keeper_recover(&fake->keeper, record, seen, &err), 0);
    keeper_begin(&fake->keeper);
}

static void begin(struct fake *fake)
{
    static const char *const seen[KEEPER_PLACES] = { "aa", "", "" };

    begin_with(fake, &old_record, seen);
    CHECK_STR(fake->done, "discard start");
    fake->done[0] = '\0';
}

static struct update_response tell_about(struct fake *fake, enum update_verb verb,
                                         const char *version)
{
    const struct update_command command = { .verb = verb,
                                            .version = version,
                                            .sha256 = strcmp(version, "2.0") == 0 ? "bb" : "cc",
                                            .object_key = "",
                                            .goos = "",
                                            .goarch = "",
                                            .key = "",
                                            .signature = "" };
    struct update_response response;

    keeper_command(&fake->keeper, &command, &response);
    return response;
}

static struct update_response tell(struct fake *fake, enum update_verb verb)
{
    return tell_about(fake, verb, "2.0");
}

/* Time goes on to what the keeper waits for; probes are answered. */
static void pass(struct fake *fake, int64_t until, enum keeper_probe answer)
{
    while (fake->wake <= until) {
        fake->now = fake->wake;
        keeper_tick(&fake->keeper);
        if (fake->keeper.is_probing)
            keeper_probed(&fake->keeper, answer);
    }
    fake->now = until;
}

static void begin_soak(struct fake *fake)
{
    begin(fake);
    (void)tell(fake, UPDATE_PREPARE);
    keeper_fetched(&fake->keeper, NULL);
    (void)tell(fake, UPDATE_APPLY);
    keeper_exited(&fake->keeper, "ended");
    CHECK_INT(fake->keeper.record.state, UPDATE_SOAKING);
    fake->done[0] = '\0';
}

TEST(a_good_version_goes_from_prepare_to_confirmed)
{
    struct update_response response;
    struct fake fake;

    begin(&fake);
    CHECK_STR(tell(&fake, UPDATE_PREPARE).status, UPDATE_OK);
    CHECK_INT(fake.saved.state, UPDATE_PREPARING);
    keeper_fetched(&fake.keeper, NULL);
    CHECK_INT(fake.saved.state, UPDATE_STAGED);
    CHECK_STR(tell(&fake, UPDATE_APPLY).status, UPDATE_OK);
    CHECK_INT(fake.saved.state, UPDATE_APPLYING);
    keeper_exited(&fake.keeper, "ended");
    CHECK_INT(fake.saved.state, UPDATE_SOAKING);
    CHECK_STR(fake.saved.slots[KEEPER_CURRENT].version, "2.0");
    CHECK_STR(fake.saved.slots[KEEPER_PREV].version, "1.0");
    CHECK_STR(tell(&fake, UPDATE_CONFIRM).status, UPDATE_ERROR);
    pass(&fake, fake.now + 2 * MINUTE, KEEPER_READY);
    response = tell(&fake, UPDATE_STATUS);
    CHECK(response.soak_passed);
    CHECK_STR(response.running_version, "2.0");
    CHECK_STR(tell(&fake, UPDATE_CONFIRM).status, UPDATE_OK);
    CHECK_INT(fake.saved.state, UPDATE_CONFIRMED);
    pass(&fake, fake.now + 60 * MINUTE, KEEPER_SILENT);
    CHECK_INT(fake.keeper.record.state, UPDATE_CONFIRMED);
}

/* What each command does in each state: the state after it, "!" when it is refused. */
TEST(each_command_in_each_state_does_what_the_table_says)
{
    static const struct {
        enum update_state state;
        const char *after[UPDATE_VERBS];
    } cases[] = {
        { UPDATE_IDLE, { "preparing", "!idle", "!idle", "idle", "idle" } },
        { UPDATE_PREPARING, { "preparing", "!preparing", "!preparing", "idle", "preparing" } },
        { UPDATE_STAGED, { "staged", "applying", "!staged", "idle", "staged" } },
        { UPDATE_APPLYING, { "!applying", "applying", "!applying", "!applying", "applying" } },
        { UPDATE_SOAKING, { "!soaking", "soaking", "!soaking", "rolling_back", "soaking" } },
        { UPDATE_CONFIRMED,
          { "confirmed", "confirmed", "confirmed", "rolling_back", "confirmed" } },
        { UPDATE_ROLLING_BACK,
          { "!rolling_back", "!rolling_back", "!rolling_back", "rolling_back", "rolling_back" } },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (enum update_verb verb = UPDATE_PREPARE; verb < UPDATE_VERBS; verb++) {
            const bool is_new = cases[i].state >= UPDATE_SOAKING;
            struct update_response response;
            struct fake fake;
            char after[32];

            begin(&fake);
            fake.keeper.record.state = cases[i].state;
            fake.keeper.record.slots[is_new ? KEEPER_CURRENT : KEEPER_STAGING] =
                (struct keeper_slot){ "2.0", "bb" };
            fake.keeper.record.slots[KEEPER_PREV] = (struct keeper_slot){ "0.9", "dd" };
            response = tell(&fake, verb);
            (void)snprintf(after, sizeof(after), "%s%s",
                           strcmp(response.status, UPDATE_OK) == 0 ? "" : "!",
                           update_state_name(fake.keeper.record.state));
            CHECK_STR(after, cases[i].after[verb]);
        }
}

TEST(a_version_that_ends_at_once_goes_back_by_itself)
{
    struct fake fake;

    begin_soak(&fake);
    for (int i = 0; i < 3; i++) {
        keeper_exited(&fake.keeper, "exit status 1");
        pass(&fake, fake.now + 4 * SECOND, KEEPER_SILENT);
    }
    CHECK_INT(fake.saved.state, UPDATE_IDLE);
    CHECK_STR(fake.saved.slots[KEEPER_CURRENT].version, "1.0");
    CHECK_STR(fake.saved.slots[KEEPER_PREV].version, "");
    CHECK_STR(tell(&fake, UPDATE_STATUS).error, "the new version does not stay up");
    CHECK_INT(fake.keeper.child, KEEPER_UP);
}

TEST(a_version_that_is_never_ready_goes_back_by_itself)
{
    struct fake fake;

    begin_soak(&fake);
    pass(&fake, fake.now + 29 * SECOND, KEEPER_NOT_READY);
    CHECK_INT(fake.keeper.record.state, UPDATE_SOAKING);
    pass(&fake, fake.now + 10 * SECOND, KEEPER_NOT_READY);
    CHECK_INT(fake.keeper.record.state, UPDATE_ROLLING_BACK);
    keeper_exited(&fake.keeper, "ended");
    CHECK_INT(fake.saved.state, UPDATE_IDLE);
    CHECK_STR(fake.saved.note, "the new version does not become ready");
}

TEST(a_version_that_is_ready_and_then_is_not_goes_back)
{
    struct fake fake;

    begin_soak(&fake);
    pass(&fake, fake.now + 20 * SECOND, KEEPER_READY);
    pass(&fake, fake.now + 11 * SECOND, KEEPER_SILENT);
    CHECK_INT(fake.keeper.record.state, UPDATE_SOAKING);
    pass(&fake, fake.now + 5 * SECOND, KEEPER_SILENT);
    CHECK_INT(fake.keeper.record.state, UPDATE_ROLLING_BACK);
}

TEST(a_bus_that_is_down_for_everybody_does_not_roll_back_a_good_version)
{
    struct fake fake;

    begin_soak(&fake);
    pass(&fake, fake.now + 20 * SECOND, KEEPER_READY);
    fake.no_bus = true;
    pass(&fake, fake.now + 2 * MINUTE, KEEPER_NOT_READY);
    CHECK_INT(fake.keeper.record.state, UPDATE_SOAKING);
    CHECK(!tell(&fake, UPDATE_STATUS).soak_passed);
    fake.no_bus = false;
    pass(&fake, fake.now + 70 * SECOND, KEEPER_READY);
    CHECK(tell(&fake, UPDATE_STATUS).soak_passed);
}

TEST(a_version_that_nobody_confirms_goes_back_after_five_minutes_or_three_soaks)
{
    static const struct {
        int64_t soak, within;
    } cases[] = { { 10 * SECOND, 5 * MINUTE }, { 4 * MINUTE, 12 * MINUTE } };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fake fake;

        begin(&fake);
        fake.keeper.times.soak = cases[i].soak;
        (void)tell(&fake, UPDATE_PREPARE);
        keeper_fetched(&fake.keeper, NULL);
        (void)tell(&fake, UPDATE_APPLY);
        keeper_exited(&fake.keeper, "ended");
        pass(&fake, fake.now + cases[i].within - SECOND, KEEPER_READY);
        CHECK_INT(fake.keeper.record.state, UPDATE_SOAKING);
        pass(&fake, fake.now + SECOND, KEEPER_READY);
        CHECK_INT(fake.keeper.record.state, UPDATE_ROLLING_BACK);
    }
}

TEST(a_daemon_that_ends_is_started_again_after_pauses_that_double_and_then_is_degraded)
{
    static const int64_t pauses[] = { 1, 2, 4, 8, 16, 32, 60, 60, 60, 600, 600 };
    struct fake fake;

    begin(&fake);
    for (size_t i = 0; i < ARRAY_LEN(pauses); i++) {
        keeper_exited(&fake.keeper, "exit status 1");
        CHECK_INT(fake.wake - fake.now, pauses[i] * SECOND);
        CHECK_INT(fake.keeper.degraded, i >= 9);
        pass(&fake, fake.wake, KEEPER_READY);
    }
    fake.now += times.stable_after;
    keeper_exited(&fake.keeper, "exit status 1");
    CHECK_INT(fake.wake - fake.now, SECOND);
    CHECK(!fake.keeper.degraded);
    CHECK_INT(fake.keeper.record.state, UPDATE_IDLE);
}

TEST(a_prepare_that_fails_leaves_the_node_idle_with_the_reason)
{
    struct fake fake;

    begin(&fake);
    (void)tell(&fake, UPDATE_PREPARE);
    keeper_fetched(&fake.keeper, "hash does not match");
    CHECK_INT(fake.saved.state, UPDATE_IDLE);
    CHECK_STR(tell(&fake, UPDATE_STATUS).error, "hash does not match");
    CHECK_STR(fake.saved.slots[KEEPER_STAGING].version, "");
}

TEST(another_version_takes_the_place_of_one_that_is_staged_but_not_of_one_that_soaks)
{
    struct fake fake;

    begin(&fake);
    (void)tell(&fake, UPDATE_PREPARE);
    CHECK_STR(tell_about(&fake, UPDATE_PREPARE, "3.0").status, UPDATE_OK);
    CHECK_STR(fake.done, "discard fetch cancel discard fetch");
    keeper_fetched(&fake.keeper, NULL);
    CHECK_STR(tell(&fake, UPDATE_APPLY).status, UPDATE_ERROR);
    CHECK_STR(tell_about(&fake, UPDATE_APPLY, "3.0").status, UPDATE_OK);
    keeper_exited(&fake.keeper, "ended");
    CHECK_STR(tell(&fake, UPDATE_PREPARE).status, UPDATE_ERROR);
    CHECK_STR(fake.keeper.record.slots[KEEPER_CURRENT].version, "3.0");
}

TEST(a_swap_that_fails_keeps_the_old_version_running)
{
    struct fake fake;

    begin(&fake);
    (void)tell(&fake, UPDATE_PREPARE);
    keeper_fetched(&fake.keeper, NULL);
    (void)tell(&fake, UPDATE_APPLY);
    fake.no_swap = true;
    keeper_exited(&fake.keeper, "ended");
    CHECK_INT(fake.saved.state, UPDATE_STAGED);
    CHECK_STR(fake.saved.slots[KEEPER_CURRENT].version, "1.0");
    CHECK_INT(fake.keeper.child, KEEPER_UP);
}

TEST(nothing_is_applied_that_cannot_be_written_down_but_a_rollback_is)
{
    struct fake fake;

    begin(&fake);
    fake.no_disk = true;
    CHECK_STR(tell(&fake, UPDATE_PREPARE).status, UPDATE_ERROR);
    CHECK_INT(fake.keeper.record.state, UPDATE_IDLE);
    begin_soak(&fake);
    fake.no_disk = true;
    (void)tell(&fake, UPDATE_ROLLBACK);
    keeper_exited(&fake.keeper, "ended");
    CHECK_STR(fake.keeper.record.slots[KEEPER_CURRENT].version, "1.0");
    CHECK_INT(fake.keeper.child, KEEPER_UP);
}

/* A crash at each step: the record that was written, the slots as they are, where it goes on. */
TEST(whichever_step_is_interrupted_there_is_a_version_that_runs)
{
    static const struct {
        const char *name;
        enum update_state state;
        const char *recorded[KEEPER_PLACES], *seen[KEEPER_PLACES];
        enum update_state after;
        const char *runs;
    } cases[] = {
        { "while fetching",
          UPDATE_PREPARING,
          { "aa", "", "bb" },
          { "aa", "", "" },
          UPDATE_IDLE,
          "aa" },
        { "staged", UPDATE_STAGED, { "aa", "", "bb" }, { "aa", "", "bb" }, UPDATE_STAGED, "aa" },
        { "staged, file is bad",
          UPDATE_STAGED,
          { "aa", "", "bb" },
          { "aa", "", "xx" },
          UPDATE_IDLE,
          "aa" },
        { "before the swap",
          UPDATE_APPLYING,
          { "aa", "", "bb" },
          { "aa", "aa", "bb" },
          UPDATE_STAGED,
          "aa" },
        { "after the swap",
          UPDATE_APPLYING,
          { "aa", "", "bb" },
          { "bb", "aa", "" },
          UPDATE_SOAKING,
          "bb" },
        { "soaking", UPDATE_SOAKING, { "bb", "aa", "" }, { "bb", "aa", "" }, UPDATE_SOAKING, "bb" },
        { "before the way back",
          UPDATE_ROLLING_BACK,
          { "bb", "aa", "" },
          { "bb", "aa", "" },
          UPDATE_IDLE,
          "aa" },
        { "after the way back",
          UPDATE_ROLLING_BACK,
          { "bb", "aa", "" },
          { "aa", "", "" },
          UPDATE_IDLE,
          "aa" },
        { "current is lost",
          UPDATE_CONFIRMED,
          { "bb", "aa", "" },
          { "", "aa", "" },
          UPDATE_IDLE,
          "aa" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct keeper_record record = { .state = cases[i].state };
        struct fake fake;

        for (size_t place = 0; place < KEEPER_PLACES; place++)
            (void)snprintf(record.slots[place].sha256, sizeof(record.slots[place].sha256), "%s",
                           cases[i].recorded[place]);
        begin_with(&fake, &record, cases[i].seen);
        CHECK_STR(update_state_name(fake.keeper.record.state), update_state_name(cases[i].after));
        CHECK_STR(fake.keeper.record.slots[KEEPER_CURRENT].sha256, cases[i].runs);
        CHECK_INT(fake.keeper.child, KEEPER_UP);
        CHECK_INT(fake.saved.state, cases[i].after);
    }
}

TEST(a_version_during_whose_soak_the_machine_crashes_three_times_goes_back)
{
    static const char *const seen[KEEPER_PLACES] = { "bb", "aa", "" };
    struct keeper_record record = { .state = UPDATE_SOAKING,
                                    .slots = { { "2.0", "bb" }, { "1.0", "aa" }, { "", "" } } };
    struct fake fake;

    for (int i = 0; i < 2; i++) {
        begin_with(&fake, &record, seen);
        CHECK_INT(fake.keeper.record.state, UPDATE_SOAKING);
        record = fake.saved;
    }
    begin_with(&fake, &record, seen);
    CHECK_INT(fake.saved.state, UPDATE_IDLE);
    CHECK_STR(fake.saved.slots[KEEPER_CURRENT].version, "1.0");
}

TEST(without_any_binary_there_is_nothing_to_run)
{
    static const char *const seen[KEEPER_PLACES] = { "", "", "bb" };
    struct fake fake = { 0 };
    struct err err;

    keeper_init(&fake.keeper, &fake_world, &fake, &times);
    CHECK_INT(keeper_recover(&fake.keeper, &old_record, seen, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
}

TEST(the_end_of_the_watchdog_waits_for_the_daemon_and_starts_nothing)
{
    struct fake fake;

    begin(&fake);
    CHECK(!keeper_end(&fake.keeper));
    CHECK(!keeper_is_over(&fake.keeper));
    keeper_exited(&fake.keeper, "ended");
    CHECK(keeper_is_over(&fake.keeper));
    CHECK_STR(fake.done, "stop");
}
