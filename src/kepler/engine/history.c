#include "kepler/engine/history.h"

#include <stdio.h>
#include <string.h>

static void keep_cause(char *place, const char *cause)
{
    static const char mark[] = "...";
    size_t n = strlen(cause);
    bool fits = n < HISTORY_CAUSE_SIZE;

    if (!fits)
        n = HISTORY_CAUSE_SIZE - sizeof(mark);
    while (!fits && n > 0 && ((unsigned char)cause[n] & 0xc0) == 0x80)
        n--; /* do not split a character */
    (void)snprintf(place, HISTORY_CAUSE_SIZE, "%.*s%s", (int)n, cause, fits ? "" : mark);
}

void history_add(struct history *history, const struct history_entry *entry, const char *cause)
{
    struct history_entry *place = &history->entries[history->count % HISTORY_LENGTH];

    *place = *entry;
    place->number = history->count++;
    keep_cause(place->cause, cause);
}

void history_put(struct history *history, const struct history_entry *entry, const char *cause)
{
    if (entry->number < history->count)
        return;
    if (entry->number > history->count)
        history->first = entry->number;
    history->count = entry->number;
    history_add(history, entry, cause);
}

const struct history_entry *history_get(const struct history *history, uint64_t number)
{
    if (number < history->first || number >= history->count ||
        history->count - number > HISTORY_LENGTH)
        return NULL;
    return &history->entries[number % HISTORY_LENGTH];
}

const struct history_entry *history_find(const struct history *history, size_t back)
{
    return back < history->count ? history_get(history, history->count - 1 - back) : NULL;
}

const struct history_page *history_page(const struct history_book *book, const char *name)
{
    for (size_t i = 0; i < book->count; i++)
        if (strcmp(book->pages[i]->name, name) == 0)
            return book->pages[i];
    return NULL;
}
