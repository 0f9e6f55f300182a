/*
 * html - escaped text for a page.
 *
 * Characters with a meaning in HTML or SVG are written as entities, in elements and in quoted
 * attributes; control characters and bytes that are not UTF-8 become the replacement character,
 * line breaks and tabs stay. Pure.
 */
#ifndef CORE_DATA_HTML_H
#define CORE_DATA_HTML_H

#include "core/base/str.h"

struct buf;

void html_add(struct buf *out, struct str text);
void html_add_text(struct buf *out, const char *text);
/* At most `max` bytes of it, then the number of bytes left out: "... (3120 bytes more)". */
void html_add_cut(struct buf *out, struct str text, size_t max);

#endif
