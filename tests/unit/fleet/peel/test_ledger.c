#include "fleet/peel/ledger.h"

#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/fs.h"
#include "test.h"

static struct ledger *open_at(const char *path, bool *damaged)
{
    struct err err;
    struct ledger *ledger = ledger_open(path, damaged, &err);

    CHECK(ledger != NULL);
    return ledger;
}

static const char *ledger_path(struct arena *arena)
{
    return arena_printf(arena, "%s/ledger", test_folder());
}

TEST(a_job_is_taken_once_for_each_higher_epoch)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    bool damaged;
    struct ledger *ledger = open_at(ledger_path(&arena), &damaged);

    CHECK_INT(ledger_take(ledger, "a", 7), LEDGER_NEW);
    CHECK_INT(ledger_take(ledger, "a", 7), LEDGER_AGAIN);
    CHECK_INT(ledger_take(ledger, "a", 6), LEDGER_OLD);
    CHECK_INT(ledger_take(ledger, "a", 8), LEDGER_NEW);
    CHECK_INT(ledger_take(ledger, "b", 0), LEDGER_NEW);
    CHECK_INT(ledger_take(ledger, "b", 0), LEDGER_AGAIN);
    ledger_free(ledger);
}

TEST(what_was_accepted_is_refused_after_a_restart)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = ledger_path(&arena);
    struct ledger *ledger;
    struct err err;
    bool damaged;

    ledger = open_at(path, &damaged);
    CHECK_INT(ledger_take(ledger, "a", 7), LEDGER_NEW);
    CHECK_INT(ledger_accept(ledger, "a", 7, &err), 0);
    CHECK_INT(ledger_take(ledger, "b", 9), LEDGER_NEW);
    ledger_free(ledger); /* b was never written, so it never began */

    ledger = open_at(path, &damaged);
    CHECK(!damaged);
    CHECK_INT(ledger_take(ledger, "a", 7), LEDGER_AGAIN);
    CHECK_INT(ledger_take(ledger, "a", 3), LEDGER_OLD);
    CHECK_INT(ledger_take(ledger, "b", 9), LEDGER_NEW);
    ledger_free(ledger);
}

static void collect(void *self, const char *jid, uint64_t epoch, bool begun)
{
    buf_printf(self, "%s:%d%s ", jid, (int)epoch, begun ? " begun" : "");
}

TEST(jobs_that_were_cut_off_are_known_after_a_restart)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf open = BUF_INIT(1024);
    const char *path = ledger_path(&arena);
    struct ledger *ledger;
    struct err err;
    bool damaged;

    ledger = open_at(path, &damaged);
    for (const char *jid = "abc"; *jid; jid++) {
        const char name[] = { *jid, '\0' };

        CHECK_INT(ledger_take(ledger, name, 1), LEDGER_NEW);
        CHECK_INT(ledger_accept(ledger, name, 1, &err), 0);
    }
    CHECK_INT(ledger_finish(ledger, "b", &err), 0);
    CHECK_INT(ledger_begin(ledger, "c", true, &err), 0);
    ledger_free(ledger);

    for (int opened = 0; opened < 2; opened++) { /* each writes the file anew */
        buf_clear(&open);
        ledger = open_at(path, &damaged);
        ledger_each_open(ledger, collect, &open);
        CHECK_STR(buf_text(&open), "a:1 c:1 begun ");
        CHECK_INT(ledger_take(ledger, "b", 1), LEDGER_AGAIN);
        ledger_free(ledger);
    }
}

TEST(the_oldest_job_is_forgotten_and_the_file_stays_small)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = ledger_path(&arena);
    struct fs_info info;
    struct ledger *ledger;
    struct err err;
    bool damaged;
    char jid[32];

    ledger = open_at(path, &damaged);
    for (int i = 0; i < 5 * LEDGER_JOBS; i++) {
        (void)snprintf(jid, sizeof(jid), "job-%d", i);
        CHECK_INT(ledger_take(ledger, jid, 1), LEDGER_NEW);
        CHECK_INT(ledger_accept(ledger, jid, 1, &err), 0);
    }
    CHECK_INT(ledger_take(ledger, "job-0", 1), LEDGER_NEW);
    CHECK_INT(ledger_take(ledger, jid, 1), LEDGER_AGAIN);
    ledger_free(ledger);
    CHECK_INT(fs_stat(path, &info, &err), 0);
    CHECK(info.size < 2 << 20);
    CHECK_INT(info.mode, 0600);
}

TEST(damage_costs_the_damaged_record_alone)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = ledger_path(&arena);
    struct ledger *ledger;
    struct str bytes;
    struct err err;
    bool damaged;
    char *copy;

    ledger = open_at(path, &damaged);
    for (const char *jid = "abc"; *jid; jid++) {
        const char name[] = { *jid, '\0' };

        CHECK_INT(ledger_take(ledger, name, 1), LEDGER_NEW);
        CHECK_INT(ledger_accept(ledger, name, 1, &err), 0);
    }
    ledger_free(ledger);
    CHECK_INT(fs_read(&arena, path, 1 << 20, &bytes, &err), 0);
    copy = arena_strndup(&arena, bytes.p, bytes.n);
    copy[bytes.n - 50] ^= 1;
    CHECK_INT(fs_replace(path, str_bytes(copy, bytes.n), NULL, &err), 0);

    ledger = open_at(path, &damaged);
    CHECK(damaged);
    CHECK_INT(ledger_take(ledger, "a", 1), LEDGER_AGAIN);
    CHECK_INT(ledger_take(ledger, "c", 1), LEDGER_AGAIN);
    ledger_free(ledger);
}
