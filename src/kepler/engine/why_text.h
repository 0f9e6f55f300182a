/*
 * why_text - the explanation of a service in words, from a value of kepler/engine/why.h.
 *
 * Apart from the engine, so that programs without one can print what a daemon has sent. Pure.
 */
#ifndef KEPLER_ENGINE_WHY_TEXT_H
#define KEPLER_ENGINE_WHY_TEXT_H

struct buf;
struct value;

/* A value of that shape, also one that came over the wire. */
void why_print(const struct value *why, struct buf *out);

#endif
