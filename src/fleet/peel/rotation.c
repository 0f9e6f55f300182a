#include "fleet/peel/rotation.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fleet/bus/store.h"
#include "fleet/nats/error.h"
#include "fleet/nats/js.h"
#include "fleet/nats/kv.h"
#include "fleet/peel/identity.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/signing_notice.h"

struct rotation {
    struct rotation_options options;
    struct nats_js js;  /* conn NULL: none */
    uint64_t number;    /* of the connection */
    struct timer fetch; /* the notice again */
    struct timer due;   /* new credentials */
    int64_t generation; /* the last one that was seen */
    int64_t tried_at;   /* clock_now; 0: never for this generation */
};

/* --- what a notice means ------------------------------------------------------------ */

static void on_rotation_due(struct timer *timer)
{
    struct rotation *rotation = container_of(timer, struct rotation, due);

    rotation->tried_at = clock_now();
    log_info("the fleet has a new signing key, renewing credentials");
    rotation->options.renew(rotation->options.self);
}

static void renew_later(struct rotation *rotation, int64_t spread)
{
    const uint64_t range = (uint64_t)(spread * CLOCK_SECOND);
    const int64_t wait = range > 0 ? (int64_t)(chance_number() % range) : 0;

    if (timer_is_set(&rotation->due))
        return;
    if (rotation->tried_at != 0 && clock_now() < clock_after(rotation->tried_at, ROTATION_RETRY))
        return;
    timer_set(loop_timers(rotation->options.loop), &rotation->due, clock_after(clock_now(), wait),
              on_rotation_due);
}

static void take_notice(struct rotation *rotation, struct str stored)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct timers *timers = loop_timers(rotation->options.loop);
    const char *issuer = peel_identity_issuer(rotation->options.identity, &arena);
    struct signing_notice notice;
    struct err err;

    if (signing_notice_read(&arena, rotation->options.account->public_key,
                            arena_str(&arena, stored), &notice, &err) < 0) {
        log_warning("signing key is not used error=%s", err.text);
        return;
    }
    if (notice.generation < rotation->generation)
        return;
    if (notice.generation > rotation->generation) {
        rotation->generation = notice.generation;
        rotation->tried_at = 0;
        timer_clear(timers, &rotation->due);
    }
    if (!issuer || strcmp(issuer, notice.key) == 0)
        timer_clear(timers, &rotation->due);
    else
        renew_later(rotation, notice.spread);
}

/* --- fetching ----------------------------------------------------------------------- */

/* One question; it outlives its connection by its last callback. */
struct notice_request {
    struct rotation *rotation;
    uint64_t number;
};

static void on_rotation_notice(void *self, const struct nats_error *error,
                               const struct nats_kv_entry *entry)
{
    const struct notice_request notice_request = *(struct notice_request *)self;

    free(self);
    if (notice_request.number != notice_request.rotation->number)
        return;
    if (!error)
        take_notice(notice_request.rotation, entry->value);
    else if (error->fault != NATS_FAULT_NOT_FOUND && error->fault != NATS_FAULT_CANCELED)
        log_debug("signing key of the fleet cannot be fetched error=%s", error->text);
}

void rotation_look(struct rotation *rotation)
{
    const struct nats_kv kv = { .js = rotation->js,
                                .bucket = store_bucket_name(STORE_STATE_FILES) };
    struct notice_request *notice_request;
    struct err err;

    if (!rotation->js.conn)
        return;
    notice_request = mem_alloc(sizeof(*notice_request));
    *notice_request = (struct notice_request){ rotation, rotation->number };
    if (nats_kv_get(&kv, SIGNING_NOTICE_KEY, on_rotation_notice, notice_request, &err) == 0)
        return;
    log_debug("signing key of the fleet cannot be fetched error=%s", err.text);
    free(notice_request);
}

static void on_fetch(struct timer *timer);

/* Not all machines at once. */
static void fetch_notice_later(struct rotation *rotation)
{
    const int64_t wait = ROTATION_AGAIN / 2 + (int64_t)(chance_number() % (ROTATION_AGAIN / 2));

    timer_set(loop_timers(rotation->options.loop), &rotation->fetch, clock_after(clock_now(), wait),
              on_fetch);
}

static void on_fetch(struct timer *timer)
{
    struct rotation *rotation = container_of(timer, struct rotation, fetch);

    rotation_look(rotation);
    fetch_notice_later(rotation);
}

void rotation_connect(struct rotation *rotation, const struct nats_js *js)
{
    rotation->number++;
    rotation->js = js ? *js : (struct nats_js){ 0 };
    timer_clear(loop_timers(rotation->options.loop), &rotation->fetch);
    if (!js)
        return;
    rotation_look(rotation);
    fetch_notice_later(rotation);
}

/* --- life --------------------------------------------------------------------------- */

struct rotation *rotation_new(const struct rotation_options *options)
{
    struct rotation *rotation = mem_zalloc(sizeof(*rotation));

    rotation->options = *options;
    return rotation;
}

void rotation_free(struct rotation *rotation)
{
    if (!rotation)
        return;
    timer_clear(loop_timers(rotation->options.loop), &rotation->fetch);
    timer_clear(loop_timers(rotation->options.loop), &rotation->due);
    free(rotation);
}
