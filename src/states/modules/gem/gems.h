/*
 * gems - the Ruby packages that the program gem knows, and how it is run.
 *
 * `ruby` of Salt chooses a version by rbenv or rvm; `gem_bin` names the program itself.
 *
 * Memory: the arena of the run. Threads: states that use it share GEMS_LOCK.
 */
#ifndef STATES_MODULES_GEM_GEMS_H
#define STATES_MODULES_GEM_GEMS_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "states/modules/cmd/run_tool.h"

struct diags;
struct err;
struct state_run;
struct value;

#define GEMS_LOCK "gem"

struct gems_args {
    const char *name, *ruby, *user, *version, *source, *gem_bin, *proxy;
    bool rdoc, ri, pre_releases;
};

/* clang-format off */
#define GEMS_PARAMS                                                                                                                    \
    PARAM("ruby", STR, struct gems_args, ruby, "the Ruby of rbenv or rvm that has them", .flags = PARAM_FILLED),                        \
    PARAM("user", STR, struct gems_args, user, "user that runs gem", .aliases = "runas", .flags = PARAM_FILLED),                              \
    PARAM("gem_bin", STR, struct gems_args, gem_bin, "the program gem", .flags = PARAM_FILLED)
/* clang-format on */

int gems_validate(const void *args, const struct value *where, struct diags *diags);

/* One gem and its installed versions, newest first. */
struct gem {
    struct str name;
    VEC(struct str) versions;
};
struct gems {
    VEC(struct gem) list;
};
int gems_list(struct state_run *run, const struct gems_args *args, struct gems *ret,
              struct err *err);
/* NULL: it is not installed. */
const struct gem *gems_find(const struct gems *gems, struct str name);
bool gems_has_version(const struct gem *gem, struct str version);

/* Words that run gem, then more; what it prints is `ret_output`, which may be NULL. */
int gems_run(struct state_run *run, const struct gems_args *args, struct tool_words *words,
             struct str *ret_output, struct err *err);
/* Is there no gem on this machine? For dry runs, in which an earlier state may install it. */
bool gems_is_missing(struct state_run *run, const struct gems_args *args);

/* All versions that are installed, for a note; and back to them: what is new goes, what is gone is
 * installed again. */
struct value gems_note(struct state_run *run, const struct gems *gems);
/* The installed gems, as such a note, for run_tool_note_after. */
int gems_look(struct state_run *run, const void *args, struct value *ret, struct err *err);
/* The note of what apply is about to leave: `gems` without one, or with any version of it. Until
 * there is a better one, should the machine stop. */
struct value gems_note_removal(struct state_run *run, const struct gems *gems, const char *name);
struct value gems_note_install(struct state_run *run, const struct gems *gems, const char *name);
int gems_revert(struct state_run *run, const void *args, struct err *err);

/* The sources that gems come from. */
int gems_sources(struct state_run *run, const struct gems_args *args, struct param_strs *ret,
                 struct err *err);
bool gems_has_source(const struct param_strs *sources, const char *source);
int gems_change_source(struct state_run *run, const struct gems_args *args, const char *option,
                       struct err *err);

#endif
