/*
 * why_text - prints the explanation of a service from a value of kepler/engine/why.h.
 *
 * Separate from the engine, so that programs without one can print a daemon's reply. Pure.
 */
#ifndef KEPLER_ENGINE_WHY_TEXT_H
#define KEPLER_ENGINE_WHY_TEXT_H

struct buf;
struct value;

/* Such a value, also one received from the wire. */
void why_print(const struct value *why, struct buf *out);

#endif
