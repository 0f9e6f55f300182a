#include "fleet/master/files/tree_write.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/hex.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "fleet/master/files/tree_set.h"
#include "fleet/nats/error.h"

struct write {
    struct tree_write_place place;
    const struct tree_set_file *file;
    tree_write_fn *fn;
    void *self;
    int fd;
};

static void end_write(struct write *write, const char *error, uint64_t revision)
{
    write->fn(write->self, write->file, error, revision);
    free(write);
}

static void on_tree_value_put(void *self, const struct nats_error *error, uint64_t revision)
{
    end_write(self, error ? error->text : NULL, revision);
}

/* Does the content of the object match its name? */
static bool is_object_of(const struct nats_object_info *info, const struct tree_set_file *file)
{
    char sum[SHA256_HEX_SIZE];

    hex_write(info->digest, sizeof(info->digest), sum);
    return strcmp(sum, file->sha256) == 0;
}

static void on_tree_object_put(void *self, const struct nats_error *error,
                               const struct nats_object_info *info)
{
    struct write *write = self;
    const char *text = error ? error->text : NULL;

    /* the next round replaces it */
    if (!error && !is_object_of(info, write->file))
        text = "a file changed while it was published";
    (void)close(write->fd);
    end_write(write, text, 0);
}

static int put_tree_object(struct write *write, struct err *err)
{
    write->fd = open(write->file->file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (write->fd < 0)
        return err_set(err, ERR_SYSTEM, "%s: cannot be opened", write->file->file);
    if (nats_object_put(&write->place.objects,
                        &(struct nats_object_put){ .name = write->file->sha256, .fd = write->fd },
                        on_tree_object_put, write, err) == 0)
        return 0;
    (void)close(write->fd);
    return -1;
}

static void on_object_info(void *self, const struct nats_error *error,
                           const struct nats_object_info *info)
{
    struct write *write = self;
    const bool is_missing =
        error ? error->fault == NATS_FAULT_NOT_FOUND : !is_object_of(info, write->file);
    struct err err;

    if (!is_missing)
        end_write(write, error ? error->text : NULL, 0);
    else if (put_tree_object(write, &err) < 0)
        end_write(write, err.text, 0);
}

int tree_write_begin(const struct tree_write_place *place, const struct tree_set_file *file,
                     tree_write_fn *fn, void *self, struct err *err)
{
    struct write *write = mem_zalloc(sizeof(*write));
    int result;

    *write = (struct write){ *place, file, fn, self, -1 };
    if (file->is_large)
        result = nats_object_info(&write->place.objects, file->sha256, on_object_info, write, err);
    else
        result =
            nats_kv_put(&write->place.kv, file->key, file->bytes, on_tree_value_put, write, err);
    if (result < 0)
        free(write);
    return result;
}
