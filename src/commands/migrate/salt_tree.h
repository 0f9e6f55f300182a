/*
 * salt_tree - finds files of a tree of states or pillar that do not run unchanged, with advice.
 *
 * Files that end in .sls mean here what they mean in Salt, so that most are only copied. Remarks
 * are about other renderers than Jinja and YAML, values that are encrypted with GPG, and modules in
 * Python.
 *
 * Pure. Memory: that of the remarks. Threads: one.
 */
#ifndef COMMANDS_MIGRATE_SALT_TREE_H
#define COMMANDS_MIGRATE_SALT_TREE_H

#include <stdbool.h>

#include "core/base/str.h"

struct diags;

/* Names of folders and files that do not belong to the tree: ".git". */
bool salt_tree_skips(const char *name);

/* Does this name at the top of a folder tell that it is a clone of a formula? */
bool salt_tree_is_formula(const char *name);
/* At the top of such a folder: does it not belong to the states, as .github, Gemfile and test are?
 */
bool salt_tree_omits(const char *name);

/* Does a file belong into the new tree? `path` is relative to the tree, `name` is for remarks. */
bool salt_tree_takes(const char *path, const char *name, struct diags *remarks);

/* The content of a file that ends in .sls. Returns false when it has a remark. */
bool salt_tree_judge(const char *name, struct str text, struct diags *remarks);

#endif
