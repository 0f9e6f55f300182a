/*
 * sealed tree - files of settings as masters hand them to one another: whole, and sealed.
 *
 * What peels get has placeholders for secrets (states/settings/sanitize.h). A master that takes
 * over needs the files themselves; they are sealed to the key that all masters share, each together
 * with its path. The same file gives the same bytes, so an unchanged one is not written again.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_MASTER_SETTINGS_SEALED_TREE_H
#define FLEET_MASTER_SETTINGS_SEALED_TREE_H

#include "core/base/str.h"
#include "fleet/master/files/tree_set.h"

struct arena;
struct err;

/* For fleet/master/files/tree_set.h; `self` is the account's key, with its seed. */
tree_set_prepare_fn sealed_tree_seal;
/* Back again. Fails with ERR_INVALID for bytes that were not sealed for this path. */
tree_set_prepare_fn sealed_tree_open;

#endif
