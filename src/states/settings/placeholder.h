/*
 * placeholder - stands for a secret in a text that all machines may read.
 *
 *     __ZESTER_SECRET:<name>__             in a published file
 *     __ZESTER_SECRET:<random>:<number>__  its mark, while the file is rendered
 *
 * Names are encoded paths: letters, digits, ./:-~ and a single '_' stand for themselves; any other
 * byte is %XX. So a name never contains the end of its placeholder, or YAML or template syntax.
 *
 * Any machine can write a placeholder into a fact or a shared value. So only placeholders in the
 * text of a file itself are valid. Before rendering they become unpredictable marks, and only
 * marks are filled in afterwards; any other text that looks like a placeholder is plain text.
 *
 *     placeholder_marks_init -> { placeholder_mark -> render, parse -> placeholder_fill }...
 *
 * Pure. Memory: the arena. Threads: any; marks: one at a time.
 */
#ifndef STATES_SETTINGS_PLACEHOLDER_H
#define STATES_SETTINGS_PLACEHOLDER_H

#include "core/base/hex.h"
#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct buf;
struct diags;
struct err;
struct value;

#define PLACEHOLDER_BEGIN       "__ZESTER_SECRET:"
#define PLACEHOLDER_END         "__"
#define PLACEHOLDER_DEPTH_MAX   128
#define PLACEHOLDER_RANDOM_SIZE 16
/* Limit for a text with its secrets filled in. */
#define PLACEHOLDER_TEXT_MAX ((size_t)32 << 20)

/* Return the text of a secret; may be borrowed until the next call. */
typedef int placeholder_fn(void *self, struct str name, struct str *ret_text, struct err *err);

/* Append an encoded path to a name. */
void placeholder_add_name(struct buf *out, struct str path);

/* The marks of one rendering. */
struct placeholder_marks {
    struct arena *arena;
    char prefix[sizeof(PLACEHOLDER_BEGIN) + HEX_SIZE(PLACEHOLDER_RANDOM_SIZE)];
    VEC(struct str) names; /* by number */
};

/* `random` must be unpredictable. */
void placeholder_marks_init(struct placeholder_marks *marks, struct arena *arena,
                            const unsigned char random[static PLACEHOLDER_RANDOM_SIZE]);
/* Replace the placeholders in the text of a file by marks. Fails with ERR_INVALID for an
 * unterminated one. */
int placeholder_mark(struct placeholder_marks *marks, struct str text, struct str *ret,
                     struct err *err);
/* Fill in the marks in all texts of a value, in place; such a text becomes VALUE_SECRET. Returns -1
 * when it added to `diags`: for each text for which `open` fails, and for a mark in a key. */
int placeholder_fill(const struct placeholder_marks *marks, struct value *v, placeholder_fn *open,
                     void *self, struct diags *diags);
/* Show placeholders instead of marks in messages from number `from` on, so that the same mistake
 * always has the same text. */
void placeholder_show(const struct placeholder_marks *marks, struct diags *diags, size_t from);

#endif
