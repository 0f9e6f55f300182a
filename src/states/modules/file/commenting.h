/*
 * commenting - the arguments and plan shared by file.comment and
 * file.uncomment.
 */
#ifndef STATES_MODULES_FILE_COMMENTING_H
#define STATES_MODULES_FILE_COMMENTING_H

#include "core/data/params.h"
#include "core/edit/edit.h"
#include "states/modules/file/backup.h"
#include "states/modules/file/editor.h"

struct diags;
struct err;
struct state_run;
struct value;

struct commenting_args {
    const char *name;
    struct str regex, mark;
    enum param_tristate ignore_missing;
    bool show_changes;
    const struct value *backup;
};

/* edit_comment or edit_uncomment, and the words for it. */
struct commenting {
    int (*edit)(struct str text, const struct edit_comment *args, struct buf *out,
                size_t *ret_found, struct err *err);
    const char *module, *done;
};

int commenting_validate(const struct commenting_args *args, const struct value *where,
                        struct diags *diags);
int commenting_plan(struct state_run *run, const struct commenting *how,
                    const struct commenting_args *args, const struct editor_file *file,
                    struct editor_plan *plan, struct err *err);

/* clang-format off */
#define COMMENTING_PARAMS(type)                                                                                       \
    PARAM("name", PATH, type, name, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),          \
    PARAM("regex", TEXT, type, regex, "a pattern for the line without the comment character", .flags = PARAM_REQUIRED | PARAM_FILLED, .aliases = "pattern"), \
    PARAM("char", TEXT, type, mark, "the comment character", .default_text = "#"),                                    \
    PARAM("ignore_missing", TRISTATE, type, ignore_missing, "if no line matches: true is silent, false is an error (default: a remark)"), \
    PARAM("backup", ANY, type, backup, BACKUP_DOC),                                                                   \
    PARAM("show_changes", BOOL, type, show_changes, "show what changes", .default_text = "true")
/* clang-format on */

#endif
