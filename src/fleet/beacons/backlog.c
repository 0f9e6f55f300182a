#include "fleet/beacons/backlog.h"

void *backlog_first(const struct backlog *backlog)
{
    return backlog->count > 0 ? backlog->entries[backlog->first] : NULL;
}

void *backlog_take(struct backlog *backlog)
{
    void *entry = backlog_first(backlog);

    if (entry) {
        backlog->first = (backlog->first + 1) % BACKLOG_MAX;
        backlog->count--;
    }
    return entry;
}

void *backlog_push(struct backlog *backlog, void *entry)
{
    void *gone = backlog->count == BACKLOG_MAX ? backlog_take(backlog) : NULL;

    backlog->entries[(backlog->first + backlog->count++) % BACKLOG_MAX] = entry;
    return gone;
}
