/*
 * scene - for tests of runs: a machine of its own in a folder, small modules, and
 * states as text.
 *
 *     struct scene scene;
 *     scene_init(&scene);
 *     scene_apply(&scene, "a: {cmd.run: [{command: touch ROOT/x}]}\n");
 *     CHECK_STR(scene_outcome(&scene, "cmd.run:a"), "changed");
 *
 * ROOT in the text is the folder. The modules behave as their namesakes, with fewer
 * parameters; "note.set" keeps a text in a file by hand, for revert by notes; "slow.run"
 * has a lock, and "lane.a" to "lane.h" have one each.
 */
#ifndef TESTS_UNIT_STATES_RUN_SCENE_H
#define TESTS_UNIT_STATES_RUN_SCENE_H

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/run/services.h"
#include "states/undo/change.h"
#include "states/compile/compile.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/state/outcome.h"
#include "states/compile/plan.h"
#include "states/run/run.h"
#include "states/state/secrets.h"
#include "states/compile/tree.h"
#include "core/sys/cancel.h"
#include "core/sys/fs.h"
#include "core/sys/process.h"

/* --- modules ------------------------------------------------------------------------ */

struct cmd_args {
    const char *command;
};

static const struct param cmd_params[] = {
    PARAM("command", STR, struct cmd_args, command, "what to run", .flags = PARAM_PRIMARY),
    { 0 },
};

static int cmd_check(struct state_run *run, const void *args, struct err *err)
{
    (void)err;
    state_differs(run, "would run %s", ((const struct cmd_args *)args)->command);
    return 0;
}

static int cmd_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct process_spec spec = { .command = ((const struct cmd_args *)args)->command };
    struct process_result result;

    if (state_command(run, &spec, 0, &result, err) < 0)
        return -1;
    state_detail(run, "stdout", "%.*s", STR_ARG(str_trim(result.out)));
    if (!process_status_ok(result.status))
        return err_set(err, ERR_INVALID, "exit status %d", result.status.code);
    return 0;
}

struct file_args {
    const char *path;
    struct str content;
    bool fails;
    const char *password;
};

static const struct param file_params[] = {
    PARAM("path", PATH, struct file_args, path, "where", .flags = PARAM_PRIMARY),
    PARAM("content", TEXT, struct file_args, content, "what"),
    PARAM("fails", BOOL, struct file_args, fails, "check fails"),
    PARAM("password", STR, struct file_args, password, "hidden", .flags = PARAM_SECRET),
    { 0 },
};

static int file_check(struct state_run *run, const void *args, struct err *err)
{
    const struct file_args *want = args;
    struct str now;

    if (want->fails)
        return err_set(err, ERR_INVALID, "no source for '%s'", want->path);
    if (fs_read(run->arena, want->path, 1 << 20, &now, err) < 0)
        return -1;
    if (!now.p || !str_eq(now, want->content))
        state_diff_content(run, want->path, now, want->content);
    return 0;
}

static int file_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct file_args *want = args;

    if (change_make_parents(run, want->path, err) < 0)
        return -1;
    state_detail(run, "bytes", "%zu", want->content.n);
    return change_write(run, want->path, want->content, NULL, err);
}

static int note_check(struct state_run *run, const void *args, struct err *err)
{
    return file_check(run, args, err);
}

/* Behind the back of the journal. */
static int note_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct file_args *want = args;
    struct str now;

    if (fs_read(run->arena, want->path, 1 << 20, &now, err) < 0)
        return -1;
    if (state_note(run, "before", now.p ? value_str(now) : value_null(), err) < 0)
        return -1;
    return fs_replace(want->path, want->content, NULL, err);
}

static int note_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct file_args *want = args;
    const struct value *before = state_noted(run, "before");

    if (!before)
        return err_set(err, ERR_INVALID, "nothing was noted");
    if (before->kind == VALUE_NULL)
        return fs_unlink(want->path, err);
    return fs_replace(want->path, before->s, NULL, err);
}

static const struct module scene_cmd = {
    .name = "cmd.run",
    .params = cmd_params,
    .args_size = sizeof(struct cmd_args),
    .flags = MODULE_ALWAYS | MODULE_NO_UNDO,
    .check = cmd_check,
    .apply = cmd_apply,
};
static const struct module scene_file = {
    .name = "file.managed",
    .params = file_params,
    .args_size = sizeof(struct file_args),
    .check = file_check,
    .apply = file_apply,
};
static const struct module scene_note = {
    .name = "note.set",
    .params = file_params,
    .args_size = sizeof(struct file_args),
    .check = note_check,
    .apply = note_apply,
    .revert = note_revert,
};
static const struct module scene_slow = {
    .name = "slow.run",
    .params = cmd_params,
    .args_size = sizeof(struct cmd_args),
    .lock = "slow",
    .check = cmd_check,
    .apply = cmd_apply,
};

/* Each has a lock of its own. */
#define SCENE_LANE(letter)                                                                         \
    static const struct module scene_lane_##letter = {                                             \
        .name = "lane." #letter,                                                                   \
        .params = cmd_params,                                                                      \
        .args_size = sizeof(struct cmd_args),                                                      \
        .lock = "lane " #letter,                                                                   \
        .check = cmd_check,                                                                        \
        .apply = cmd_apply,                                                                        \
    };
SCENE_LANE(a)
SCENE_LANE(b)
SCENE_LANE(c)
SCENE_LANE(d)
SCENE_LANE(e)
SCENE_LANE(f)
SCENE_LANE(g)
SCENE_LANE(h)

const struct module *const module_table[] = {
    &scene_cmd,    &scene_file,   &scene_lane_a, &scene_lane_b, &scene_lane_c,
    &scene_lane_d, &scene_lane_e, &scene_lane_f, &scene_lane_g, &scene_lane_h,
    &scene_note,   &scene_slow,   NULL,
};
const size_t module_count = 12;

/* --- a machine ------------------------------------------------------------------------ */

struct scene {
    struct arena arena;
    struct state_host host;
    struct cancel cancel;
    struct value facts, settings;
    const char *root;
    struct tree *tree;
    const struct plan *plan;
    struct run_result result;
    const struct run_sink *sink;
};

static inline const char *scene_path(struct scene *scene, const char *name)
{
    return arena_printf(&scene->arena, "%s/%s", scene->root, name);
}

static inline void scene_init_in(struct scene *scene, const char *root)
{
    struct err err;

    *scene = (struct scene){ .root = root };
    scene->facts = value_map(value_map_new(&scene->arena, 0));
    scene->settings = value_map(value_map_new(&scene->arena, 0));
    CHECK_INT(cancel_init(&scene->cancel, &err), 0);
    scene->host = (struct state_host){
        .services = &run_services,
        .peel_id = "here",
        .data_dir = scene_path(scene, "data"),
        .facts = &scene->facts,
        .settings = &scene->settings,
        .secrets = secrets_new(),
        .cancel = &scene->cancel,
        .strict_params = true,
    };
}

static inline void scene_init(struct scene *scene)
{
    scene_init_in(scene, test_folder());
}

static inline void scene_done(struct scene *scene)
{
    tree_free(scene->tree);
    secrets_free(scene->host.secrets);
    cancel_done(&scene->cancel);
    arena_done(&scene->arena);
}

/* The text with ROOT filled in. */
static inline const char *scene_text(struct scene *scene, const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str all = str_from(text);
    size_t from = 0;

    for (size_t at; (at = str_find(all, STR("ROOT"), from)) != STR_NONE; from = at + 4) {
        buf_add_str(&out, str_slice(all, from, at - from));
        buf_add_text(&out, scene->root);
    }
    buf_add_str(&out, str_from_offset(all, from));
    return buf_copy(&out, &scene->arena).p;
}

static inline void scene_load(struct scene *scene, const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    static const char *const refs[] = { "case" };
    struct diags diags = DIAGS_INIT(&scene->arena);

    tree_free(scene->tree);
    scene->tree = tree_new_in_memory();
    tree_add(scene->tree, "case.zy", str_from(scene_text(scene, text)));
    scene->host.tree = scene->tree;
    if (compile_refs(&scene->arena, &scene->host, (struct param_strs){ 1, refs }, &scene->plan,
                     &diags) < 0) {
        diags_print(&diags, &out);
        CHECK_STR(buf_text(&out), "");
    }
}

static inline void scene_run(struct scene *scene, enum run_mode mode)
{
    struct err err = { 0 };

    scene->result = (struct run_result){ 0 };
    if (run_plan(&scene->arena, &scene->host, scene->plan, mode, scene->sink, &scene->result,
                 &err) < 0)
        CHECK_STR(err.text, "");
}

static inline void scene_apply(struct scene *scene, const char *text)
{
    scene_load(scene, text);
    scene_run(scene, RUN_APPLY);
}

static inline const struct state_result *scene_result(const struct scene *scene, const char *name)
{
    VEC_EACH (&scene->result.states, state)
        if (strcmp(state->name, name) == 0)
            return state;
    CHECK_STR("no result", name);
    return NULL;
}

/* "changed", "ok", "failed", or the reason of a skip ("canceled" when it has no text). */
static inline const char *scene_outcome(const struct scene *scene, const char *name)
{
    const struct state_result *result = scene_result(scene, name);

    if (result->outcome == OUTCOME_SKIPPED)
        return result->skip_reason == SKIP_CANCELED ? "canceled"
                                                    : skip_reason_text(result->skip_reason);
    return result->outcome == OUTCOME_FAILED    ? "failed"
           : result->outcome == OUTCOME_CHANGED ? "changed"
                                                : "ok";
}

static inline const char *scene_read(struct scene *scene, const char *name)
{
    struct str text = { NULL, 0 };
    struct err err;

    CHECK_INT(fs_read(&scene->arena, scene_path(scene, name), 1 << 20, &text, &err), 0);
    return text.p ? text.p : "(none)";
}

static inline void scene_write(struct scene *scene, const char *name, const char *text)
{
    struct err err;

    CHECK_INT(fs_replace(scene_path(scene, name), str_from(text), NULL, &err), 0);
}

#endif
