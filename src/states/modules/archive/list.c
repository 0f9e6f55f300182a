/* archive.list - lists the contents of an archive. */
#include "states/modules/archive/unpack.h"
#include "states/state/host.h"
#include "states/state/module.h"

#define ARGS struct list_args

struct list_args {
    const char *source;
    struct source_trust trust;
};

/* clang-format off */
static const struct param list_params[] = {
    PARAM("source", STR, ARGS, source, "the archive: a path in the state tree or on this machine, or a URL", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    PARAM("source_hash", STR, ARGS, trust.hash, "hash of the source: sha256=... (or sha512, sha1, md5), or a file of checksums"),
    PARAM("skip_verify", BOOL, ARGS, trust.skip_verify, "accept an archive from the network without a hash"),
    { 0 },
};
/* clang-format on */

static int list_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct list_args *want = args;
    const struct unpack_options options = {
        .name = want->source,
        .uid = FS_KEEP,
        .gid = FS_KEEP,
        .cancel = run->host->cancel,
    };
    struct unpack_entries entries;
    struct source_content archive;

    if (state_source_content(run, want->source, &want->trust, &archive, err) < 0 ||
        unpack_list(run->arena, &archive, &options, &entries, err) < 0)
        return -1;
    *ret = value_list(value_list_new(run->arena, entries.list.n));
    VEC_EACH (&entries.list, entry)
        value_list_push(run->arena, ret->list, value_text(entry->path));
    return 0;
}

const struct module module_archive_list = {
    .name = "archive.list",
    .summary = "list the paths in an archive",
    .params = list_params,
    .args_size = sizeof(struct list_args),
    .call = list_call,
};
