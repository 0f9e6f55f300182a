/* Running masters and peels, by their heartbeats. */
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/store.h"
#include "commands/cli/fleet/doctor/doctor.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "fleet/wire/liveness.h"

#define ANSWER_NS (INT64_C(5) * CLOCK_SECOND)
/* Limit on names shown of peels with another version. */
#define NAMED_MAX 3

struct roll {
    struct arena *arena;
    bool is_done;
    size_t count, others; /* others: of another version */
    struct buf names;     /* of some of them */
};

static void count_one(struct roll *roll, struct str name, const char *version)
{
    roll->count++;
    if (!version || !version[0] || strcmp(version, ZESTER_VERSION) == 0)
        return;
    if (roll->others++ < NAMED_MAX)
        buf_printf(&roll->names, "%s%.*s %s", roll->others > 1 ? ", " : ": ", STR_ARG(name),
                   version);
}

static void on_master(void *self, const struct nats_kv_entry *entry)
{
    struct roll *roll = self;
    struct liveness_master master = { 0 };
    struct err err;

    if (record_decode(roll->arena, &liveness_master_type, 1, arena_str(roll->arena, entry->value),
                      &master, &err) < 0)
        master.version = NULL;
    count_one(roll, entry->key, master.version);
}

static void on_peel(void *self, const struct nats_kv_entry *entry)
{
    struct roll *roll = self;
    struct liveness_peel peel = { 0 };
    struct err err;

    if (record_decode(roll->arena, &liveness_peel_type, 1, arena_str(roll->arena, entry->value),
                      &peel, &err) < 0)
        peel.version = NULL;
    count_one(roll, entry->key, peel.version);
}

static void on_all(void *self)
{
    ((struct roll *)self)->is_done = true;
}

/* A missing bucket is empty. */
static void on_presence_failed(void *self, const struct nats_error *error)
{
    (void)error;
    on_all(self);
}

/* Heartbeats in a bucket, and advice when there are none. */
struct kind {
    const char *check;
    enum store_bucket bucket;
    void (*entry)(void *self, const struct nats_kv_entry *entry);
    const char *verb;
    struct doctor_finding nobody;
};

static int call_roll(struct doctor *doctor, const struct kind *kind, struct roll *roll,
                     struct err *err)
{
    const struct nats_kv kv = { .js = doctor->fleet->js,
                                .bucket = store_bucket_name(kind->bucket) };
    struct nats_kv_watch *watch;
    int result;

    watch = nats_kv_watch_new(&kv,
                              &(struct nats_kv_watch_options){ .without_deletes = true,
                                                               .entry = kind->entry,
                                                               .caught_up = on_all,
                                                               .failed = on_presence_failed,
                                                               .self = roll },
                              err);
    if (!watch)
        return -1;
    result = fleet_wait(doctor->fleet, &roll->is_done, ANSWER_NS, err);
    nats_kv_watch_free(watch);
    return result;
}

static void check_kind(struct doctor *doctor, const struct kind *kind)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct roll roll = { .arena = &scratch, .names = BUF_INIT(BUF_NO_LIMIT) };
    struct err err;

    if (call_roll(doctor, kind, &roll, &err) < 0 || roll.count == 0)
        doctor_add(doctor, kind->nobody);
    else if (roll.others == 0)
        doctor_add_ok(doctor, kind->check,
                      arena_printf(doctor->arena, "%zu %s, of version " ZESTER_VERSION, roll.count,
                                   kind->verb));
    else
        doctor_add(doctor,
                   (struct doctor_finding){
                       kind->check, DOCTOR_WARN,
                       arena_printf(doctor->arena,
                                    "%zu %s, %zu of another version than this one "
                                    "(" ZESTER_VERSION ")%s%s",
                                    roll.count, kind->verb, roll.others, buf_text(&roll.names),
                                    roll.others > NAMED_MAX ? ", ..." : ""),
                       "install the same version everywhere" });
    buf_done(&roll.names);
}

void doctor_check_presence(struct doctor *doctor)
{
    static const struct kind kinds[] = {
        { "masters",
          STORE_MASTER_HEARTBEAT,
          on_master,
          "running",
          { "masters", DOCTOR_FAIL, "no master is running",
            "start zester-master and check its log" } },
        { "peels",
          STORE_PEEL_HEARTBEAT,
          on_peel,
          "connected",
          { "peels", DOCTOR_WARN, "no peel is connected",
            "add machines with the command that 'zester-master token' prints" } },
    };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        check_kind(doctor, &kinds[i]);
}
