/*
 * inifile - the common parts of the ini.* states: the file, its format, and the wishes as a list.
 *
 * `sections` is a map of sections to their options, as in Salt; a key whose value is not a map or
 * list is an option outside any section.
 *
 * Memory: the arena of the run or of the diagnostics. Threads: any.
 */
#ifndef MODULES_INI_INIFILE_H
#define MODULES_INI_INIFILE_H

#include <stdbool.h>

#include "base/str.h"
#include "base/vec.h"
#include "edit/ini.h"
#include "modules/file/editor.h"
#include "state/module.h"

struct diags;

struct inifile_args {
    const char *name, *encoding;
    const struct value *sections;
    struct str separator;
    bool strict, no_spaces;
};

/* clang-format off */
#define INIFILE_PARAMS(sections_kind, ...)                                                                                           \
    PARAM("name", PATH, struct inifile_args, name, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY),                                      \
    PARAM("sections", sections_kind, struct inifile_args, sections, __VA_ARGS__),                                                            \
    PARAM("separator", TEXT, struct inifile_args, separator, "the separator of key and value; a blank means any blanks", .default_text = "="),  \
    PARAM("encoding", STR, struct inifile_args, encoding, "encoding of the file: utf-8, or ascii")
/* clang-format on */

/* Options that must be present (with values) or absent (without), in the order of the map; the
 * header of a new section comes before its options. */
struct inifile_wishes {
    VEC(struct ini_item) list;
};
int inifile_read_options(struct arena *arena, const struct inifile_args *args, bool with_values,
                         struct inifile_wishes *ret, struct diags *diags);
/* Names of sections: items of a list, or keys of a map. */
int inifile_read_sections(struct arena *arena, const struct inifile_args *args,
                          struct inifile_wishes *ret, struct diags *diags);

/* The `validate` of the states. */
int inifile_validate_present(const void *args, const struct value *where, struct diags *diags);
int inifile_validate_absent(const void *args, const struct value *where, struct diags *diags);
int inifile_validate_sections(const void *args, const struct value *where, struct diags *diags);

struct ini_format inifile_format(const struct inifile_args *args);

/* The text between two edits of a plan. */
struct inifile_draft {
    struct arena *arena;
    struct ini_format format;
    struct str text;
    size_t changes; /* edits that changed it */
};
/* Make the result of an edit the text. */
int inifile_step(struct inifile_draft *draft, struct buf *out, struct err *err);

#endif
