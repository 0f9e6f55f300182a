/* file.get_source_sum - what a source must hash to. */
#include <string.h>

#include "core/base/err.h"
#include "states/modules/file/checksums.h"
#include "states/modules/file/content.h"
#include "states/state/module.h"
#include "states/state/source_hash.h"

#define ARGS struct get_source_sum_args

struct get_source_sum_args {
    const char *file_name, *source, *hash, *name, *saltenv;
};

/* clang-format off */
static const struct param get_source_sum_params[] = {
    PARAM("file_name", STR, ARGS, file_name, "the file that is managed", .flags = PARAM_PRIMARY),
    PARAM("source", STR, ARGS, source, "the source"),
    PARAM("source_hash", STR, ARGS, hash, "a hash, sha256=..., or a file of checksums", .flags = PARAM_REQUIRED),
    PARAM("source_hash_name", STR, ARGS, name, "the name in that file"),
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base"),
    PARAM_REFUSED("verify_ssl", "certificates are always verified", .default_text = "true"),
    CONTENT_SIGNATURES,
    { 0 },
};
/* clang-format on */

static int get_source_sum_call(struct state_run *run, const void *args, struct value *ret,
                               struct err *err)
{
    const struct get_source_sum_args *want = args;
    const struct checksums_names names = { { want->name, want->file_name, want->source } };
    const struct source_trust trust = { .skip_verify = true };
    struct source_hash hash;
    struct str text;

    if (source_hash_parse(str_from(want->hash), &hash)) {
        *ret = checksums_value(run, hash.kind, hash.digits);
        return 0;
    }
    if (want->hash[0] != '/' && !strstr(want->hash, "://"))
        return err_set(err, ERR_INVALID,
                       "source hash '%s' is not a hash, hash_type=hash, a path or a URL",
                       want->hash);
    if (state_source_trusted(run, want->hash, &trust, &text, err) < 0)
        return -1;
    checksums_pick(run, text, NULL, &names, ret);
    return ret->kind == VALUE_MAP
               ? 0
               : err_set(err, ERR_NOT_FOUND, "'%s' contains no hash", want->hash);
}

const struct module module_file_get_source_sum = {
    .name = "file.get_source_sum",
    .summary = "the expected hash of a source: a map of hsum and hash_type",
    .params = get_source_sum_params,
    .args_size = sizeof(ARGS),
    .call = get_source_sum_call,
};
