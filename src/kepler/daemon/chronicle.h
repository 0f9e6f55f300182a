/*
 * chronicle - the histories of the services of a config, as a file: history.log.
 *
 * A line of JSON for each change, appended in the turn of the loop in which it happens, so that
 * a daemon that is killed leaves it behind:
 *
 *     {"service":"web","number":4,"from":"running","to":"restarting","time":1794742156684002132,
 *      "cause":"its dependency db restarts","by":{"service":"db","number":9}}
 *
 * When the file has become long it is written anew with what the histories still hold. Lines that
 * make no sense, such as one that a full disk has cut, are passed over. What cannot be written is
 * not missed: services go on, and the next daemon knows less.
 *
 *     chronicle_load -> chronicle_open -> { chronicle_note..., chronicle_flush }... ->
 *     chronicle_close
 *
 * Memory: lives in its owner's struct; what is loaded, in the arena. Threads: the loop's.
 */
#ifndef KEPLER_DAEMON_CHRONICLE_H
#define KEPLER_DAEMON_CHRONICLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "kepler/engine/history.h"

struct arena;
struct engine;
struct err;

#define CHRONICLE_FILE     "history.log"
#define CHRONICLE_FILE_MAX ((size_t)64 << 20)

struct chronicle {
    const char *path; /* kept */
    const struct engine *engine;
    uint64_t *written; /* of each service: how many of its changes are in the file */
    size_t lines;
    int fd;             /* -1: not open */
    bool torn;          /* the last line has no end */
    struct buf pending; /* lines that were not written yet */
};

/* What the file in `folder` holds; links are by place among its services. No file: nothing. */
int chronicle_load(struct arena *arena, const char *folder, struct history_book *ret_book,
                   struct err *err);

/* Write what the engine's histories hold, and go on from there. The arena must live as long. */
void chronicle_open(struct chronicle *chronicle, struct arena *arena, const char *folder,
                    const struct engine *engine);
void chronicle_close(struct chronicle *chronicle);
/* A service has changed; written by the next flush. */
void chronicle_note(struct chronicle *chronicle, uint32_t service);
void chronicle_flush(struct chronicle *chronicle);

#endif
