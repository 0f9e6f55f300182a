#include "fleet/watchdog/download.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "fleet/bus/store.h"
#include "fleet/nats/error.h"
#include "fleet/nats/object.h"
#include "core/sys/draft.h"

#define BINARY_MODE 0755

struct download {
    struct arena arena;
    struct download_options options; /* `done` NULL: canceled */
    struct draft draft;
    struct sha256 sha;
    int64_t received;
    bool has_failed;
    struct err err; /* the first one */
};

static void free_download(struct download *download)
{
    draft_done(&download->draft);
    arena_done(&download->arena);
    free(download);
}

static void mark_failed(struct download *download)
{
    download->has_failed = true;
}

static void on_download_data(void *self, struct str data)
{
    struct download *download = self;

    if (download->has_failed || !download->options.done)
        return;
    download->received += (int64_t)data.n;
    if (download->received > download->options.size) {
        (void)err_set(&download->err, ERR_LIMIT, "'%s' has more than the %" PRId64 " bytes signed",
                      download->options.object, download->options.size);
        mark_failed(download);
        return;
    }
    sha256_add(&download->sha, data.p, data.n);
    if (draft_add(&download->draft, data, &download->err) < 0)
        mark_failed(download);
}

static int finish_download(struct download *download, const struct nats_error *error,
                           struct err *err)
{
    char hash[SHA256_HEX_SIZE];

    if (error)
        return nats_error_to_err(error, err);
    if (download->has_failed) {
        *err = download->err;
        return -1;
    }
    sha256_end_hex(&download->sha, hash);
    if (download->received != download->options.size || strcmp(hash, download->options.sha256) != 0)
        return err_set(err, ERR_UNSAFE, "'%s' does not have the size and hash that were signed",
                       download->options.object);
    return draft_commit(&download->draft, err);
}

static void on_download_done(void *self, const struct nats_error *error,
                             const struct nats_object_info *info)
{
    struct download *download = self;
    const struct download_options options = download->options;
    struct err err;
    int result;

    (void)info;
    if (!options.done) {
        free_download(download);
        return;
    }
    result = finish_download(download, error, &err);
    free_download(download);
    options.done(options.self, result < 0 ? err.text : NULL);
}

struct download *download_begin(const struct download_options *options)
{
    const struct fs_replace_options how = { .attr = { BINARY_MODE, FS_KEEP, FS_KEEP },
                                            .sync = FS_SYNC };
    const struct nats_objects objects = { .js = options->js,
                                          .bucket = STORE_BINARIES,
                                          .direct = true };
    struct download *download = mem_zalloc(sizeof(*download));
    struct err err;

    download->options = *options;
    download->options.object = arena_strdup(&download->arena, options->object);
    download->options.sha256 = arena_strdup(&download->arena, options->sha256);
    sha256_init(&download->sha);
    if (draft_open(&download->draft, options->path, &how, &err) < 0) {
        arena_done(&download->arena);
        free(download);
    } else if (nats_object_get(&objects, download->options.object, on_download_data,
                               on_download_done, download, &err) < 0) {
        free_download(download);
    } else {
        return download;
    }
    options->done(options->self, err.text);
    return NULL;
}

void download_drop(struct download *download)
{
    if (download)
        download->options.done = NULL; /* the bus calls back in the end */
}
