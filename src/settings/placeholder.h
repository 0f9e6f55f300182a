/*
 * placeholder - the place of a secret in a text that everybody may read.
 *
 *     __ZESTER_SECRET:<name>__
 *
 * Names are made from paths: letters, digits and ./:-~ stand for themselves, so does '_' that is
 * not beside another one; any other byte is %XX. So a name never contains the end of its
 * placeholder, nor anything that YAML or a template would read.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef SETTINGS_PLACEHOLDER_H
#define SETTINGS_PLACEHOLDER_H

#include "base/str.h"

struct arena;
struct buf;
struct diags;
struct err;
struct value;

#define PLACEHOLDER_BEGIN     "__ZESTER_SECRET:"
#define PLACEHOLDER_END       "__"
#define PLACEHOLDER_DEPTH_MAX 128
/* Of a text with its secrets filled in. */
#define PLACEHOLDER_TEXT_MAX ((size_t)32 << 20)

/* The text of a secret; it may be borrowed until the next call. */
typedef int placeholder_fn(void *self, struct str name, struct str *ret_text, struct err *err);

/* Append a path as (a part of) a name. */
void placeholder_add_name(struct buf *out, struct str path);

/* Fill in every text of a value, which is changed; such a text is VALUE_SECRET. Returns -1 when it
 * added to `diags`: for every text for which `open` fails, or whose placeholder does not end. */
int placeholder_fill(struct arena *arena, struct value *v, placeholder_fn *open, void *self,
                     struct diags *diags);

#endif
