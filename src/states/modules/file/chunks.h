/*
 * chunks - the texts of file.append and file.prepend: given in the state or read from sources,
 * rendered if they are templates.
 *
 * Memory: the arena of the run.
 */
#ifndef STATES_MODULES_FILE_CHUNKS_H
#define STATES_MODULES_FILE_CHUNKS_H

#include <stdbool.h>

#include "core/data/params.h"
#include "core/edit/edit.h"
#include "states/modules/file/backup.h"
#include "states/modules/file/content.h"
#include "states/modules/file/editor.h"

struct diags;
struct err;
struct state_run;
struct value;

struct chunks_args {
    const char *name;
    const struct value *text; /* one, or a list */
    struct param_strs sources, source_hashes;
    struct content_args content; /* template, context, defaults, source_hash */
    bool ignore_whitespace, makedirs, show_changes, header;
    const struct value *backup;
};

int chunks_validate(const struct chunks_args *args, const struct value *where, struct diags *diags);

/* edit_append or edit_prepend. */
typedef int chunks_edit_fn(struct str text, const struct edit_chunks *chunks, struct buf *out,
                           size_t *ret_lines, struct err *err);
/* The plan of both modules; `done` is the verb for the report. */
int chunks_plan(struct state_run *run, const struct chunks_args *args, chunks_edit_fn *edit,
                const char *done, const struct editor_file *file, struct editor_plan *plan,
                struct err *err);

/* clang-format off */
#define CHUNKS_PARAMS(type)                                                                                          \
    PARAM("name", PATH, type, name, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),         \
    PARAM("text", ANY, type, text, "the lines: text, or a list; a text of several lines is one block"), \
    PARAM("source", ANY, type, content.source, "source of the text, instead of text"),                                 \
    PARAM("source_hash", STR, type, content.trust.hash, "hash of the source: sha256=... (or sha512, sha1, md5), or a file of checksums"),                  \
    PARAM("sources", STRS, type, sources, "several sources, one after another"),                                     \
    PARAM("source_hashes", STRS, type, source_hashes, "a source_hash for each of them, in their order"),              \
    PARAM("template", ANY, type, content.template, "render the text: true or 'jinja'"),                              \
    PARAM("context", MAP, type, content.context, "variables for the template"),                                       \
    PARAM("defaults", MAP, type, content.defaults, "variables that 'context' does not set"),                              \
    PARAM("ignore_whitespace", BOOL, type, ignore_whitespace, "ignore differences in whitespace", .default_text = "true"), \
    PARAM("makedirs", BOOL, type, makedirs, "create missing parent folders"),                                        \
    PARAM("backup", ANY, type, backup, BACKUP_DOC),                                                                  \
    PARAM("show_changes", BOOL, type, show_changes, "show what changes", .default_text = "true")
/* clang-format on */

#endif
