#include "commands/cli/fleet/event/event_list.h"

#include <stdio.h>

#include "commands/cli/shared/columns.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/data/time_text.h"
#include "core/data/value.h"
#include "core/sys/clock.h"
#include "fleet/bus/store.h"
#include "fleet/nats/error.h"
#include "fleet/nats/ordered.h"

/* How long reading may take. */
#define READ_NS (300 * CLOCK_SECOND)

struct event_listing {
    const struct event_line_style *style;
    bool is_done, has_failed;
    struct nats_error error;
};

static void on_listed_event(void *self, const struct nats_msg *msg,
                            const struct nats_delivery *delivery)
{
    const struct event_listing *listing = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    (void)delivery;
    if (event_line_print(&arena, listing->style, msg, &out))
        columns_write(buf_view(&out));
}

static void on_listing_end(void *self)
{
    ((struct event_listing *)self)->is_done = true;
}

static void on_listing_failed(void *self, const struct nats_error *error)
{
    struct event_listing *listing = self;

    listing->is_done = listing->has_failed = true;
    listing->error = *error;
}

int event_list_print(struct fleet *fleet, const struct event_line_style *style, int64_t since,
                     struct err *err)
{
    struct event_listing listing = { .style = style };
    const struct value_time start = { since / CLOCK_SECOND, (uint32_t)(since % CLOCK_SECOND) };
    struct nats_ordered *ordered =
        nats_ordered_new(&fleet->js,
                         &(struct nats_ordered_options){
                             .stream = STORE_EVENTS,
                             .deliver = NATS_DELIVER_FROM_TIME,
                             .start_time = time_text(fleet->arena, start),
                             .message = on_listed_event,
                             .caught_up = on_listing_end,
                             .failed = on_listing_failed,
                             .self = &listing,
                         },
                         err);
    int result;

    if (!ordered)
        return -1;
    result = fleet_wait(fleet, &listing.is_done, READ_NS, err);
    nats_ordered_free(ordered);
    return result == 0 && listing.has_failed ? nats_error_to_err(&listing.error, err) : result;
}
