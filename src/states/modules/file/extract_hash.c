/* file.extract_hash - the hash of a file in a file of checksums. */
#include "core/base/digest.h"
#include "core/base/err.h"
#include "states/modules/file/checksums.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define ARGS     struct extract_hash_args
#define TEXT_MAX ((size_t)16 << 20)

struct extract_hash_args {
    const char *path, *form, *file_name, *source, *name;
};

/* clang-format off */
static const struct param extract_hash_params[] = {
    PARAM("hash_fn", PATH, ARGS, path, "the file of checksums", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("hash_type", STR, ARGS, form, "md5, sha1, sha256, sha512...", .default_text = "sha256"),
    PARAM("file_name", STR, ARGS, file_name, "the name to look for"),
    PARAM("source", STR, ARGS, source, "a source; its name is tried after 'file_name'"),
    PARAM("source_hash_name", STR, ARGS, name, "a name that counts before 'file_name'"),
    { 0 },
};
/* clang-format on */

static int extract_hash_call(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    const struct extract_hash_args *want = args;
    const struct checksums_names names = { { want->name, want->file_name, want->source } };
    const struct digest *kind = digest_find(str_from(want->form));
    struct str text;

    if (!kind)
        return err_set(err, ERR_INVALID, "unknown hash '%s'", want->form);
    if (fs_read(run->arena, want->path, TEXT_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "%s does not exist", want->path);
    checksums_pick(run, text, kind, &names, ret);
    return 0;
}

const struct module module_file_extract_hash = {
    .name = "file.extract_hash",
    .summary = "the hash of a file in a file of checksums",
    .details = "Without a line of that name it is the first hash of its kind, as in Salt.",
    .params = extract_hash_params,
    .args_size = sizeof(ARGS),
    .call = extract_hash_call,
};
