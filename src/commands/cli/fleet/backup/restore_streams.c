#include "commands/cli/fleet/backup/restore_streams.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/sys/clock.h"
#include "fleet/nats/error.h"
#include "fleet/nats/info.h"
#include "fleet/nats/snapshot.h"
#include "fleet/nats/stream.h"

#define ASK_NS (10 * CLOCK_SECOND)
/* A question that only masters hear. */
#define MASTERS_SUBJECT "zester.dispatch"

/* --- one call, waited for -------------------------------------------------------------- */

struct waited_call {
    bool is_done, has_failed;
    struct nats_error error;
    struct arena *arena;
    const char *description; /* of a stream */
    int64_t messages;
};

static void on_call_done(void *self, const struct nats_error *error)
{
    struct waited_call *call = self;

    call->is_done = true;
    call->has_failed = error != NULL;
    if (error)
        call->error = *error;
}

static void on_stream_seen(void *self, const struct nats_error *error,
                           const struct nats_stream_info *info)
{
    struct waited_call *call = self;
    const char *description = info ? value_get_text(info->config, "description") : NULL;

    call->messages = info ? info->messages : 0;
    call->description = arena_strdup(call->arena, description ? description : "");
    on_call_done(self, error);
}

static int wait_call(struct restore_streams *streams, struct waited_call *call, int64_t timeout,
                     struct err *err)
{
    while (!call->is_done)
        if (fleet_wait(streams->fleet, &call->is_done, timeout, err) < 0 &&
            fleet_is_over(streams->fleet))
            return -1;
    return call->has_failed ? nats_error_to_err(&call->error, err) : 0;
}

static struct waited_call *new_call(struct restore_streams *streams)
{
    struct waited_call *call = ARENA_NEW(streams->arena, struct waited_call);

    call->arena = streams->arena;
    return call;
}

/* Is it there? */
static int see_stream(struct restore_streams *streams, const char *name, bool *ret_is_there,
                      const char **ret_description, struct err *err)
{
    struct waited_call *call = new_call(streams);
    int result;

    if (nats_stream_info(&streams->fleet->js, name, on_stream_seen, call, err) < 0)
        return -1;
    result = wait_call(streams, call, ASK_NS, err);
    *ret_is_there = result == 0;
    *ret_description = call->description;
    return call->has_failed && call->error.fault == NATS_FAULT_NOT_FOUND ? 0 : result;
}

static int delete_stream(struct restore_streams *streams, const char *name, struct err *err)
{
    struct waited_call *call = new_call(streams);

    if (nats_stream_delete(&streams->fleet->js, name, on_call_done, call, err) < 0 ||
        wait_call(streams, call, ASK_NS, err) < 0)
        return err_wrap(err, "delete the stream '%s'", name);
    return 0;
}

/* --- before --------------------------------------------------------------------------- */

/* A master that runs would recreate streams in the middle, and write from what it remembers. */
static int check_masters(struct restore_streams *streams, struct err *err)
{
    const struct nats_pub pub = { .subject = STR(MASTERS_SUBJECT), .payload = STR("") };
    struct str reply;
    struct err why;

    if (fleet_request(streams->fleet, &pub, CLOCK_SECOND, &reply, &why) < 0 &&
        why.code == ERR_NOT_FOUND)
        return 0;
    return err_set(err, ERR_BUSY,
                   "a master is running: stop every master of the fleet before a restore "
                   "(systemctl stop zester-master)");
}

/* A snapshot is in the format of the server that made it. */
static int check_server(const struct restore_streams *streams, struct err *err)
{
    const int64_t here = nats_conn_version(streams->fleet->js.conn);

    if (here / 1000 >= streams->info->server_number / 1000)
        return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "the backup is of nats-server %s, and this server is older (%lld.%lld): it may "
                   "not read it",
                   streams->info->server, (long long)(here / 1000000),
                   (long long)(here / 1000 % 1000));
}

static int find_streams(struct restore_streams *streams, size_t *ret_count, struct err *err)
{
    const char *description;
    bool has_mark;

    *ret_count = 0;
    if (see_stream(streams, STORE_RESTORE, &has_mark, &description, err) < 0)
        return -1;
    streams->is_ours = has_mark && strcmp(description, streams->info->id) == 0;
    for (size_t i = 0; i < STORE_STREAMS; i++) {
        if (see_stream(streams, store_stream_name(streams->arena, i), &streams->exists[i],
                       &description, err) < 0)
            return -1;
        *ret_count += streams->exists[i];
    }
    streams->has_other_mark = has_mark && !streams->is_ours;
    return 0;
}

static int clear_streams(struct restore_streams *streams, struct err *err)
{
    for (size_t i = 0; i < STORE_STREAMS; i++) {
        if (streams->exists[i] &&
            delete_stream(streams, store_stream_name(streams->arena, i), err) < 0)
            return -1;
        streams->exists[i] = false;
    }
    return 0;
}

static int make_mark(struct restore_streams *streams, struct err *err)
{
    const struct nats_stream_config config = { .name = STORE_RESTORE,
                                               .description = streams->info->id,
                                               .subjects = { (const char *[]){ STORE_RESTORE }, 1 },
                                               .max_msgs = 1 };
    struct waited_call *call = new_call(streams);

    if (nats_stream_create(&streams->fleet->js, &config, on_stream_seen, call, err) < 0)
        return -1;
    return wait_call(streams, call, ASK_NS, err);
}

static int prepare_bus(struct restore_streams *streams, struct err *err)
{
    size_t count;

    if (fleet_require_admin(streams->fleet, "restore the fleet", err) < 0 ||
        check_server(streams, err) < 0 || check_masters(streams, err) < 0 ||
        find_streams(streams, &count, err) < 0)
        return -1;
    if (streams->is_ours)
        return 0;
    if (count > 0 && !streams->is_forced)
        return err_set(err, ERR_BUSY,
                       "the bus is not empty: it has %zu of the fleet's streams; --force deletes "
                       "them with all that they contain",
                       count);
    if (clear_streams(streams, err) < 0 ||
        (streams->has_other_mark && delete_stream(streams, STORE_RESTORE, err) < 0))
        return -1;
    return make_mark(streams, err);
}

int restore_streams_open(struct restore_streams *streams, const struct fleet_target *target,
                         struct err *err)
{
    return fleet_connect(streams->arena, target, &streams->fleet, err) < 0
               ? -1
               : prepare_bus(streams, err);
}

void restore_streams_close(struct restore_streams *streams)
{
    fleet_close(streams->fleet);
    streams->fleet = NULL;
}

/* --- a stream ------------------------------------------------------------------------- */

struct stream_source {
    struct waited_call call;
    struct backup_file *file;
    bool is_at_end;
};

static int next_chunk(void *self, struct str *ret_bytes, struct err *err)
{
    struct stream_source *source = self;
    struct archive_item item = { 0 };

    *ret_bytes = (struct str){ 0 };
    if (source->is_at_end)
        return 0;
    if (backup_file_next(source->file, &item, err) < 0)
        return -1;
    source->is_at_end = item.step != ARCHIVE_DATA;
    *ret_bytes = item.data;
    return 0;
}

static int skip_data(struct stream_source *source, struct err *err)
{
    struct str ignored;

    while (!source->is_at_end)
        if (next_chunk(source, &ignored, err) < 0)
            return -1;
    return 0;
}

/* A server alone has no replicas; a master adds them again where there are more. */
static int fit_config(struct restore_streams *streams, const struct archive_part *part,
                      struct str *ret_config, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(ARCHIVE_HEAD_MAX);
    struct value config;

    if (json_decode(streams->arena, part->config, &config, err) < 0 || config.kind != VALUE_MAP)
        return err_set(err, ERR_INVALID, "its configuration in the backup cannot be read");
    if (!nats_conn_is_clustered(streams->fleet->js.conn))
        value_map_set(streams->arena, config.map, value_text("num_replicas"), value_int(1));
    if (json_print(&text, &config, JSON_STYLE_COMPACT, err) < 0)
        return -1;
    *ret_config = buf_copy(&text, streams->arena);
    return 0;
}

static int send_stream(struct restore_streams *streams, struct stream_source *source,
                       const struct archive_part *part, struct err *err)
{
    struct nats_snapshot_source snapshot = { .stream = arena_strdup(streams->arena, part->name),
                                             .state = arena_str(streams->arena, part->state),
                                             .next = next_chunk,
                                             .done = on_call_done,
                                             .self = source };

    if (fit_config(streams, part, &snapshot.config, err) < 0)
        return -1;
    streams->restored++;
    streams->messages += part->messages;
    if (nats_snapshot_restore(&streams->fleet->js, &snapshot, err) < 0)
        return -1;
    return wait_call(streams, &source->call, NATS_SNAPSHOT_SETTLE_NS, err);
}

/* STORE_STREAMS: not one of this version. */
static size_t find_stream_number(struct restore_streams *streams, const char *name)
{
    size_t i = 0;

    while (i < STORE_STREAMS && strcmp(store_stream_name(streams->arena, i), name) != 0)
        i++;
    return i;
}

int restore_streams_write(struct restore_streams *streams, struct backup_file *file,
                          const struct archive_part *part, struct err *err)
{
    struct stream_source *source = ARENA_NEW(streams->arena, struct stream_source);
    const size_t number = find_stream_number(streams, part->name);
    const char *name = arena_strdup(streams->arena, part->name);

    source->file = file;
    if (number == STORE_STREAMS)
        return err_set(err, ERR_UNSUPPORTED, "this version has no stream '%s'", name);
    streams->last_seq[number] = part->last_seq;
    if (streams->exists[number])
        return skip_data(source, err);
    if (send_stream(streams, source, part, err) < 0)
        return err_wrap(err, "stream '%s'", name);
    return 0;
}

/* --- after ---------------------------------------------------------------------------- */

int restore_streams_settle(struct restore_streams *streams, const char *auth_dir,
                           struct restore_settled *ret_settled, struct err *err)
{
    const struct restore_settle_want want = {
        .fleet = streams->fleet,
        .auth_dir = auth_dir,
        .made = streams->info->made,
        .last_event = streams->last_seq[find_stream_number(streams, STORE_EVENTS)],
        .last_exhausted = streams->last_seq[find_stream_number(streams, STORE_EXHAUSTED)],
    };

    if (restore_settle(&want, ret_settled, err) < 0)
        return -1;
    return delete_stream(streams, STORE_RESTORE, err);
}
