/*
 * sealed tree - seals complete settings files, for exchange between masters.
 *
 * Peels get files with placeholders for secrets (states/settings/sanitize.h). A master that takes
 * over needs the originals; each is sealed with its path, to the key that all masters share. Equal
 * files seal to equal bytes, so unchanged ones are not written again.
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
/* The reverse. Fails with ERR_INVALID for bytes that were not sealed for this path. */
tree_set_prepare_fn sealed_tree_open;

#endif
