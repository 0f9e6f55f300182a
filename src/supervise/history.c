#include "supervise/history.h"

#include <stdio.h>

void history_add(struct history *history, enum status from, enum status to, int64_t wall,
                 const char *cause)
{
    struct history_entry *entry = &history->entries[history->count++ % HISTORY_LENGTH];

    entry->from = from;
    entry->to = to;
    entry->wall = wall;
    (void)snprintf(entry->cause, sizeof(entry->cause), "%s", cause);
}

const struct history_entry *history_find(const struct history *history, size_t back)
{
    if (back >= HISTORY_LENGTH || back >= history->count)
        return NULL;
    return &history->entries[(history->count - 1 - back) % HISTORY_LENGTH];
}
