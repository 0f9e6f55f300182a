#include "commands/cli/fleet/backup/backup_streams.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/data/json.h"
#include "fleet/bus/store.h"
#include "fleet/nats/error.h"
#include "fleet/nats/snapshot.h"

static const enum store_bucket passing[] = {
    STORE_LEASES,        STORE_MASTER_HEARTBEAT,  STORE_PEEL_HEARTBEAT,
    STORE_PEEL_PRESENCE, STORE_ENROLL_CHALLENGES, STORE_UPDATE_STATUS,
    STORE_REACTOR_ACKS,
};

bool backup_streams_has(size_t number)
{
    for (size_t i = 0; i < ARRAY_LEN(passing); i++)
        if (store_bucket_stream(passing[i]) == number)
            return false;
    return true;
}

struct stream_copy {
    const char *name;
    struct archive_writer *writer;
    struct backup_streams_count *count;
    bool is_done, has_failed;
    struct nats_error error;
};

static struct str print_json(struct buf *out, const struct value *v)
{
    struct err ignored; /* it came as JSON */

    if (!v || json_print(out, v, JSON_STYLE_COMPACT, &ignored) < 0)
        buf_add_text(out, "{}");
    return buf_view(out);
}

static int begin_stream(void *self, const struct value *config, const struct value *state,
                        struct err *err)
{
    struct stream_copy *copy = self;
    AUTO_BUF struct buf config_text = BUF_INIT(ARCHIVE_HEAD_MAX),
                        state_text = BUF_INIT(ARCHIVE_HEAD_MAX);
    struct archive_part part = { .kind = ARCHIVE_STREAM,
                                 .name = copy->name,
                                 .user = "",
                                 .group = "",
                                 .target = "",
                                 .config = print_json(&config_text, config),
                                 .state = print_json(&state_text, state),
                                 .messages = state ? value_get_int(state, "messages", 0) : 0,
                                 .last_seq =
                                     (uint64_t)(state ? value_get_int(state, "last_seq", 0) : 0) };

    copy->count->streams++;
    copy->count->messages += part.messages;
    return archive_part(copy->writer, &part, err);
}

static int add_chunk(void *self, struct str bytes, struct err *err)
{
    const struct stream_copy *copy = self;

    return archive_data(copy->writer, bytes, err);
}

static void on_stream_copied(void *self, const struct nats_error *error)
{
    struct stream_copy *copy = self;

    copy->is_done = true;
    copy->has_failed = error != NULL;
    if (error)
        copy->error = *error;
}

/* A fleet of an older version may have fewer streams. */
static int copy_stream(struct fleet *fleet, struct stream_copy *copy, struct err *err)
{
    const struct nats_snapshot_reader reader = {
        .begin = begin_stream, .chunk = add_chunk, .done = on_stream_copied, .self = copy
    };

    if (nats_snapshot_take(&fleet->js, copy->name, &reader, err) < 0)
        return -1;
    while (!copy->is_done) /* it has its own timeouts */
        if (fleet_wait(fleet, &copy->is_done, NATS_SNAPSHOT_SETTLE_NS, err) < 0 &&
            fleet_is_over(fleet))
            return -1;
    if (copy->has_failed && copy->error.code == NATS_JS_STREAM_NOT_FOUND)
        return 0;
    if (copy->has_failed)
        return nats_error_to_err(&copy->error, err);
    return archive_end(copy->writer, err);
}

int backup_streams_write(struct fleet *fleet, struct archive_writer *writer,
                         struct backup_streams_count *ret_count, struct err *err)
{
    *ret_count = (struct backup_streams_count){ 0 };
    for (size_t i = 0; i < STORE_STREAMS; i++) {
        struct stream_copy *copy = ARENA_NEW(fleet->arena, struct stream_copy);

        *copy = (struct stream_copy){ .name = store_stream_name(fleet->arena, i),
                                      .writer = writer,
                                      .count = ret_count };
        if (backup_streams_has(i) && copy_stream(fleet, copy, err) < 0)
            return err_wrap(err, "stream '%s'", copy->name);
    }
    return 0;
}
