/*
 * settings_tree - the settings files of this master, and the settings of each peel.
 *
 * Read once from disk: each file as published, with placeholders for secrets, and the secrets or
 * their references. From it the settings of any peel can be rendered, given its id and facts, as on
 * the peel itself; this also shows which secrets it needs.
 *
 * Memory: reference-counted. Threads: immutable; any.
 */
#ifndef FLEET_MASTER_SETTINGS_SETTINGS_TREE_H
#define FLEET_MASTER_SETTINGS_SETTINGS_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "fleet/master/files/tree_set.h"

struct arena;
struct diags;
struct err;
struct secret_ref;
struct settings_tree;
struct value;

/* For fleet/master/files/tree_set.h: a file of settings without its secrets. `self` may be NULL. */
tree_set_prepare_fn settings_tree_prepare;

struct settings_tree *settings_tree_read(const char *folder, struct err *err);
struct settings_tree *settings_tree_hold(struct settings_tree *tree);
/* NULL is fine. */
void settings_tree_drop(struct settings_tree *tree);

bool settings_tree_equal(const struct settings_tree *a, const struct settings_tree *b);
size_t settings_tree_secrets(const struct settings_tree *tree);

struct settings_secret {
    const char *name;
    struct str text;
};

/* The settings of a peel. */
struct settings_view {
    const struct value *settings;        /* a map */
    VEC(struct settings_secret) secrets; /* needed secrets, by name */
};

/* Fetches the value of a back-end reference, for this peel. */
typedef int settings_fetch_fn(void *self, const struct secret_ref *ref, const char *peel,
                              struct str *ret_text, struct err *err);

/* The recipient of settings. */
struct settings_recipient {
    const char *peel;
    const struct value *facts;
    settings_fetch_fn *fetch;
    void *self;
};

/* In the arena, but for the texts of secrets, which the tree or `fetch` holds. Fails with all
 * mistakes. */
int settings_tree_resolve(const struct settings_tree *tree, struct arena *arena,
                          const struct settings_recipient *who, struct settings_view *ret,
                          struct err *err);

/* For a check before the tree is published: with the tree's own secrets, and a mask in place of
 * those of back-ends. In the arena. `ret_unknown`: a template needs such a secret, or what other
 * machines share, so its mistakes may be none. All mistakes are in `diags`, with secrets masked. */
int settings_tree_try(const struct settings_tree *tree, struct arena *arena,
                      const struct settings_recipient *who, const struct value **ret,
                      bool *ret_unknown, struct diags *diags);

/* The public part: secret values, and texts made from them, are left out, and templates see
 * SECRETS_MASK instead. So nothing in it depends on a secret. In the arena; fails with all
 * mistakes. */
int settings_tree_disclose(const struct settings_tree *tree, struct arena *arena, const char *peel,
                           const struct value *facts, struct value *ret, struct err *err);

#endif
