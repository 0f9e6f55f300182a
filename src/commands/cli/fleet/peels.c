#include "commands/cli/fleet/peels.h"

#include "core/base/err.h"
#include "commands/cli/fleet/bucket.h"
#include "fleet/view/trees.h"
#include "fleet/wire/peel_id.h"

static void on_peel_facts(void *self, const struct nats_kv_entry *entry)
{
    fleet_peels_take_facts(self, entry);
}

static void on_heartbeat_entry(void *self, const struct nats_kv_entry *entry)
{
    (void)fleet_peels_take_beat(self, entry);
}

static void on_presence(void *self, const struct nats_kv_entry *entry)
{
    fleet_peels_take_presence(self, entry);
}

int fleet_peels_read(struct fleet *fleet, struct fleet_peels *peels, struct err *err)
{
    if (fleet_bucket_each(fleet, STORE_FACTS, NULL, on_peel_facts, peels, err) < 0 ||
        fleet_bucket_each(fleet, STORE_PEEL_HEARTBEAT, NULL, on_heartbeat_entry, peels, err) < 0)
        return -1;
    if (fleet_bucket_each(fleet, STORE_PEEL_PRESENCE, NULL, on_presence, peels, err) < 0 &&
        err->code != ERR_NOT_FOUND) /* masters of an older version have no such bucket */
        return -1;
    fleet_learn_time(fleet); /* heartbeats are compared with it */
    fleet_peels_end(peels);
    return 0;
}

static void on_master_entry(void *self, const struct nats_kv_entry *entry)
{
    fleet_trees_take_master(self, entry);
}

int fleet_peels_read_trees(struct fleet *fleet, struct fleet_trees *ret, struct err *err)
{
    *ret = (struct fleet_trees){ .arena = fleet->arena };
    return fleet_bucket_each(fleet, STORE_MASTER_HEARTBEAT, NULL, on_master_entry, ret, err);
}

int fleet_peels_find(struct fleet *fleet, const char *name, struct fleet_peels *all,
                     struct fleet_peels *ret_one, struct err *err)
{
    char id[PEEL_ID_SIZE];
    struct fleet_peel *peel;

    if (peel_id_encode(str_from(name), id, err) < 0 || fleet_peels_read(fleet, all, err) < 0)
        return -1;
    peel = map_find(&all->by_id, str_from(id));
    if (!peel)
        return err_set(err, ERR_NOT_FOUND, "no peel '%.256s'", name);
    map_set(&ret_one->by_id, str_from(peel->id), peel);
    VEC_PUSH_IN(ret_one->arena, &ret_one->list, peel);
    return 0;
}
