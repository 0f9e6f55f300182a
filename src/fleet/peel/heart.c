#include "fleet/peel/heart.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fleet/bus/store.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "states/run/lastrun.h"
#include "core/sys/clock.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/liveness.h"

#define BEAT_MAX (LASTRUN_MAX + 256)

/* One beat; its heart may be gone when the answer comes. */
struct heart_beat {
    struct heart *heart; /* NULL: nobody waits for it */
};

static void forget_beat(struct heart *heart)
{
    if (heart->under_way)
        heart->under_way->heart = NULL;
    heart->under_way = NULL;
}

static void on_beat(void *self, const struct nats_error *error, uint64_t revision)
{
    struct heart_beat *beat = self;

    (void)revision;
    if (beat->heart) {
        if (!error)
            beat->heart->heard = clock_now();
        else
            log_debug("heartbeat not stored error=%s", error->text);
        beat->heart->under_way = NULL;
    }
    free(beat);
}

/* False: there is none. */
static bool read_last_run(struct arena *arena, const struct heart *heart, struct lastrun *ret_run)
{
    struct err err;

    if (lastrun_read(arena, heart->data_dir, ret_run, &err) == 0)
        return true;
    if (err.code != ERR_NOT_FOUND)
        log_debug("last run cannot be read error=%s", err.text);
    return false;
}

static void on_timer(struct timer *timer)
{
    struct heart *heart = container_of(timer, struct heart, timer);
    const struct nats_kv kv = { .js = heart->js,
                                .bucket = store_bucket_name(STORE_PEEL_HEARTBEAT) };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const int64_t now = clock_wall();
    struct liveness_peel sign = {
        .ts = { now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) },
        .version = ZESTER_VERSION,
        .protocol = EXEC_PROTOCOL,
    };
    AUTO_BUF struct buf bytes = BUF_INIT(BEAT_MAX);
    struct heart_beat *beat;
    struct lastrun run;
    struct err err;

    timer_set(loop_timers(heart->loop), timer, clock_after(clock_now(), HEART_BEAT), on_timer);
    if (!heart->js.conn || nats_conn_state(heart->js.conn) != NATS_CONN_CONNECTED)
        return;
    forget_beat(heart);
    if (read_last_run(&arena, heart, &run)) {
        sign.run = record_value(&arena, &lastrun_type, &run);
        buf_clear(&heart->outcome);
        lastrun_print_outcome(&heart->outcome, &run);
    }
    beat = mem_zalloc(sizeof(*beat));
    if (record_encode(&bytes, &liveness_peel_type, &sign, &err) < 0 ||
        nats_kv_put(&kv, heart->peel_id, buf_view(&bytes), on_beat, beat, &err) < 0) {
        free(beat);
        return;
    }
    beat->heart = heart;
    heart->under_way = beat;
}

void heart_init(struct heart *heart, struct loop *loop, const char *peel_id, const char *data_dir)
{
    *heart = (struct heart){
        .loop = loop, .peel_id = peel_id, .data_dir = data_dir, .outcome = BUF_INIT(BEAT_MAX)
    };
}

void heart_done(struct heart *heart)
{
    forget_beat(heart);
    if (heart->loop)
        timer_clear(loop_timers(heart->loop), &heart->timer);
    buf_done(&heart->outcome);
}

void heart_connect(struct heart *heart, const struct nats_js *js)
{
    forget_beat(heart);
    heart->js = js ? *js : (struct nats_js){ 0 };
    if (js)
        timer_set(loop_timers(heart->loop), &heart->timer, clock_now(), on_timer);
    else
        timer_clear(loop_timers(heart->loop), &heart->timer);
}

void heart_tell_run(struct heart *heart, struct str outcome)
{
    if (heart->js.conn && outcome.n > 0 && !str_eq(outcome, buf_view(&heart->outcome)))
        timer_set(loop_timers(heart->loop), &heart->timer, clock_now(), on_timer);
}

bool heart_is_heard(const struct heart *heart)
{
    return heart->heard > 0 && clock_now() - heart->heard < HEART_LOST;
}
