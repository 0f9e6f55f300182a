/* Which masters and online peels use what is published, by their heartbeats. */
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/doctor/doctor.h"
#include "fleet/bus/bus_time.h"
#include "fleet/nats/kv.h"
#include "fleet/view/trees.h"

/* Limit on names shown. */
#define NAMED_MAX 3

struct tree_roll {
    struct fleet_trees trees; /* first: what is published */
    struct fleet_reach reach;
};

static void on_doctor_published(void *self, const struct nats_kv_entry *entry)
{
    fleet_trees_take_master(&((struct tree_roll *)self)->trees, entry);
}

static void on_doctor_master(void *self, const struct nats_kv_entry *entry)
{
    fleet_reach_take_master(&((struct tree_roll *)self)->reach, entry);
}

static void on_doctor_peel(void *self, const struct nats_kv_entry *entry)
{
    fleet_reach_take_peel(&((struct tree_roll *)self)->reach, entry);
}

static int read_tree_roll(struct doctor *doctor, struct tree_roll *roll, struct err *err)
{
    roll->trees.arena = doctor->arena;
    if (fleet_bucket_each(doctor->fleet, STORE_MASTER_HEARTBEAT, NULL, on_doctor_published, roll,
                          err) < 0)
        return -1;
    if (roll->trees.time == 0)
        return err_set(err, ERR_NOT_FOUND, "no master is running");
    fleet_reach_init(&roll->reach, doctor->arena, &roll->trees.published);
    if (fleet_bucket_each(doctor->fleet, STORE_MASTER_HEARTBEAT, NULL, on_doctor_master, roll,
                          err) < 0)
        return -1;
    return fleet_bucket_each(doctor->fleet, STORE_PEEL_HEARTBEAT, NULL, on_doctor_peel, roll, err);
}

/* Folders that are not published, and rules that are not loaded. */
static void report_master_problems(struct doctor *doctor, const struct tree_roll *roll)
{
    MAP_EACH (&roll->reach.masters, entry) {
        const struct fleet_reach_one *one = entry->value;

        if (one->trees.problem[0])
            doctor_add(doctor,
                       (struct doctor_finding){
                           "trees", DOCTOR_WARN,
                           arena_printf(doctor->arena, "%s: %s", one->id, one->trees.problem),
                           "correct the file, then 'zester fileserver update'" });
    }
}

static void report_missing(struct doctor *doctor, const struct fleet_reach_result *result)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_printf(&text, "%zu of %zu masters and online peels do not use what is published",
               result->missing.n, result->masters + result->peels);
    VEC_EACH (&result->missing, one) {
        const size_t place = (size_t)(one - result->missing.p);

        if (place < NAMED_MAX)
            buf_printf(&text, "%s %s (%s)", place == 0 ? ":" : ",", one->name, one->why);
    }
    if (result->missing.n > NAMED_MAX)
        buf_add_text(&text, ", ...");
    doctor_add(doctor,
               (struct doctor_finding){ "trees", DOCTOR_WARN, buf_copy(&text, doctor->arena).p,
                                        "see the column TREES of 'zester peel list'" });
}

void doctor_check_trees(struct doctor *doctor)
{
    struct tree_roll roll = { 0 };
    struct fleet_reach_result result;
    struct err err;

    if (read_tree_roll(doctor, &roll, &err) < 0)
        return; /* the checks of heartbeats report it */
    report_master_problems(doctor, &roll);
    fleet_reach_count(&roll.reach, bus_time(), &result);
    if (result.missing.n > 0)
        report_missing(doctor, &result);
    else
        doctor_add_ok(doctor, "trees",
                      arena_printf(doctor->arena,
                                   "%zu masters and %zu online peels use what is published",
                                   result.masters, result.peels));
}
