#include "fleet/wire/fileset.h"

#include "core/base/str.h"

bool fileset_path_is_safe(const char *path)
{
    struct str rest = str_from(path);

    if (rest.n == 0 || rest.n > FILESET_PATH_MAX || path[0] == '/')
        return false;
    while (rest.p) {
        struct str part = str_cut(&rest, '/');

        if (part.n == 0 || str_eq_text(part, ".") || str_eq_text(part, ".."))
            return false;
    }
    return true;
}

/* clang-format off */

static const struct record_field file_fields[] = {
    RECORD("key",    TEXT, struct fileset_file, key, RECORD_REQUIRED),
    RECORD("sha256", TEXT, struct fileset_file, sha256, RECORD_REQUIRED),
    RECORD("path",   TEXT, struct fileset_file, path, RECORD_OMIT, .fallback_text = ""),
    RECORD("size",   INT,  struct fileset_file, size, RECORD_OMIT),
    { 0 },
};

const struct record_type fileset_file_type = RECORD_TYPE("file", struct fileset_file, file_fields, RECORD_LENIENT);

static const struct record_field manifest_fields[] = {
    RECORD("files",    LIST, struct fileset_manifest, files, 0, .inner = &fileset_file_type),
    RECORD("revision", INT,  struct fileset_manifest, revision, RECORD_OMIT),
    { 0 },
};

static const struct record_field update_fields[] = {
    RECORD("force", BOOL, struct fileset_update, force, RECORD_OMIT),
    RECORD("operator", TEXT, struct fileset_update, operator, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field outcome_fields[] = {
    RECORD("name",    TEXT, struct fileset_outcome, name, 0, .fallback_text = ""),
    RECORD("files",   INT,  struct fileset_outcome, files, 0),
    RECORD("changed", BOOL, struct fileset_outcome, changed, 0),
    RECORD("err",     TEXT, struct fileset_outcome, err, RECORD_OMIT, .fallback_text = ""),
    RECORD("skipped", TEXT, struct fileset_outcome, skipped, RECORD_OMIT, .fallback_text = ""),
    RECORD("note",    TEXT, struct fileset_outcome, note, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

const struct record_type fileset_manifest_type = RECORD_TYPE("manifest", struct fileset_manifest, manifest_fields, RECORD_LENIENT);
const struct record_type fileset_update_type = RECORD_TYPE("update request", struct fileset_update, update_fields, RECORD_LENIENT);
const struct record_type fileset_outcome_type = RECORD_TYPE("set", struct fileset_outcome, outcome_fields, RECORD_LENIENT);

static const struct record_field mistake_fields[] = {
    RECORD("tree",  TEXT, struct fileset_mistake, tree, 0, .fallback_text = ""),
    RECORD("text",  TEXT, struct fileset_mistake, text, 0, .fallback_text = ""),
    RECORD("hint",  TEXT, struct fileset_mistake, hint, RECORD_OMIT, .fallback_text = ""),
    RECORD("peel",  TEXT, struct fileset_mistake, peel, RECORD_OMIT, .fallback_text = ""),
    RECORD("peels", INT,  struct fileset_mistake, peels, 0),
    { 0 },
};

const struct record_type fileset_mistake_type = RECORD_TYPE("mistake", struct fileset_mistake, mistake_fields, RECORD_LENIENT);

static const struct record_field check_fields[] = {
    RECORD("machines", INT,  struct fileset_check, machines, 0),
    RECORD("checked",  INT,  struct fileset_check, checked, 0),
    RECORD("unknown",  INT,  struct fileset_check, unknown, 0),
    RECORD("total",    INT,  struct fileset_check, total, 0),
    RECORD("mistakes", LIST, struct fileset_check, mistakes, 0, .inner = &fileset_mistake_type),
    { 0 },
};

const struct record_type fileset_check_type = RECORD_TYPE("check", struct fileset_check, check_fields, RECORD_LENIENT);

static const struct record_field update_reply_fields[] = {
    RECORD("master", TEXT, struct fileset_update_reply, master, 0, .fallback_text = ""),
    RECORD("sets",   LIST, struct fileset_update_reply, sets, 0, .inner = &fileset_outcome_type),
    RECORD("trees",  MAP,  struct fileset_update_reply, trees, RECORD_OMIT),
    RECORD("check",  MAP,  struct fileset_update_reply, check, RECORD_OMIT),
    { 0 },
};

static const struct record_field status_reply_fields[] = {
    RECORD("master",     TEXT, struct fileset_status_reply, master, 0, .fallback_text = ""),
    RECORD("hostname",   TEXT, struct fileset_status_reply, hostname, 0, .fallback_text = ""),
    RECORD("since_unix", INT,  struct fileset_status_reply, since_unix, RECORD_OMIT),
    { 0 },
};

const struct record_type fileset_update_reply_type = RECORD_TYPE("update reply", struct fileset_update_reply, update_reply_fields, RECORD_LENIENT);
const struct record_type fileset_status_reply_type = RECORD_TYPE("status reply", struct fileset_status_reply, status_reply_fields, RECORD_LENIENT);

static const struct record_field change_fields[] = {
    RECORD("change", TEXT, struct fileset_change, change, 0, .fallback_text = ""),
    RECORD("path",   TEXT, struct fileset_change, path, 0, .fallback_text = ""),
    { 0 },
};

const struct record_type fileset_change_type = RECORD_TYPE("change", struct fileset_change, change_fields, RECORD_LENIENT);

static const struct record_field revision_fields[] = {
    RECORD("tree",      TEXT, struct fileset_revision, tree, RECORD_REQUIRED),
    RECORD("revision",  INT,  struct fileset_revision, revision, RECORD_REQUIRED),
    RECORD("time_unix", INT,  struct fileset_revision, time_unix, 0),
    RECORD("master",    TEXT, struct fileset_revision, master, 0, .fallback_text = ""),
    RECORD("operator",  TEXT, struct fileset_revision, operator, RECORD_OMIT, .fallback_text = ""),
    RECORD("restored",  INT,  struct fileset_revision, restored, RECORD_OMIT),
    RECORD("files",     INT,  struct fileset_revision, files, 0),
    RECORD("added",     INT,  struct fileset_revision, added, 0),
    RECORD("changed",   INT,  struct fileset_revision, changed, 0),
    RECORD("removed",   INT,  struct fileset_revision, removed, 0),
    RECORD("changes",   LIST, struct fileset_revision, changes, 0, .inner = &fileset_change_type),
    RECORD("manifest",  TEXT, struct fileset_revision, manifest, 0, .fallback_text = ""),
    RECORD("note",      TEXT, struct fileset_revision, note, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

const struct record_type fileset_revision_type = RECORD_TYPE("revision", struct fileset_revision, revision_fields, RECORD_LENIENT);

static const struct record_field rollback_fields[] = {
    RECORD("tree",     TEXT, struct fileset_rollback, tree, RECORD_REQUIRED),
    RECORD("revision", INT,  struct fileset_rollback, revision, RECORD_REQUIRED),
    RECORD("operator", TEXT, struct fileset_rollback, operator, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

const struct record_type fileset_rollback_type = RECORD_TYPE("rollback", struct fileset_rollback, rollback_fields, RECORD_LENIENT);

static const struct record_field rollback_reply_fields[] = {
    RECORD("master",   TEXT, struct fileset_rollback_reply, master, 0, .fallback_text = ""),
    RECORD("tree",     TEXT, struct fileset_rollback_reply, tree, 0, .fallback_text = ""),
    RECORD("restored", INT,  struct fileset_rollback_reply, restored, 0),
    RECORD("revision", INT,  struct fileset_rollback_reply, revision, 0),
    RECORD("files",    INT,  struct fileset_rollback_reply, files, 0),
    RECORD("err",      TEXT, struct fileset_rollback_reply, err, RECORD_OMIT, .fallback_text = ""),
    RECORD("trees",    MAP,  struct fileset_rollback_reply, trees, RECORD_OMIT),
    { 0 },
};

const struct record_type fileset_rollback_reply_type = RECORD_TYPE("rollback reply", struct fileset_rollback_reply, rollback_reply_fields, RECORD_LENIENT);

/* clang-format on */
