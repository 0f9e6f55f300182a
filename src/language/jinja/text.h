/*
 * text - texts made by a rendering: collected in a buffer, kept in its arena.
 *
 *     AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
 *     buf_add_text(&out, "...");
 *     return text_finish(render, &out, 0, ret);
 *
 * A text that grows past TEXT_MAX is an error that names the limit.
 */
#ifndef LANGUAGE_JINJA_TEXT_H
#define LANGUAGE_JINJA_TEXT_H

#include "core/base/buf.h"
#include "core/data/value.h"

struct render;

/* Maximum bytes of one text value, and items of one list, that a template makes in one step. */
#define TEXT_MAX  ((size_t)64 << 20)
#define ITEMS_MAX ((size_t)4 << 20)

/* The content as a value with these flags (VALUE_SAFE); counts it against the limits. */
int text_finish(struct render *render, const struct buf *out, uint8_t flags, struct value *ret);
/* Fails when `bytes` (or `items`) exceed the maximum of one value; counts them otherwise. */
int text_expect(struct render *render, size_t bytes);
int text_expect_items(struct render *render, size_t items);

/* A part of `whole`, the text of a value: shared if possible. */
struct value text_part(struct render *render, const struct value *whole, size_t at, size_t n);
/* Is it a short ASCII text in lower case, as most are? False: another text. */
bool text_lower(struct render *render, const struct value *v, struct value *ret);
/* One character as a text; `c` must be ASCII. */
struct str text_ascii(unsigned char c);

#endif
