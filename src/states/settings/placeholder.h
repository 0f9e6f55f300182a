/*
 * placeholder - the place of a secret in a text that everybody may read.
 *
 *     __ZESTER_SECRET:<name>__             in a published file
 *     __ZESTER_SECRET:<random>:<number>__  its mark, while the file is rendered
 *
 * Names are made from paths: letters, digits and ./:-~ stand for themselves, so does '_' that is
 * not beside another one; any other byte is %XX. So a name never contains the end of its
 * placeholder, nor anything that YAML or a template would read.
 *
 * Anybody can write a placeholder: into a fact, or into what is shared with other machines. So only
 * those count that stand in the text of a file itself. Before it is rendered they become marks that
 * nobody can know beforehand, and only marks are filled in afterwards; everything else that looks
 * like one is plain text.
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
/* Of a text with its secrets filled in. */
#define PLACEHOLDER_TEXT_MAX ((size_t)32 << 20)

/* The text of a secret; it may be borrowed until the next call. */
typedef int placeholder_fn(void *self, struct str name, struct str *ret_text, struct err *err);

/* Append a path as (a part of) a name. */
void placeholder_add_name(struct buf *out, struct str path);

/* Those of one rendering. */
struct placeholder_marks {
    struct arena *arena;
    char prefix[sizeof(PLACEHOLDER_BEGIN) + HEX_SIZE(PLACEHOLDER_RANDOM_SIZE)];
    VEC(struct str) names; /* by number */
};

/* `random` is from a source that nobody else can guess. */
void placeholder_marks_init(struct placeholder_marks *marks, struct arena *arena,
                            const unsigned char random[static PLACEHOLDER_RANDOM_SIZE]);
/* The text of a file with marks for its placeholders. Fails with ERR_INVALID for one that does not
 * end. */
int placeholder_mark(struct placeholder_marks *marks, struct str text, struct str *ret,
                     struct err *err);
/* Fill in the marks of every text of a value, which is changed; such a text is VALUE_SECRET.
 * Returns -1 when it added to `diags`: for every text for which `open` fails, and for a mark in a
 * key. */
int placeholder_fill(const struct placeholder_marks *marks, struct value *v, placeholder_fn *open,
                     void *self, struct diags *diags);
/* Messages from number `from` on show placeholders again, so that the same mistake has the same
 * words each time. */
void placeholder_show(const struct placeholder_marks *marks, struct diags *diags, size_t from);

#endif
