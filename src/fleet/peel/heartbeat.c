#include "fleet/peel/heartbeat.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fleet/bus/mirror.h"
#include "fleet/bus/store.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/peel/peel_settings.h"
#include "states/run/lastrun.h"
#include "core/sys/clock.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/liveness.h"

#define BEAT_MAX (LASTRUN_MAX + 1024)
/* Trees change one after the other. */
#define TELL_NS (200 * CLOCK_MS)

/* One beat; its heartbeat may be gone when the answer comes. */
struct heartbeat_beat {
    struct heartbeat *heartbeat; /* NULL: no pending beat */
};

static void forget_beat(struct heartbeat *heartbeat)
{
    if (heartbeat->under_way)
        heartbeat->under_way->heartbeat = NULL;
    heartbeat->under_way = NULL;
}

static void on_heartbeat_stored(void *self, const struct nats_error *error, uint64_t revision)
{
    struct heartbeat_beat *beat = self;

    (void)revision;
    if (beat->heartbeat) {
        if (!error)
            beat->heartbeat->heard = clock_now();
        else
            log_debug("heartbeat not stored error=%s", error->text);
        beat->heartbeat->under_way = NULL;
    }
    free(beat);
}

/* False: there is none. */
static bool read_last_run(struct arena *arena, const struct heartbeat *heartbeat,
                          struct lastrun *ret_run)
{
    struct err err;

    if (lastrun_read(arena, heartbeat->data_dir, ret_run, &err) == 0)
        return true;
    if (err.code != ERR_NOT_FOUND)
        log_debug("last run cannot be read error=%s", err.text);
    return false;
}

/* --- trees ------------------------------------------------------------------------ */

const char *heartbeat_problem(const struct heartbeat_trees *trees, struct arena *arena)
{
    const struct {
        const char *tree, *text;
    } problems[] = {
        { "states", mirror_problem(trees->states) },
        { "settings", mirror_problem(trees->settings) },
        { "settings", peel_settings_problem(trees->peel_settings) },
    };

    for (size_t i = 0; i < ARRAY_LEN(problems); i++)
        if (problems[i].text[0])
            return arena_str(arena, liveness_problem(str_from(arena_printf(
                                        arena, "%s: %s", problems[i].tree, problems[i].text))))
                .p;
    return "";
}

static void gather_trees(const struct heartbeat *heartbeat, struct arena *arena,
                         struct liveness_trees *ret)
{
    const struct heartbeat_trees *trees = &heartbeat->trees;

    *ret = (struct liveness_trees){ .states = "", .settings = "", .reactor = "", .canary = "" };
    ret->problem = ret->refused = "";
    if (!trees->states)
        return;
    ret->states = mirror_tree(trees->states);
    ret->settings = peel_settings_tree(trees->peel_settings);
    ret->problem = heartbeat_problem(trees, arena);
    ret->refused = peel_settings_refused(trees->peel_settings);
}

static void print_trees(const struct liveness_trees *trees, struct buf *out)
{
    buf_printf(out, "%s %s %s %s", trees->states, trees->settings, trees->refused, trees->problem);
}

/* Without the run if it has no room: the machine must not seem to be down. */
static int encode_beat(struct liveness_peel *sign, struct buf *bytes, struct err *err)
{
    if (record_encode(bytes, &liveness_peel_type, sign, err) < 0)
        return -1;
    if (bytes->n <= STORE_HEARTBEAT_MAX)
        return 0;
    sign->run = value_null();
    buf_clear(bytes);
    return record_encode(bytes, &liveness_peel_type, sign, err);
}

static void on_heartbeat_timer(struct timer *timer)
{
    struct heartbeat *heartbeat = container_of(timer, struct heartbeat, timer);
    const struct nats_kv kv = { .js = heartbeat->js,
                                .bucket = store_bucket_name(STORE_PEEL_HEARTBEAT) };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const int64_t now = clock_wall();
    struct liveness_peel sign = {
        .ts = { now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) },
        .version = ZESTER_VERSION,
        .protocol = EXEC_PROTOCOL,
    };
    AUTO_BUF struct buf bytes = BUF_INIT(BEAT_MAX);
    struct heartbeat_beat *beat;
    struct liveness_trees trees;
    struct lastrun run;
    struct err err;

    timer_set(loop_timers(heartbeat->loop), timer, clock_after(clock_now(), HEARTBEAT_BEAT),
              on_heartbeat_timer);
    if (!heartbeat->js.conn || nats_conn_state(heartbeat->js.conn) != NATS_CONN_CONNECTED)
        return;
    forget_beat(heartbeat);
    if (read_last_run(&arena, heartbeat, &run)) {
        sign.run = record_value(&arena, &lastrun_type, &run);
        buf_clear(&heartbeat->outcome);
        lastrun_print_outcome(&heartbeat->outcome, &run);
    }
    gather_trees(heartbeat, &arena, &trees);
    buf_clear(&heartbeat->told);
    print_trees(&trees, &heartbeat->told);
    sign.trees = liveness_show_trees(&arena, &trees);
    beat = mem_zalloc(sizeof(*beat));
    if (encode_beat(&sign, &bytes, &err) < 0 ||
        nats_kv_put(&kv, heartbeat->peel_id, buf_view(&bytes), on_heartbeat_stored, beat, &err) <
            0) {
        free(beat);
        return;
    }
    beat->heartbeat = heartbeat;
    heartbeat->under_way = beat;
}

void heartbeat_init(struct heartbeat *heartbeat, struct loop *loop, const char *peel_id,
                    const char *data_dir)
{
    *heartbeat = (struct heartbeat){
        .loop = loop, .peel_id = peel_id, .data_dir = data_dir, .outcome = BUF_INIT(BEAT_MAX)
    };
    heartbeat->told = (struct buf)BUF_INIT(BEAT_MAX);
}

void heartbeat_done(struct heartbeat *heartbeat)
{
    forget_beat(heartbeat);
    if (heartbeat->loop)
        timer_clear(loop_timers(heartbeat->loop), &heartbeat->timer);
    buf_done(&heartbeat->outcome);
    buf_done(&heartbeat->told);
}

void heartbeat_connect(struct heartbeat *heartbeat, const struct nats_js *js)
{
    forget_beat(heartbeat);
    heartbeat->js = js ? *js : (struct nats_js){ 0 };
    if (js)
        timer_set(loop_timers(heartbeat->loop), &heartbeat->timer, clock_now(), on_heartbeat_timer);
    else
        timer_clear(loop_timers(heartbeat->loop), &heartbeat->timer);
}

void heartbeat_tell_run(struct heartbeat *heartbeat, struct str outcome)
{
    if (heartbeat->js.conn && outcome.n > 0 && !str_eq(outcome, buf_view(&heartbeat->outcome)))
        timer_set(loop_timers(heartbeat->loop), &heartbeat->timer, clock_now(), on_heartbeat_timer);
}

void heartbeat_show_trees(struct heartbeat *heartbeat, const struct heartbeat_trees *trees)
{
    heartbeat->trees = *trees;
}

void heartbeat_tell_trees(struct heartbeat *heartbeat)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf now = BUF_INIT(BEAT_MAX);
    struct liveness_trees trees;

    gather_trees(heartbeat, &arena, &trees);
    print_trees(&trees, &now);
    if (heartbeat->js.conn && !str_eq(buf_view(&now), buf_view(&heartbeat->told)))
        timer_set(loop_timers(heartbeat->loop), &heartbeat->timer,
                  clock_after(clock_now(), TELL_NS), on_heartbeat_timer);
}

bool heartbeat_is_heard(const struct heartbeat *heartbeat)
{
    return heartbeat->heard > 0 && clock_now() - heartbeat->heard < HEARTBEAT_LOST;
}
