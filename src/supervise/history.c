#include "supervise/history.h"

#include <stdio.h>

void history_add(struct history *history, const struct history_entry *entry, const char *cause)
{
    struct history_entry *place = &history->entries[history->count % HISTORY_LENGTH];

    *place = *entry;
    place->number = history->count++;
    (void)snprintf(place->cause, sizeof(place->cause), "%s", cause);
}

const struct history_entry *history_get(const struct history *history, uint64_t number)
{
    if (number >= history->count || history->count - number > HISTORY_LENGTH)
        return NULL;
    return &history->entries[number % HISTORY_LENGTH];
}

const struct history_entry *history_find(const struct history *history, size_t back)
{
    return back < history->count ? history_get(history, history->count - 1 - back) : NULL;
}
