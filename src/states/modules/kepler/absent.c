/* kepler.absent - stops the services of a config, and removes it. */
#include "core/base/err.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/kepler/waits.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "states/undo/change.h"

#define ARGS struct absent_args

struct absent_args {
    const char *name;
};

static const struct param absent_params[] = {
    PARAM("name", PATH, ARGS, name, "the config", .flags = PARAM_REQUIRED | PARAM_PRIMARY,
          .aliases = "config,path"),
    { 0 },
};

struct found {
    struct tool tool;
    const char *path; /* canonical */
    struct fs_info file;
    struct orchestrator_config config;
};

/* Without a daemon nothing of it runs, and only the file counts. */
static int find_config(struct state_run *run, const struct absent_args *want, bool with_text,
                       struct found *ret, struct err *err)
{
    *ret =
        (struct found){ .tool = run_tool(run), .path = orchestrator_path(run->arena, want->name) };
    if (fs_lstat(want->name, &ret->file, err) < 0)
        return -1;
    if (ret->file.kind != FS_NONE && ret->file.kind != FS_FILE && ret->file.kind != FS_LINK)
        return err_set(err, ERR_INVALID, "%s is a %s, not a config", want->name,
                       fs_kind_name(ret->file.kind));
    if (orchestrator_read(&ret->tool, ret->path, with_text, &ret->config, err) == 0 ||
        err->code == ERR_NOT_FOUND)
        return 0;
    return -1;
}

static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    struct found found;

    if (find_config(run, want, false, &found, err) < 0)
        return -1;
    if (found.config.known) {
        state_differs(run, "%s is known to kepler%s", want->name,
                      found.config.digest ? ", and loaded" : "");
        state_made(run, "stopped %s", want->name);
    }
    if (found.file.kind != FS_NONE) {
        state_differs(run, "%s exists and should be absent", want->name);
        state_made(run, "removed %s", want->name);
    }
    return 0;
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    struct found found;

    if (find_config(run, want, true, &found, err) < 0)
        return -1;
    if (found.config.known) {
        if ((found.config.digest &&
             state_note(run, "before", waits_describe(run, &found.config), err) < 0) ||
            orchestrator_stop(&found.tool, found.path, (struct param_strs){ 0, NULL }, true, err) <
                0)
            return -1;
        state_say(run, "stopped %s", want->name);
    }
    if (found.file.kind != FS_NONE) {
        if (change_remove(run, want->name, err) < 0)
            return -1;
        state_say(run, "removed %s", want->name);
    }
    if (!found.config.known && found.file.kind == FS_NONE)
        state_unchanged(run);
    return 0;
}

/* The file is back by now. */
static int absent_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    const struct value *before = state_noted(run, "before");
    const struct tool tool = run_tool(run);

    if (!before) {
        state_unchanged(run);
        return 0;
    }
    if (waits_restore(run, &tool, orchestrator_path(run->arena, want->name), before, err) < 0)
        return -1;
    state_say(run, "started %s (revert)", want->name);
    return 0;
}

const struct module module_kepler_absent = {
    .name = "kepler.absent",
    .summary = "stop the services of a kepler config, and remove it",
    .details =
        "The daemon forgets the config, and all that it has stored of it: lines, outputs and "
        "history. A revert restores the file and starts the services that ran; what was "
        "stored does not come back.",
    .example = "name: /srv/web/kepler.yaml\n",
    .params = absent_params,
    .args_size = sizeof(struct absent_args),
    .flags = MODULE_REMOVES | MODULE_FILES_FIRST,
    .check = absent_check,
    .apply = absent_apply,
    .revert = absent_revert,
};
