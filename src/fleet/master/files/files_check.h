/*
 * files check - the folders of this master are checked before they are published (tree_check.h).
 *
 *     files_check_new -> files_check_start -> { files_check_ask -> publisher_go_on }...
 *     -> files_check_stop -> files_check_free
 *
 * One check covers all trees, since states depend on settings. It has a verdict for the sums of the
 * manifests that the folders had before and after it; when they differ, it is made again. A
 * publisher whose set has such a sum has its answer at once, for FILES_CHECK_AGE.
 *
 * Machines are checked in batches of copied facts, one after the other, for FILES_CHECK_NS at most;
 * then the verdict is of those that were checked.
 *
 * Threads: the loop's; a worker reads files, renders and compiles.
 */
#ifndef FLEET_MASTER_FILES_FILES_CHECK_H
#define FLEET_MASTER_FILES_FILES_CHECK_H

#include <stdbool.h>

#include "core/http/health.h"
#include "fleet/master/files/publisher.h"
#include "fleet/wire/fileset.h"

struct arena;
struct err;
struct files_check;
struct files_service;
struct files_service_branch;

/* The time for all machines. */
#define FILES_CHECK_NS (INT64_C(20) * 1000000000)
/* Machines in a batch. */
#define FILES_CHECK_BATCH 64
/* A refusal is looked at again after this time: machines may have left. */
#define FILES_CHECK_AGE (INT64_C(300) * 1000000000)
/* A folder that changes while it is checked is checked again so often. */
#define FILES_CHECK_TRIES 3

struct files_check *files_check_new(struct files_service *service);
void files_check_start(struct files_check *check);
/* Those that wait are answered. */
void files_check_stop(struct files_check *check);
/* Stopped, and no task is under way. NULL is fine. */
void files_check_free(struct files_check *check);

/* The set of a branch; publisher_go_on follows, perhaps at once. */
void files_check_ask(struct files_check *check, struct files_service_branch *branch,
                     const struct publisher_question *question);
/* An operator asks: the next question needs a new check. */
void files_check_renew(struct files_check *check);
/* This master no longer publishes. */
void files_check_forget(struct files_check *check);

/* The mistakes that the last check found, in the arena. */
void files_check_show(const struct files_check *check, struct arena *arena,
                      struct fileset_check *ret);
/* "": no mistakes. */
const char *files_check_problem(const struct files_check *check);

#endif
