#include "fleet/master/reactor/reactor_engine.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/master/conf.h"
#include "fleet/master/master.h"
#include "fleet/master/reactor/rule_watch.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "test.h"

TEST(reactor_times_and_sizes_match_the_documentation)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct daemon_line line = { .file = arena_printf(&arena, "%s/master.yaml", test_folder()) };
    struct master_conf conf = { 0 };
    struct err err;

    CHECK_INT(RULE_WATCH_DEBOUNCE_NS, 2 * CLOCK_SECOND);
    CHECK_INT(RULE_WATCH_JITTER_NS, 5 * CLOCK_SECOND);
    CHECK_INT(RULE_WATCH_RETRY_NS, 60 * CLOCK_SECOND);
    CHECK(MASTER_RETRY_NS <= RULE_WATCH_RETRY_NS);
    CHECK_INT(REACTOR_TICK_NS, 15 * CLOCK_SECOND);
    CHECK_INT(fs_replace(line.file, STR("{}\n"), NULL, &err), 0);
    CHECK_INT(daemon_conf_read(&master_daemon_conf, &line, &arena, &conf, &diags, &diags), 0);
    CHECK_INT(conf.reactor_workers, 4);
    CHECK_INT(conf.reactor_max_depth, 3);
    CHECK_INT(conf.reactor_source_rate, 120);
    CHECK_INT(conf.reactor_storm_rate, 60);
    CHECK_INT(conf.reactor_cooldown, 300 * CLOCK_SECOND);
    CHECK_INT(conf.reactor_max_age, 3600 * CLOCK_SECOND);
    CHECK_INT(conf.reactor_throttle, 0);
    CHECK(conf.reactor_enabled && conf.reactor_chaining);
}
