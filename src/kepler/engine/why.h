/*
 * why - how a service got where it is, and what it waits for.
 *
 * A value, for programs and for the way to a client; in words: kepler/engine/why_text.h. It is a
 * map:
 *
 *     service, status, reason, exit_code, signal, restarts
 *     doing        what it is busy with, in words; or null
 *     waits_for    list of { service, condition, status, doing, timeout_left, waits_for },
 *                  down to those that wait for nobody; each service is listed once; and of
 *                  { state, status, timeout_left }, states of this machine
 *     levels       how deep that goes
 *     history      list of { time, wall, number, from, to, cause, chain }, the latest first;
 * `chain` is the changes of other services that led to this one, each by the next, down to the
 * first cause that is still known: list of { service, time, from, to, cause }
 *
 * Memory: the arena. Threads: the loop's.
 */
#ifndef KEPLER_ENGINE_WHY_H
#define KEPLER_ENGINE_WHY_H

#include <stdint.h>

#include "core/data/value.h"

struct arena;
struct engine;
struct history;
struct history_book;

/* Maximum levels of waiting, and links of a chain, that are reported. */
#define WHY_DEPTH_MAX 64

/* The history alone, of one of a book. */
struct value why_history(struct arena *arena, const struct history_book *book,
                         const struct history *history);
struct value why_value(struct arena *arena, const struct engine *engine, uint32_t index);

#endif
