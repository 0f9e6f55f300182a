/*
 * history file - the status histories of a config's services: history.log.
 *
 * One line of JSON for each change, appended in the loop turn of the change, so that it survives a
 * killed daemon:
 *
 *     {"service":"web","number":4,"from":"running","to":"restarting","time":1794742156684002132,
 *      "cause":"its dependency db restarts","by":{"service":"db","number":9}}
 *
 * A long file is rewritten with the current histories. Invalid lines are skipped, for example one
 * cut by a full disk. A write failure is not fatal: services continue, and the next daemon knows
 * less.
 *
 *     history_file_load -> history_file_open -> { history_file_note..., history_file_flush }... ->
 *     history_file_close
 *
 * Memory: lives in its owner's struct; what is loaded, in the arena. Threads: the loop's.
 */
#ifndef KEPLER_DAEMON_HISTORY_FILE_H
#define KEPLER_DAEMON_HISTORY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "kepler/engine/history.h"

struct arena;
struct engine;
struct err;

#define HISTORY_FILE_FILE     "history.log"
#define HISTORY_FILE_FILE_MAX ((size_t)64 << 20)

struct history_file {
    const char *path; /* kept */
    const struct engine *engine;
    uint64_t *written; /* for each service: number of its changes in the file */
    size_t lines;
    int fd;             /* -1: not open */
    bool torn;          /* the last line is incomplete */
    struct buf pending; /* lines not written yet */
};

/* Loads the file in `folder`; links refer to services by place. No file: nothing. */
int history_file_load(struct arena *arena, const char *folder, struct history_book *ret_book,
                      struct err *err);

/* Writes the engine's histories and continues from there. The arena must live as long. */
void history_file_open(struct history_file *history_file, struct arena *arena, const char *folder,
                       const struct engine *engine);
void history_file_close(struct history_file *history_file);
/* A service has changed; written by the next flush. */
void history_file_note(struct history_file *history_file, uint32_t service);
void history_file_flush(struct history_file *history_file);

#endif
