#include "fleet/ssh/message.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/sha256.h"
#include "fleet/wire/fileset.h"
#include "fleet/wire/peel_id.h"

static const struct record_field hello_fields[] = {
    RECORD("v", INT, struct ssh_hello, v, RECORD_REQUIRED,
           RECORD_RANGE(SSH_MESSAGE_VERSION, SSH_MESSAGE_VERSION)),
    RECORD("facts", MAP, struct ssh_hello, facts, RECORD_REQUIRED),
    { 0 },
};
const struct record_type ssh_hello_type =
    RECORD_TYPE("hello", struct ssh_hello, hello_fields, RECORD_REFUSE_UNKNOWN);

static const struct record_field file_fields[] = {
    RECORD("path", TEXT, struct ssh_file, path, RECORD_REQUIRED),
    RECORD("sha256", TEXT, struct ssh_file, sha256, RECORD_REQUIRED),
    RECORD("size", INT, struct ssh_file, size, RECORD_REQUIRED, RECORD_RANGE(0, SSH_FILE_MAX)),
    { 0 },
};
static const struct record_type file_type =
    RECORD_TYPE("file", struct ssh_file, file_fields, RECORD_REFUSE_UNKNOWN);

static const struct record_field request_fields[] = {
    RECORD("v", INT, struct ssh_request, v, RECORD_REQUIRED,
           RECORD_RANGE(SSH_MESSAGE_VERSION, SSH_MESSAGE_VERSION)),
    RECORD("peel", TEXT, struct ssh_request, peel, RECORD_REQUIRED),
    RECORD("request", STRUCT, struct ssh_request, request, RECORD_REQUIRED,
           .inner = &exec_request_type),
    RECORD("facts", MAP, struct ssh_request, facts, RECORD_REQUIRED),
    RECORD("settings", MAP, struct ssh_request, settings, RECORD_REQUIRED),
    RECORD("secrets", TEXTS, struct ssh_request, secrets, 0),
    RECORD("has_tree", BOOL, struct ssh_request, has_tree, 0),
    RECORD("data_dir", TEXT, struct ssh_request, data_dir, 0),
    RECORD("files", LIST, struct ssh_request, files.list, 0, .inner = &file_type),
    { 0 },
};
const struct record_type ssh_request_type =
    RECORD_TYPE("request", struct ssh_request, request_fields, RECORD_REFUSE_UNKNOWN);

static bool is_sum(const char *text)
{
    return strlen(text) == SHA256_HEX_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == SHA256_HEX_SIZE - 1;
}

/* They come in byte order, so that a duplicate is seen at once. */
int ssh_request_check(const struct ssh_request *request, struct err *err)
{
    const char *before = "";

    if (!peel_id_is_valid(str_from(request->peel)))
        return err_set(err, ERR_INVALID, "the request has no valid id of a machine");
    if (request->files.list.n > SSH_FILES_MAX)
        return err_set(err, ERR_LIMIT, "a tree has at most %d files", SSH_FILES_MAX);
    VEC_EACH (&request->files.list, file) {
        if (!fileset_path_is_safe(file->path) || !is_sum(file->sha256))
            return err_set(err, ERR_INVALID, "the request has a file that cannot be in a tree");
        if (strcmp(before, file->path) >= 0)
            return err_set(err, ERR_INVALID, "the files of the request are not in order");
        before = file->path;
    }
    return 0;
}

int ssh_want_check(struct str want, size_t files, struct err *err)
{
    if (want.n != files)
        return err_set(err, ERR_INVALID, "it asks for %zu files, the tree has %zu", want.n, files);
    for (size_t i = 0; i < want.n; i++)
        if (want.p[i] != SSH_WANT_YES && want.p[i] != SSH_WANT_NO)
            return err_set(err, ERR_INVALID, "malformed request for files");
    return 0;
}
