/*
 * download - fetches a binary from the bucket of versions into a file: complete, with the signed
 * size and hash, and on disk, or not at all.
 *
 *     download_begin -> `done`, once; or download_drop
 *
 * Memory: freed after `done`, or by download_drop. Threads: the loop's.
 */
#ifndef FLEET_WATCHDOG_DOWNLOAD_H
#define FLEET_WATCHDOG_DOWNLOAD_H

#include <stdint.h>

#include "fleet/nats/js.h"

struct download;

struct download_options {
    struct nats_js js;
    const char *object, *path, *sha256; /* copied */
    int64_t size;
    void (*done)(void *self, const char *error); /* NULL: success */
    void *self;
};

/* `done` may come before this returns, with an error; then it returns NULL. */
struct download *download_begin(const struct download_options *options);
/* `done` is not called. NULL is fine. */
void download_drop(struct download *download);

#endif
