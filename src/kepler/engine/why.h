/*
 * why - explains how a service got into its state, and what it waits for.
 *
 * As a value, for programs and for the wire; as text: kepler/engine/why_text.h. It is a map:
 *
 *     service, status, reason, exit_code, signal, restarts
 *     doing        its current activity, as text; or null
 *     waits_for    list of { service, condition, status, doing, timeout_left, waits_for },
 *                  down to those that wait for nothing; each service is listed once; and of
 *                  { state, status, timeout_left }, states of this machine
 *     levels       the depth of waits_for
 *     history      list of { time, wall, number, from, to, cause, chain }, the latest first;
 * `chain` lists the changes of other services that led to this one, each caused by the next, down
 * to the first known cause: list of { service, time, from, to, cause }
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

/* Maximum reported levels of waiting, and links of a chain. */
#define WHY_DEPTH_MAX 64

/* Only the history, of one service in a book. */
struct value why_history(struct arena *arena, const struct history_book *book,
                         const struct history *history);
struct value why_value(struct arena *arena, const struct engine *engine, uint32_t index);

#endif
