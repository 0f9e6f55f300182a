#include "fleet/bus/store.h"

#include <inttypes.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/bus/grant.h"
#include "fleet/nats/consumer.h"
#include "fleet/nats/error.h"
#include "fleet/nats/js.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/object.h"
#include "fleet/nats/stream.h"

#define SECOND      INT64_C(1000000000)
#define MINUTE      (60 * SECOND)
#define DAY         (24 * 60 * MINUTE)
#define WEEK        (7 * DAY)
#define KIB         ((int64_t)1 << 10)
#define MIB         ((int64_t)1 << 20)
#define AUTO_START  3 /* replicas to begin with */
#define AUTO_SINGLE 1

/* When two masters create the same stream concurrently, as at the first start of a cluster,
 * nats-server 2.9 answers only one. So a request without an answer is repeated soon, waiting a
 * second longer each time: 1 + 2 + 3 + 4. */
#define ATTEMPT_NS SECOND
#define ATTEMPTS   4

/* err_code of a cluster with too few servers. */
#define NO_SUITABLE_PEERS 10005

/* --- the tables --------------------------------------------------------------------- */

/* `max_bytes` of a row is its share of the total in parts of SHARES: that much is reserved, so
 * peels cannot use up the rest. Together they are less than SHARES.  Where only the past is lost,
 * the oldest entries make room (`discard_old`): else whoever fills a log stops the jobs of all.
 * Where peels write, no header of theirs may remove the entries of others (`no_rollup`), and a key
 * takes `max_value_size` at most. */
#define SHARES 1024
/* Bytes of a message besides its value. */
#define HEADER_ROOM KIB
/* Minimum for every stream, however small the total. */
#define SHARE_MIN (256 * KIB)

static const char *const event_subjects[] = { "zester.event.>" };
static const char *const job_subjects[] = { "zester.job.>" };
static const char *const exhausted_subjects[] = { NATS_POISON_SUBJECT "." STORE_EVENTS
                                                                      "." STORE_REACTOR };

static const struct nats_stream_config streams[] = {
    {
        .name = STORE_EVENTS,
        .description = "Reactor event log",
        .subjects = { event_subjects, ARRAY_LEN(event_subjects) },
        .max_age = WEEK,
        .max_bytes = 64,
        .max_msgs = 1000000,
        .duplicate_window = 2 * MINUTE,
    },
    {
        .name = STORE_JOB_EVENTS,
        .description = "Full job event log for replay and audit",
        .subjects = { job_subjects, ARRAY_LEN(job_subjects) },
        .max_age = WEEK,
        .max_bytes = 128,
        .duplicate_window = 2 * MINUTE,
    },
    {
        .name = STORE_EXHAUSTED,
        .description = "Events that the server gave up",
        .subjects = { exhausted_subjects, ARRAY_LEN(exhausted_subjects) },
        .max_age = WEEK,
        .max_bytes = 4,
        .max_msgs = 1000000,
        .duplicate_window = 2 * MINUTE,
    },
};

/* clang-format off */
static const struct nats_kv_config buckets[] = {
    [STORE_FACTS]             = { "facts", "Peel fact data (system information)", .history = 5, .max_bytes = 64, .max_value_size = STORE_FACTS_MAX + HEADER_ROOM },
    [STORE_SETTINGS_FILES]    = { "settings-files", "Raw .zy template files for peel-side rendering", .history = 3, .max_bytes = 32 },
    [STORE_SECRETS]           = { "secrets", "Per-peel encrypted sensitive values", .history = 3, .max_bytes = 32 },
    [STORE_BASKET]            = { "basket", "Peel-to-peel data sharing", .history = 1, .max_bytes = 32, .max_value_size = STORE_BASKET_VALUE_MAX + HEADER_ROOM },
    [STORE_JOBS]              = { "jobs", "Job specs and status tracking", .history = 10, .ttl = WEEK, .max_bytes = 64, .discard_old = true },
    [STORE_JOB_RETURNS]       = { "job-returns", "Per-peel job execution results", .history = 1, .ttl = WEEK, .max_bytes = 128, .discard_old = true },
    [STORE_MASTER_HEARTBEAT]  = { "master-heartbeat", "Master instance heartbeats for liveness detection", .history = 1, .ttl = 15 * SECOND, .max_bytes = 1 },
    [STORE_PEEL_HEARTBEAT]    = { "peel-heartbeat", "Peel liveness heartbeats", .history = 1, .ttl = 30 * SECOND, .max_bytes = 4, .max_value_size = STORE_HEARTBEAT_MAX + HEADER_ROOM },
    [STORE_PEEL_PRESENCE]     = { "peel-presence", "When peels came and went", .history = 1, .max_bytes = 4 },
    [STORE_LEASES]            = { "leases", "Advisory leader leases for single-publisher work", .history = 1, .ttl = 15 * SECOND, .max_bytes = 1 },
    [STORE_ENROLLMENTS]       = { "enrollments", "Peel enrollment records and state", .history = 10, .max_bytes = 16 },
    [STORE_ENROLL_CHALLENGES] = { "enroll-challenges", "Short-lived enrollment challenge nonces", .history = 1, .ttl = 5 * MINUTE, .memory = true, .max_bytes = 1 },
    [STORE_STATE_FILES]       = { "state-files", "Raw .zy state files for peel-side caching", .history = 3, .max_bytes = 64 },
    [STORE_REACTOR_FILES]     = { "reactor-files", "Reactor rule files (master-only; no peel JWT grants)", .history = 3, .max_bytes = 8 },
    [STORE_MASTER_SETTINGS]   = { "master-settings", "Sealed settings tree for standby masters", .history = 1, .max_bytes = 16 },
    [STORE_EVENT_OUTCOMES]    = { "event-outcomes", "What became of events", .history = 1, .ttl = WEEK, .max_bytes = 32, .discard_old = true },
    [STORE_UPDATE_MANIFESTS]  = { "update-manifests", "Published versions of the daemons", .history = 5, .max_bytes = 2 },
    [STORE_UPDATE_STATUS]     = { "update-status", "What watchdogs say of their daemons", .history = 1, .ttl = MINUTE, .max_bytes = 4, .max_value_size = 16 * KIB },
    [STORE_UPDATE_ROLLOUTS]   = { "update-rollouts", "Rollouts of versions", .history = 10, .max_bytes = 4 },
    [STORE_REACTOR_ACKS]      = { "reactor-acks", "Which events masters have acknowledged", .history = 1, .ttl = WEEK, .max_bytes = 8, .discard_old = true },
    [STORE_TREE_HISTORY]      = { "tree-history", "Earlier revisions of published trees (no peel JWT grants)", .history = 5, .max_bytes = 64 },
    [STORE_OPERATORS]         = { "operators", "What operators may do (no peel JWT grants)", .history = 5, .max_bytes = 4 },
    [STORE_APPROVALS]         = { "approvals", "Jobs that wait for a second person (no peel JWT grants)", .history = 5, .ttl = DAY, .max_bytes = 2 },
};
/* clang-format on */
_Static_assert(ARRAY_LEN(buckets) == STORE_BUCKETS, "every bucket has a row");

static const struct nats_objects_config objects[] = {
    { STORE_FILES, "Files too large for one value, in chunks", .max_bytes = 128 },
    { STORE_BINARIES, "Binaries of published versions", .max_bytes = 64 },
};

static const struct {
    const char *stream;
    struct nats_consumer_config config;
} consumers[] = {
    {
        STORE_EVENTS,
        {
            .name = STORE_REACTOR,
            .durable = true,
            .description = "Zester reactor event consumer",
            .deliver = NATS_DELIVER_NEW,
            .filter_subject = "zester.event.>",
            .ack_wait = 60 * SECOND,
            .max_deliver = 5,
            .max_ack_pending = 64,
        },
    },
    {
        STORE_EXHAUSTED,
        {
            .name = STORE_EXHAUSTED,
            .durable = true,
            .ack_wait = 30 * SECOND,
            .max_ack_pending = 64,
        },
    },
    {
        STORE_JOB_EVENTS,
        {
            .name = STORE_SCHEDULE,
            .durable = true,
            .filter_subject = "zester.job.*.schedule.*",
            .ack_wait = 30 * SECOND,
            .max_deliver = 5,
        },
    },
    {
        STORE_JOB_EVENTS,
        {
            .name = STORE_RETURNS,
            .durable = true,
            .deliver = NATS_DELIVER_NEW,
            .filter_subject = "zester.job.*.return.*",
            .ack_wait = 30 * SECOND,
            .max_deliver = -1, /* until the job has ended and the return is on record */
            .max_ack_pending = 20000,
        },
    },
};

const char *store_bucket_name(enum store_bucket bucket)
{
    return buckets[bucket].bucket;
}

unsigned store_bucket_history(enum store_bucket bucket)
{
    return (unsigned)buckets[bucket].history;
}

int64_t store_bucket_ttl(enum store_bucket bucket)
{
    return buckets[bucket].ttl;
}

/* --- making it so ------------------------------------------------------------------- */

#define BUCKETS_AT   ARRAY_LEN(streams)
#define OBJECTS_AT   (BUCKETS_AT + ARRAY_LEN(buckets))
#define CONSUMERS_AT (OBJECTS_AT + ARRAY_LEN(objects))
#define ITEMS        (CONSUMERS_AT + ARRAY_LEN(consumers))

_Static_assert(CONSUMERS_AT == STORE_STREAMS, "every row but those of consumers is a stream");

const char *store_stream_name(struct arena *arena, size_t number)
{
    if (number < BUCKETS_AT)
        return streams[number].name;
    if (number < OBJECTS_AT)
        return arena_printf(arena, "KV_%s", buckets[number - BUCKETS_AT].bucket);
    return arena_printf(arena, "OBJ_%s", objects[number - OBJECTS_AT].bucket);
}

size_t store_bucket_stream(enum store_bucket bucket)
{
    return BUCKETS_AT + bucket;
}

_Static_assert(ARRAY_LEN(consumers) == STORE_CONSUMERS, "every consumer has a number");

struct store_consumer store_consumer(size_t number)
{
    return (struct store_consumer){ consumers[number].stream, consumers[number].config.name };
}

struct ensure;

/* A row of one of the tables. */
struct item {
    struct ensure *home;
    size_t number;       /* over all tables */
    int64_t replicas;    /* of the attempt under way */
    unsigned attempts;   /* that were not answered */
    bool has_no_room;    /* the server does not have so much as its limit */
    bool is_unlimited;   /* it gets none */
    const char *problem; /* NULL: none */
};

struct ensure {
    struct arena arena;
    struct nats_js js;
    bool is_auto;     /* replicas: fewer are tried when there are not enough servers */
    int64_t total;    /* bytes of all streams */
    bool keeps_bytes; /* limits that are there stay */
    bool may_halve;   /* the total, when servers do not have so much */
    bool has_no_room; /* they said so */
    bool has_begun_consumers;
    size_t pending;
    store_fn *fn;
    void *self;
    struct item items[ITEMS];
};

static void on_item_ensured(void *self, const struct nats_error *error);

static void on_stream_ensured(void *self, const struct nats_error *error,
                              const struct nats_stream_info *info)
{
    (void)info;
    on_item_ensured(self, error);
}

static void on_consumer_ensured(void *self, const struct nats_error *error,
                                const struct nats_consumer_info *info)
{
    (void)info;
    on_item_ensured(self, error);
}

/* A message with the header "Nats-Rollup: all" takes the place of everything in its stream. */
static bool is_written_by_peels(const char *bucket)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *prefix = arena_printf(&arena, "$KV.%s.", bucket);
    struct grants grants;
    struct err err;

    if (grant_patterns(&arena, GRANT_PEEL, &grants, &err) < 0)
        return true;
    for (size_t i = 0; i < grants.allow[GRANT_PUBLISH].n; i++)
        if (str_starts(str_from(grants.allow[GRANT_PUBLISH].p[i]), str_from(prefix)))
            return true;
    return false;
}

static int64_t share_of(const struct item *item, int64_t parts)
{
    const int64_t bytes = item->home->total / SHARES * parts;

    if (item->is_unlimited)
        return 0;
    return bytes > SHARE_MIN ? bytes : SHARE_MIN;
}

static int send_ensure_item(struct item *item, struct err *err)
{
    const struct ensure *ensure = item->home;
    struct nats_js with_time = ensure->js, *js = &with_time;
    size_t n = item->number;

    if (!js->only_compare)
        js->timeout = (item->attempts + 1) * ATTEMPT_NS;

    if (n < BUCKETS_AT) {
        struct nats_stream_config config = streams[n];

        config.replicas = item->replicas;
        config.max_bytes = share_of(item, config.max_bytes);
        config.keeps_max_bytes = ensure->keeps_bytes;
        return nats_stream_ensure(js, &config, on_stream_ensured, item, err);
    }
    if (n < OBJECTS_AT) {
        struct nats_kv_config config = buckets[n - BUCKETS_AT];

        config.replicas = item->replicas;
        config.no_rollup = is_written_by_peels(config.bucket);
        config.max_bytes = share_of(item, config.max_bytes);
        config.keeps_max_bytes = ensure->keeps_bytes;
        return nats_kv_ensure(js, &config, on_item_ensured, item, err);
    }
    if (n < CONSUMERS_AT) {
        struct nats_objects_config config = objects[n - OBJECTS_AT];

        config.replicas = item->replicas;
        config.max_bytes = share_of(item, config.max_bytes);
        config.keeps_max_bytes = ensure->keeps_bytes;
        return nats_objects_ensure(js, &config, on_item_ensured, item, err);
    }
    /* A consumer has as many replicas as its stream. */
    return nats_consumer_ensure(js, consumers[n - CONSUMERS_AT].stream,
                                &consumers[n - CONSUMERS_AT].config, on_consumer_ensured, item,
                                err);
}

static void begin_item(struct item *item)
{
    struct err err;

    item->home->pending++;
    if (send_ensure_item(item, &err) == 0)
        return;
    item->home->pending--;
    item->problem = arena_strdup(&item->home->arena, err.text);
}

static void begin_items(struct ensure *ensure, size_t from, size_t to)
{
    ensure->pending++; /* ours: nothing ends before all have begun */
    for (size_t i = from; i < to; i++)
        begin_item(&ensure->items[i]);
    ensure->pending--;
}

static void finish_ensure(struct ensure *ensure)
{
    struct arena arena = ensure->arena;
    const char *problems[ITEMS];
    struct store_result result = { .problems = problems };

    for (size_t i = 0; i < ITEMS; i++)
        if (ensure->items[i].problem)
            problems[result.problem_count++] = ensure->items[i].problem;
    ensure->fn(ensure->self, &result);
    arena_done(&arena); /* `ensure` is in it */
}

/* Less of everything, also of what has its share already. */
static void try_less(struct ensure *ensure)
{
    ensure->total /= 2;
    ensure->has_no_room = ensure->keeps_bytes = false;
    for (size_t i = 0; i < CONSUMERS_AT; i++)
        ensure->items[i].problem = NULL;
    begin_items(ensure, 0, CONSUMERS_AT);
}

/* They hold too much for a limit with free room: a running fleet continues without one, and a
 * comparison reports it. */
static void try_without(struct ensure *ensure)
{
    ensure->has_no_room = ensure->may_halve = false;
    for (size_t i = 0; i < CONSUMERS_AT; i++) {
        struct item *item = &ensure->items[i];

        if (!item->has_no_room)
            continue;
        item->is_unlimited = true;
        item->problem = NULL;
        begin_item(item);
    }
}

/* Streams first, then the consumers of those. */
static void send_next_item(struct ensure *ensure)
{
    if (ensure->pending == 0 && ensure->has_no_room && ensure->may_halve) {
        if (ensure->total / 2 >= STORE_BYTES_MIN)
            try_less(ensure);
        else
            try_without(ensure);
    }
    if (ensure->pending == 0 && !ensure->has_begun_consumers) {
        ensure->has_begun_consumers = true;
        begin_items(ensure, CONSUMERS_AT, ITEMS);
    }
    if (ensure->pending == 0)
        finish_ensure(ensure);
}

/* Number of replicas to try next after the server refused; 0: final. A stream that already has that
 * many was not changed, so a server that is down does not reduce it. */
static int64_t next_replicas(const struct item *item, const struct nats_error *error)
{
    if (!item->home->is_auto || item->number >= CONSUMERS_AT || item->replicas <= AUTO_SINGLE)
        return 0;
    return error->code == NO_SUITABLE_PEERS ? item->replicas - 1 : 0;
}

static bool is_worth_another(const struct item *item, const struct nats_error *error)
{
    return error->fault == NATS_FAULT_TIMEOUT && item->attempts + 1 < ATTEMPTS &&
           !item->home->js.only_compare;
}

static void on_item_ensured(void *self, const struct nats_error *error)
{
    struct item *item = self;
    struct ensure *ensure = item->home;
    int64_t fewer = error ? next_replicas(item, error) : 0;

    ensure->pending--;
    item->has_no_room = error && error->code == NATS_JS_NO_STORAGE;
    ensure->has_no_room |= item->has_no_room;
    if (fewer > 0) {
        item->replicas = fewer;
        begin_item(item);
    } else if (error && is_worth_another(item, error)) {
        item->attempts++;
        begin_item(item);
    } else if (error) {
        item->problem = arena_strdup(&ensure->arena, error->text);
    }
    send_next_item(ensure);
}

/* A master that made streams now would be in the way of those of the backup. A bus that does not
 * answer does not answer the rest either. */
static void on_restore_seen(void *self, const struct nats_error *error,
                            const struct nats_stream_info *info)
{
    struct ensure *ensure = self;

    (void)error;
    if (!info) {
        begin_items(ensure, 0, CONSUMERS_AT);
    } else {
        ensure->has_begun_consumers = true;
        ensure->items[0].problem = "the restore of a backup is not finished: run 'zester-master "
                                   "restore' again";
    }
    if (ensure->pending == 0)
        finish_ensure(ensure);
}

static int look_for_restore(struct ensure *ensure, struct err *err)
{
    struct nats_js js = ensure->js;

    js.timeout = ATTEMPT_NS;
    return nats_stream_info(&js, STORE_RESTORE, on_restore_seen, ensure, err);
}

int store_ensure(const struct nats_js *js, const struct store_options *options, store_fn *fn,
                 void *self, struct err *err)
{
    struct arena arena = ARENA_INIT;
    int64_t start = nats_conn_is_clustered(js->conn) ? AUTO_START : AUTO_SINGLE;
    struct ensure *ensure;

    if (options->replicas < 0 || options->replicas > STORE_REPLICAS_MAX)
        return err_set(err, ERR_INVALID, "replicas must be 0 (automatic) to %d, not %" PRId64,
                       STORE_REPLICAS_MAX, options->replicas);
    ensure = ARENA_NEW(&arena, struct ensure);
    *ensure = (struct ensure){
        .arena = arena, .js = *js, .is_auto = options->replicas == 0, .fn = fn, .self = self
    };
    ensure->js.only_compare = options->only_compare;
    ensure->total = options->max_bytes ? options->max_bytes : STORE_BYTES_DEFAULT;
    ensure->keeps_bytes = ensure->may_halve = options->max_bytes == 0;
    for (size_t i = 0; i < ITEMS; i++)
        ensure->items[i] = (struct item){
            .home = ensure,
            .number = i,
            .replicas = options->only_compare ? 0
                        : ensure->is_auto     ? start
                                              : options->replicas,
        };
    if (look_for_restore(ensure, err) == 0)
        return 0;
    arena = ensure->arena;
    arena_done(&arena);
    return -1;
}
