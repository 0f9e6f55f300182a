/*
 * inifile - the common parts of the ini.* states: the file, its format, and the wishes as a list.
 *
 * `sections` is a map of sections to their options, as in Salt; a key whose value is not a map or
 * list is an option outside any section.
 *
 * Memory: the arena of the run or of the diagnostics. Threads: any.
 */
#ifndef STATES_MODULES_INI_INIFILE_H
#define STATES_MODULES_INI_INIFILE_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/edit/ini.h"
#include "states/modules/file/editor.h"
#include "states/state/module.h"

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

/* Options that must be present or absent, in the order of the map; the header of a new section
 * comes before its options. */
struct inifile_wishes {
    VEC(struct ini_item) list;
};

/* The text between two edits of a plan. */
struct inifile_draft {
    struct arena *arena;
    struct ini_format format;
    struct str text;
    size_t changes; /* edits that changed it */
};
/* Make the result of an edit the text. */
int inifile_step(struct inifile_draft *draft, struct buf *out, struct err *err);

/* The kind of `sections`: options with values, keys of options, or section names. */
enum inifile_content { INIFILE_VALUES, INIFILE_KEYS, INIFILE_SECTIONS };

/* The action of one of the states, and its wording:
 * "1 section IS_STILL file", "DID 2 sections FROM file", "ALL_OF file ARE_SET". */
struct inifile_goal {
    enum inifile_content content;
    int (*edit)(struct inifile_draft *draft, const struct inifile_args *args,
                const struct inifile_wishes *wishes, struct buf *out, struct err *err);
    const char *noun, *one_differs, *many_differ;
    const char *did, *where;
    const char *remark, *remark_end; /* around the name of the file */
};

int inifile_validate(const struct inifile_goal *goal, const struct inifile_args *args,
                     const struct value *where, struct diags *diags);
int inifile_plan(struct state_run *run, const struct inifile_goal *goal,
                 const struct inifile_args *args, const struct editor_file *file,
                 struct editor_plan *plan, struct err *err);

/* The functions of a state from its goal. */
#define INIFILE_STATE(goal)                                                                        \
    static int state_validate(const void *args, const struct value *where, struct diags *diags)    \
    {                                                                                              \
        return inifile_validate(&(goal), args, where, diags);                                      \
    }                                                                                              \
    static int state_plan(struct state_run *run, const void *args, const struct editor_file *file, \
                          struct editor_plan *plan, struct err *err)                               \
    {                                                                                              \
        return inifile_plan(run, &(goal), args, file, plan, err);                                  \
    }                                                                                              \
    static struct editor editor_of(const struct inifile_args *args)                                \
    {                                                                                              \
        return (struct editor){ .path = args->name, .plan = state_plan };                          \
    }                                                                                              \
    EDITOR_STATE(editor_of)
#define INIFILE_STATE_FIELDS                                                                       \
    .args_size = sizeof(struct inifile_args), .flags = MODULE_LOCAL | MODULE_EDITS,                \
    .validate = state_validate, EDITOR_STATE_FIELDS

#endif
