/*
 * announce - events that a master makes: zester.event._master.<tag>, kept until the stream has
 * them.
 *
 *     announce_event(master, "enroll/pending/enr-...", &data, 0, err);
 *
 * Threads: the loop's.
 */
#ifndef MASTER_ANNOUNCE_H
#define MASTER_ANNOUNCE_H

#include <stdint.h>

struct err;
struct master;
struct value;

/* Events that wait for the bus; the newest are dropped beyond. */
#define ANNOUNCE_QUEUE_MAX 4096

/* `tag` has slashes; `data` is a map. Fails with ERR_INVALID for a bad tag, with ERR_BUSY when too
 * many wait. */
int announce_event(struct master *master, const char *tag, const struct value *data, int32_t depth,
                   struct err *err);

struct record_type;
struct str;

/* Answer a request of an operator; what fails is logged. */
void master_answer(struct master *master, struct str subject, const struct record_type *type,
                   const void *record);

#endif
