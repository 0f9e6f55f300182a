/* Peels: list, facts, settings, target resolution. */
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/bus_time.h"
#include "fleet/view/peels.h"
#include "fleet/master/api/handlers.h"
#include "fleet/master/api/job_record.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/services.h"
#include "fleet/nats/request.h"
#include "core/sys/clock.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/question.h"
#include "fleet/wire/subject.h"

#define PEELS    struct api_peels_query
#define FACTS    struct api_facts_query
#define SETTINGS struct api_settings_query
#define TARGETS  struct api_targets_query

/* Time limit for the publishing master to render settings. */
#define SETTINGS_NS (15 * CLOCK_SECOND)

/* clang-format off */
const struct param api_peels_query[] = {
    API_PAGE(PEELS, page, 10000, "1000"),
    { 0 },
};

const struct param api_facts_query[] = {
    PARAM("key", STR, FACTS, key, "only this fact, with dots between its parts: `os.family`", .flags = PARAM_FILLED, .kind_text = "KEY"),
    { 0 },
};

const struct param api_settings_query[] = {
    PARAM("key", STR, SETTINGS, key, "only this setting, with dots or colons between its parts", .flags = PARAM_FILLED, .kind_text = "KEY"),
    { 0 },
};

const struct param api_targets_query[] = {
    PARAM("expr", STR, TARGETS, expr, "the target, as on the command line: `G@os.family:debian and web*`", .flags = PARAM_REQUIRED | PARAM_FILLED, .kind_text = "TARGET"),
    API_PAGE(TARGETS, page, 100000, "10000"),
    { 0 },
};
/* clang-format on */

static bool has_roster(struct api_call *call)
{
    if (roster_is_seeded(master_roster(call->master)))
        return true;
    api_fail_later(call, "this master has not read all facts yet");
    return false;
}

/* --- list --------------------------------------------------------------------------- */

/* A page of peels; their data is read from one bucket after the other. */
struct listing {
    struct fleet_peels peels;
    size_t total, bucket;
};

static void take_beat(struct fleet_peels *peels, const struct nats_kv_entry *entry)
{
    (void)fleet_peels_take_beat(peels, entry);
}

static const struct {
    enum store_bucket bucket;
    void (*take)(struct fleet_peels *peels, const struct nats_kv_entry *entry);
} buckets[] = {
    { STORE_PEEL_HEARTBEAT, take_beat },
    { STORE_PEEL_PRESENCE, fleet_peels_take_presence },
};

struct seen_names {
    struct arena *arena;
    VEC(const char *) list;
};

static void add_peel_name(void *self, struct str peel, int64_t seen)
{
    struct seen_names *names = self;

    (void)seen; /* taken from heartbeats, in readable form */
    VEC_PUSH_IN(names->arena, &names->list, arena_str(names->arena, peel).p);
}

static void select_page(struct api_call *call, struct listing *listing)
{
    const PEELS *query = call->query;
    const struct roster *roster = master_roster(call->master);
    struct seen_names names = { .arena = &call->arena };
    size_t from, to;

    roster_each(roster, add_peel_name, &names);
    api_sort(names.list.p, names.list.n);
    api_page_range(&query->page, names.list.n, &from, &to);
    *listing = (struct listing){ .peels = FLEET_PEELS_INIT(&call->arena), .total = names.list.n };
    for (size_t i = from; i < to; i++) {
        const struct str id = str_from(names.list.p[i]);

        fleet_peels_note_facts(&listing->peels, id, roster_facts(roster, id));
    }
}

static void answer_peels(struct api_call *call, struct listing *listing)
{
    struct value_list *list = value_list_new(&call->arena, listing->peels.list.n);
    const struct value body = value_list(list);
    const int64_t now = bus_time();

    fleet_peels_end(&listing->peels);
    VEC_EACH (&listing->peels.list, peel)
        value_list_push(&call->arena, list, fleet_peel_value(&call->arena, *peel, now));
    api_answer_page(call, &body, listing->total);
}

static void read_bucket(struct api_call *call);

static void on_peel_entry(void *self, const struct nats_error *error,
                          const struct nats_kv_entry *entry)
{
    struct api_call *call = self;
    struct listing *listing = call->work;

    if (entry) {
        if (entry->change == NATS_KV_PUT)
            buckets[listing->bucket].take(&listing->peels, entry);
    } else if (error) {
        api_fail_bus(call, error);
    } else {
        listing->bucket++;
        read_bucket(call);
    }
}

static void read_bucket(struct api_call *call)
{
    struct listing *listing = call->work;
    struct nats_kv kv;
    struct err err;

    if (listing->bucket == ARRAY_LEN(buckets)) {
        answer_peels(call, listing);
        return;
    }
    kv = api_bucket(call->master, buckets[listing->bucket].bucket);
    if (nats_kv_list(&kv, NULL, on_peel_entry, call, &err) < 0)
        api_fail_later(call, err.text);
}

void api_list_peels(struct api_call *call)
{
    if (!has_roster(call))
        return;
    call->work = ARENA_NEW(&call->arena, struct listing);
    select_page(call, call->work);
    read_bucket(call);
}

/* --- facts -------------------------------------------------------------------------- */

void api_show_facts(struct api_call *call)
{
    const FACTS *query = call->query;
    const struct value *facts, *v;
    char id[PEEL_ID_SIZE];
    struct err err;

    if (!has_roster(call))
        return;
    facts = peel_id_read(call->name, id, &err) < 0
                ? NULL
                : roster_facts(master_roster(call->master), str_from(id));
    v = facts && query->key ? value_path(facts, str_from(query->key), '.') : facts;
    if (!facts)
        api_fail(call, API_NOT_FOUND, "'%.128s' has published no facts", call->name);
    else if (!v)
        api_fail(call, API_NOT_FOUND, "'%.128s' has no fact '%s'", call->name, query->key);
    else
        api_answer(call, API_OK, v);
}

/* --- settings ----------------------------------------------------------------------- */

static void answer_settings(struct api_call *call, const struct question_shown *shown)
{
    const SETTINGS *query = call->query;
    const struct value *v = &shown->settings;

    if (query->key) {
        v = value_path(&shown->settings, str_from(query->key), ':');
        v = v ? v : value_path(&shown->settings, str_from(query->key), '.');
    }
    if (shown->err[0])
        api_fail(call, API_NOT_FOUND, "'%.128s': %s", call->name, shown->err);
    else if (!v)
        api_fail(call, API_NOT_FOUND, "'%.128s' has no setting '%s'", call->name, query->key);
    else
        api_answer(call, API_OK, v);
}

static void on_shown(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct api_call *call = self;
    struct question_shown shown;
    struct err err;

    if (error)
        api_fail_later(call, "no master that publishes settings answers");
    else if (record_decode(&call->arena, &question_shown_type, 1, msg->payload, &shown, &err) < 0)
        api_fail_later(call, err.text);
    else
        answer_settings(call, &shown);
}

/* The publishing master answers, and writes the audit line. */
void api_show_settings(struct api_call *call)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct question_settings question = { .by = call->asker.user };
    char id[PEEL_ID_SIZE];
    struct err err;

    if (peel_id_read(call->name, id, &err) < 0) {
        api_fail(call, API_NOT_FOUND, "%s", err.text);
        return;
    }
    question.peel = id;
    if (record_encode(&bytes, &question_settings_type, &question, &err) < 0 ||
        nats_request(
            call->master->js.conn,
            &(struct nats_pub){ .subject = str_from(subject_template(SUBJECT_SETTINGS_SHOW)),
                                .payload = buf_view(&bytes) },
            SETTINGS_NS, on_shown, call, NULL, &err) < 0)
        api_fail_later(call, err.text);
}

/* --- targets ------------------------------------------------------------------------ */

static void answer_targets(struct api_call *call, const struct param_strs *peels)
{
    const TARGETS *query = call->query;
    struct value names;
    size_t from, to;

    api_page_range(&query->page, peels->n, &from, &to);
    names = fleet_names_value(&call->arena, (struct param_strs){ to - from, peels->p + from });
    api_answer_page(call, &names, peels->n);
}

void api_list_targets(struct api_call *call)
{
    api_resolve(call, ((const TARGETS *)call->query)->expr, answer_targets);
}
