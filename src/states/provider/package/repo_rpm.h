/*
 * repo_rpm - repositories of dnf, yum and zypper: sections of `.repo` files.
 *
 * A repository is in a file named after it, or in a given one. Removing it removes its section from
 * every file of the folder.
 *
 * Memory: the arena of the host. Threads: any.
 */
#ifndef STATES_PROVIDER_PACKAGE_REPO_RPM_H
#define STATES_PROVIDER_PACKAGE_REPO_RPM_H

#include "states/provider/package/repo.h"

#define REPO_RPM_PARTS                                                                             \
    (PACKAGE_REPO_KEY_URL | PACKAGE_REPO_OPTIONS | PACKAGE_REPO_MIRRORLIST |                       \
     PACKAGE_REPO_HUMANNAME | PACKAGE_REPO_UNSIGNED | PACKAGE_REPO_CLEAN_FILE)

package_repo_fn repo_rpm_managed, repo_rpm_absent;

#endif
