/*
 * time_text - a moment as RFC 3339 text, in UTC: "2024-02-29T12:00:00.25Z".
 *
 * The fraction is as short as it can be and left out when zero. Years beyond
 * four digits are printed with all of theirs. Nothing here reads a clock.
 *
 * Threads: any.
 */
#ifndef CORE_DATA_TIME_TEXT_H
#define CORE_DATA_TIME_TEXT_H

#include <stdbool.h>

struct arena;
struct buf;
struct value_time;

void time_print(struct buf *out, struct value_time time);
/* The same, as a text in the arena. */
const char *time_text(struct arena *arena, struct value_time time);

bool time_is_later(struct value_time a, struct value_time b);

#endif
