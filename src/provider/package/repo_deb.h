/*
 * repo_deb - repositories of apt: lines and paragraphs of sources, and their keys.
 *
 * A source stands in a file named after the repository, or in one that was named. Its
 * key is kept beside it, and named by signed-by. One that shall go means, by its name,
 * the files that were made for it; as a 'deb' line, every list that has it; with a file,
 * one source of that file.
 *
 * Memory: the arena of the host. Threads: any.
 */
#ifndef PROVIDER_PACKAGE_REPO_DEB_H
#define PROVIDER_PACKAGE_REPO_DEB_H

#include "provider/package/repo.h"

#define REPO_DEB_PARTS                                                                             \
    (PACKAGE_REPO_LINE | PACKAGE_REPO_PPA | PACKAGE_REPO_DIST | PACKAGE_REPO_COMPS |               \
     PACKAGE_REPO_ARCHITECTURES | PACKAGE_REPO_KEY_TEXT | PACKAGE_REPO_SIGNEDBY |                  \
     PACKAGE_REPO_KEY_URL | PACKAGE_REPO_OPTIONS | PACKAGE_REPO_HUMANNAME |                        \
     PACKAGE_REPO_UNSIGNED | PACKAGE_REPO_CLEAN_FILE)

package_repo_fn repo_deb_managed, repo_deb_absent;

#endif
