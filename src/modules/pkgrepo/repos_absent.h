/*
 * repos_absent - which files a repository that shall not be there means.
 *
 * A name means the files and the key that pkgrepo.managed made for it, a 'deb' line every
 * list that has it, a file one source of that file. What else stands in a file stays.
 *
 * Memory: the arena of the run. Threads: as packages.
 */
#ifndef MODULES_PKGREPO_REPOS_ABSENT_H
#define MODULES_PKGREPO_REPOS_ABSENT_H

#include "modules/pkgrepo/repos.h"

repos_fn repos_absent_find;

#endif
