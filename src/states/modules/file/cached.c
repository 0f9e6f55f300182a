/* file.cached - keeps a copy of a source on this machine. */
#include "core/base/err.h"
#include "states/modules/file/cache.h"
#include "states/modules/file/desired_file.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/fs.h"
#include "states/undo/change.h"

#define ARGS struct cached_args

struct cached_args {
    const char *name, *source_hash, *source_hash_name;
    bool skip_verify;
};

/* clang-format off */
static const struct param cached_params[] = {
    PARAM("name", STR, ARGS, name, "the source: a path, salt://, http:// or https://", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("source_hash", STR, ARGS, source_hash, "hash of the source: sha256=... (or sha512, sha1, md5), or a file of checksums", .flags = PARAM_FILLED),
    PARAM("source_hash_name", STR, ARGS, source_hash_name, "the name to look for in a file of checksums", .flags = PARAM_FILLED),
    PARAM("skip_verify", BOOL, ARGS, skip_verify, "accept a source from the network without a hash"),
    PARAM_REFUSED("use_etag", "sources from the network are verified by their hash"),
    PARAM_REFUSED("source_hash_sig", "signatures are not verified"),
    PARAM_REFUSED("signed_by_any", "signatures are not verified"),
    PARAM_REFUSED("signed_by_all", "signatures are not verified"),
    PARAM_REFUSED("keyring", "signatures are not verified"),
    PARAM_REFUSED("gnupghome", "signatures are not verified"),
    PARAM_REFUSED("sig_backend", "signatures are not verified"),
    { 0 },
};
/* clang-format on */

static int cached_validate(const void *args, const struct value *where, struct diags *diags)
{
    return validate_text("name", ((const struct cached_args *)args)->name, VALIDATE_LINE, where,
                         diags);
}

struct copy {
    struct source_content content;
    struct desired_file wanted;
    struct fs_info now;
    bool differs;
};

/* The cached copy and the wanted one. Without a hash, a downloaded copy is never refreshed. */
static int compare_copy(struct state_run *run, const struct cached_args *want, struct copy *ret,
                        struct err *err)
{
    const struct source_trust trust = { want->source_hash, want->source_hash_name,
                                        want->skip_verify };
    const bool remote = str_starts(str_from(want->name), STR("http"));
    const char *path = cache_path(run, want->name);

    ret->differs = false;
    if (fs_stat(path, &ret->now, err) < 0)
        return -1;
    if (ret->now.kind == FS_FILE && remote && !want->source_hash)
        return 0;
    if (state_source_content(run, want->name, &trust, &ret->content, err) < 0)
        return -1;
    ret->wanted = (struct desired_file){
        .path = path,
        .has_content = true,
        .content = ret->content.text,
        .large = ret->content.file ? &ret->content : NULL,
        .attrs = { .want = { 0600, CHANGE_KEEP_ID, CHANGE_KEEP_ID } },
    };
    return desired_file_writes(&ret->wanted, &ret->differs, err);
}

static int cached_check(struct state_run *run, const void *args, struct err *err)
{
    const struct cached_args *want = args;
    struct copy copy;

    if (compare_copy(run, want, &copy, err) < 0)
        return -1;
    if (!copy.differs) {
        state_say(run, "%s is cached at %s", want->name, cache_path(run, want->name));
        return 0;
    }
    state_differs(run, copy.now.kind == FS_FILE ? "%s has changed" : "%s is not cached",
                  want->name);
    state_made(run, "cached %s at %s", want->name, cache_path(run, want->name));
    return 0;
}

static int cached_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct cached_args *want = args;
    const char *path = cache_path(run, want->name);
    enum desired_file_done done;
    struct copy copy;

    if (compare_copy(run, want, &copy, err) < 0)
        return -1;
    state_detail(run, "path", "%s", path);
    if (!copy.differs) {
        state_unchanged(run);
        return 0;
    }
    if (change_make_parents(run, path, err) < 0)
        return -1;
    return desired_file_apply(run, &copy.wanted, &done, err);
}

const struct module module_file_cached = {
    .name = "file.cached",
    .summary = "keep a copy of a source on this machine",
    .details =
        "The path of the copy is in the details of the result, and what cp.is_cached returns "
        "for the source.",
    .example = "name: https://example.org/app.tar.gz\nsource_hash: sha256=...\n",
    .params = cached_params,
    .args_size = sizeof(struct cached_args),
    .validate = cached_validate,
    .check = cached_check,
    .apply = cached_apply,
};
