#include "core/runs/record_file.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/frame.h"
#include "core/data/record.h"

#define MODE 0600

int record_file_write(const struct record_file *file, const void *record, struct err *err)
{
    const struct fs_replace_options how = { .attr = { MODE, FS_KEEP, FS_KEEP },
                                            .sync = file->sync,
                                            .record = true };
    AUTO_BUF struct buf bytes = BUF_INIT(file->max);

    if (record_append(&bytes, file->type, record, file->version, 0, err) < 0)
        return -1;
    return file->sync == FS_SYNC ? fs_keep(file->path, buf_view(&bytes), &how, err)
                                 : fs_replace(file->path, buf_view(&bytes), &how, err);
}

/* No search after damage, so the salt need not be a secret. */
static int take_frame(struct frame_scan *scan, const struct record_file *file, struct frame *ret,
                      struct err *err)
{
    if (frame_next(scan, ret) != FRAME_WHOLE)
        return err_set(err, ERR_INVALID, "'%s': the checksum does not match", file->path);
    if (ret->version > file->version)
        return err_set(err, ERR_UNSUPPORTED, "'%s': written by a newer version of zester",
                       file->path);
    return 0;
}

int record_file_open(struct arena *arena, const struct record_file *file, struct frame *ret,
                     struct err *err)
{
    struct frame_scan scan = { 0 };

    if (fs_read(arena, file->path, file->max, &scan.bytes, err) < 0)
        return -1;
    if (!scan.bytes.p)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", file->path);
    if (take_frame(&scan, file, ret, err) < 0)
        return -1;
    if (scan.at != scan.bytes.n)
        return err_set(err, ERR_INVALID, "'%s': the checksum does not match", file->path);
    return 0;
}

int record_file_decode(struct arena *arena, const struct record_file *file,
                       const struct frame *frame, void *ret, struct err *err)
{
    if (record_decode(arena, file->type, file->version, frame->payload, ret, err) < 0)
        return err_wrap(err, "'%s'", file->path);
    return 0;
}

int record_file_read(struct arena *arena, const struct record_file *file, void *ret,
                     struct err *err)
{
    struct frame frame;

    return record_file_open(arena, file, &frame, err) < 0
               ? -1
               : record_file_decode(arena, file, &frame, ret, err);
}
