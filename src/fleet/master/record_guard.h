/*
 * record_guard - records that are in the bus and nowhere else survive being overwritten with an
 * answer of a server, which a peel that may write none of them can cause
 * (docs/explanation/security.md, "If a machine is hostile").
 *
 * The service "records" keeps the last good entry of each key that it sees. In place of what is not
 * an entry (fleet/nats/kv.h, `is_answer`) it writes that one again, or the last good one of the
 * bucket's history when that is later, or when this master has just started. What never was there
 * is removed. Every master does it; the comparison of revisions lets one win. Leases are only
 * counted: their holders keep them (fleet/master/lease.h). Records of jobs that have ended and
 * earlier revisions of trees are too many to keep: they come from the history alone.
 *
 * Memory: O(records), without those of jobs and trees. Threads: the loop's.
 */
#ifndef FLEET_MASTER_RECORD_GUARD_H
#define FLEET_MASTER_RECORD_GUARD_H

#include "fleet/master/master.h"

extern const struct master_service record_guard_service;

#endif
