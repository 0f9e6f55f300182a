/*
 * target - expressions that select machines; parsed once, matched often.
 *
 *     web*                        the id, as a glob; [^a] and [!a] both negate
 *     E@^web\d+                   the id holds a match of a regular expression
 *     L@web1,db1                  one of these ids; bare web1,db* are globs
 *     G@os.family:debian          a fact; bare os.family:debian is the same
 *     P@os.name:(debian|ubuntu)   a fact holds a match of a regular expression
 *     I@role:web, J@role:w.b      the same for settings
 *     S@10.0.0.0/8                an address of the machine; bare 10.0.0.0/8 is the same
 *     N@group                     a group of the configuration
 *     A and not (B or C)          `not` binds tightest, then `and`, then `or`; in any case
 *
 * A value is compared without regard to case and may be a glob; `key:*` matches when
 * the key exists. It may follow one of != < <= > >=: by number when both sides
 * are numbers, by version when both begin with a digit, else by byte. A missing key
 * matches nothing, not even !=. Keys descend through maps by '.' or ':', and
 * through lists by number or into any item; a list matches when an item does, a map
 * when a key, its `name` or its `title` does. Quotes keep blanks, colons and parentheses together:
 * G@os.pretty_name:"Debian GNU/Linux*". Ids are the same with dots or underscores.
 *
 * Memory: all of it is in the arena; texts are copied. Threads: any number may match.
 */
#ifndef LANGUAGE_TARGET_TARGET_H
#define LANGUAGE_TARGET_TARGET_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;
struct diags;
struct err;
struct target;
struct value;

#define TARGET_TEXT_MAX  ((size_t)64 << 10) /* bytes of an expression */
#define TARGET_TERMS_MAX 1000               /* matchers of it, those of its groups included */
#define TARGET_DEPTH_MAX 64                 /* parentheses and groups inside one another */
#define TARGET_ID_MAX    1024               /* bytes of an id that is matched */

enum target_type {
    TARGET_COMPOUND, /* all of the above; other types take the whole text as one matcher */
    TARGET_GLOB,
    TARGET_PCRE,
    TARGET_FACT,
    TARGET_FACT_PCRE,
    TARGET_SETTINGS,
    TARGET_SETTINGS_PCRE,
    TARGET_LIST,
    TARGET_SUBNET,
    TARGET_GROUP,
};
#define TARGET_TYPES (TARGET_GROUP + 1)

/* All may be NULL, and so may be a pointer to it. */
struct target_options {
    const struct value *groups; /* name -> expression, as text or as a list of words */
    const struct value *where;  /* the value that holds the expression, for places */
    bool any_group; /* groups are checked elsewhere: any name is valid and matches nothing here */
    /* Settings are unknown here: I@ and J@ are mistakes, since they would match no machine, and
     * every machine after `not`. */
    bool no_settings;
};

/* A machine. Facts and settings are maps or NULL. */
struct target_subject {
    struct str id;
    const struct value *facts, *settings;
};

/* A type by its usual names: "glob", "grain", "pillar_pcre", "ipcidr"... False when there is none;
 * `suggest_type` is then the nearest one, or NULL. */
bool target_type_find(struct str name, enum target_type *ret_type, const char **reterr_nearest);
/* The first of its names. */
const char *target_type_name(enum target_type type);

/* A text of a type as one expression: "E@^web". */
const char *target_fold(struct arena *arena, const char *text, enum target_type type);

/* Returns -1 when it added to `diags`, each with its column. */
int target_parse(struct arena *arena, struct str text, enum target_type type,
                 const struct target_options *options, const struct target **ret_target,
                 struct diags *diags);

/* The same for a text without a document: one line with the column of the first mistake. */
int target_read(struct arena *arena, struct str text, enum target_type type,
                const struct target_options *options, const struct target **ret_target,
                struct err *err);

/* Does it contain I@ or J@, also in its groups? */
bool target_uses_settings(const struct target *target);

/* Fails with ERR_LIMIT when a regular expression takes too many steps or the id is too long. */
int target_match(const struct target *target, const struct target_subject *subject,
                 bool *ret_matches, struct err *err);

#endif
