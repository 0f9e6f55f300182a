/*
 * record_guard - repairs records that were overwritten with a server's answer, which a hostile peel
 * can cause without write permission (docs/explanation/security.md, "If a machine is hostile").
 *
 * The service "records" keeps the last good entry of each key. It restores a damaged one
 * (fleet/nats/kv.h, `is_answer`) from that, or from the bucket's history when that is later, or
 * when this master has just started. A key that never existed is removed. Every master does this;
 * the comparison of revisions lets one win. Leases are only counted: their holders repair them
 * (fleet/master/lease.h). Records of ended jobs and old tree revisions are too many to keep: they
 * are restored only from the history.
 *
 * Memory: O(records), without jobs and trees. Threads: the loop's.
 */
#ifndef FLEET_MASTER_RECORD_GUARD_H
#define FLEET_MASTER_RECORD_GUARD_H

#include "fleet/master/master.h"

extern const struct master_service record_guard_service;

#endif
