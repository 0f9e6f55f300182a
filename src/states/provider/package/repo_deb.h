/*
 * repo_deb - repositories of apt: lines and stanzas of sources, and their keys.
 *
 * A source is in a file named after the repository, or in a given one. Its key is kept beside it
 * and referenced by signed-by. Removing a repository by name removes the files created for it; a
 * 'deb' line is removed from every list that has it; with a file, one source of that file.
 *
 * Memory: the arena of the host. Threads: any.
 */
#ifndef STATES_PROVIDER_PACKAGE_REPO_DEB_H
#define STATES_PROVIDER_PACKAGE_REPO_DEB_H

#include "states/provider/package/repo.h"

#define REPO_DEB_PARTS                                                                             \
    (PACKAGE_REPO_LINE | PACKAGE_REPO_PPA | PACKAGE_REPO_DIST | PACKAGE_REPO_COMPS |               \
     PACKAGE_REPO_ARCHITECTURES | PACKAGE_REPO_KEY_TEXT | PACKAGE_REPO_SIGNEDBY |                  \
     PACKAGE_REPO_KEY_URL | PACKAGE_REPO_OPTIONS | PACKAGE_REPO_HUMANNAME |                        \
     PACKAGE_REPO_UNSIGNED | PACKAGE_REPO_CLEAN_FILE)

package_repo_fn repo_deb_managed, repo_deb_absent;

#endif
