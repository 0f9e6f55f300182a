/*
 * stage - for tests of modules: a machine of its own in a folder, the product's table
 * of modules, and states as text. ROOT in a text is the folder.
 *
 *     struct stage stage;
 *     stage_init(&stage);
 *     stage_load(&stage, "a: {file.touch: [{name: ROOT/x}]}\n");
 *     stage_run(&stage, RUN_APPLY);
 *     CHECK_STR(stage_word(&stage.result.states.p[0]), "changed");
 */
#ifndef TESTS_UNIT_STATES_MODULES_STAGE_H
#define TESTS_UNIT_STATES_MODULES_STAGE_H

#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/compile/compile.h"
#include "states/run/services.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/state/outcome.h"
#include "states/compile/plan.h"
#include "states/run/revert.h"
#include "states/run/run.h"
#include "states/state/secrets.h"
#include "states/compile/tree.h"
#include "core/sys/cancel.h"
#include "core/sys/process.h"

struct stage {
    struct arena arena;
    struct state_host host;
    struct cancel cancel;
    struct value facts, settings;
    const char *root;
    struct tree *tree;
    const struct plan *plan;
    struct run_result result;
};

/* `from` becomes `to` wherever it stands. */
static inline struct str stage_replace(struct stage *stage, struct str text, const char *from,
                                       const char *to)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const size_t n = strlen(from);
    size_t at, start = 0;

    for (; (at = str_find(text, str_from(from), start)) != STR_NONE; start = at + n) {
        buf_add_str(&out, str_slice(text, start, at - start));
        buf_add_text(&out, to);
    }
    buf_add_str(&out, str_from_offset(text, start));
    return buf_copy(&out, &stage->arena);
}

/* The text with ROOT filled in, and one with the folder called ROOT again. */
static inline struct str stage_fill(struct stage *stage, struct str text)
{
    return stage_replace(stage, text, "ROOT", stage->root);
}

static inline struct str stage_hide(struct stage *stage, struct str text)
{
    return stage_replace(stage, text, stage->root, "ROOT");
}

/* What a shell prints in the folder, both streams. */
static inline struct str stage_shell(struct stage *stage, struct str commands)
{
    const struct process_spec spec = {
        .command =
            arena_printf(&stage->arena, "export LC_ALL=C\n%s", stage_fill(stage, commands).p),
        .cwd = stage->root,
        .err = { .kind = PROCESS_STDOUT },
    };
    const struct process_bounds bounds = { 0 };
    struct process_result result = { 0 };
    struct err err = { 0 };

    if (process_run(&spec, &bounds, NULL, &stage->arena, &result, &err) < 0)
        CHECK_STR(err.text, "");
    return result.out;
}

/* The folder is empty, whatever an earlier stage of the test left there. */
static inline void stage_init(struct stage *stage)
{
    struct value_map *facts, *settings;
    struct err err;

    *stage = (struct stage){ .root = test_folder() };
    facts = value_map_new(&stage->arena, 2);
    settings = value_map_new(&stage->arena, 2);
    value_map_set(&stage->arena, facts, value_text("host"), value_text("web1"));
    value_map_set(&stage->arena, settings, value_text("motd"), value_text("from settings"));
    stage->facts = value_map(facts);
    stage->settings = value_map(settings);
    CHECK_INT(cancel_init(&stage->cancel, &err), 0);
    stage->host = (struct state_host){
        .services = &run_services,
        .peel_id = "here",
        .data_dir = arena_printf(&stage->arena, "%s/.data", stage->root),
        .facts = &stage->facts,
        .settings = &stage->settings,
        .secrets = secrets_new(),
        .cancel = &stage->cancel,
        .strict_params = true,
    };
    (void)stage_shell(stage, STR("find . -mindepth 1 -delete"));
}

static inline void stage_done(struct stage *stage)
{
    tree_free(stage->tree);
    secrets_free(stage->host.secrets);
    cancel_done(&stage->cancel);
    arena_done(&stage->arena);
}

/* Returns -1 with the mistakes in `out`. The tree also has greeting.j2 and site/. */
static inline int stage_load(struct stage *stage, struct str text, struct buf *out)
{
    static const char *const refs[] = { "case" };
    struct diags diags = DIAGS_INIT(&stage->arena);

    tree_free(stage->tree);
    stage->tree = tree_new_in_memory();
    tree_add(stage->tree, "case.zy", stage_fill(stage, text));
    tree_add(stage->tree, "greeting.j2", STR("hello {{ who }} on {{ facts.host }}\n"));
    tree_add(stage->tree, "site/index.html", STR("<h1>hi</h1>\n"));
    tree_add(stage->tree, "site/css/main.css", STR("h1 { color: red }\n"));
    tree_add(stage->tree, "site/css/old.bak", STR("old\n"));
    tree_add(stage->tree, "make.sh", STR("#!/bin/sh\necho \"$2 {{ word }}\" > \"$1\"\n"));
    stage->host.tree = stage->tree;
    if (compile_refs(&stage->arena, &stage->host, (struct param_strs){ 1, refs }, &stage->plan,
                     &diags) == 0)
        return 0;
    diags_print(&diags, out);
    return -1;
}

static inline void stage_run(struct stage *stage, enum run_mode mode)
{
    struct err err = { 0 };

    stage->result = (struct run_result){ 0 };
    if (run_plan(&stage->arena, &stage->host, stage->plan, mode, NULL, &stage->result, &err) < 0)
        CHECK_STR(err.text, "");
}

static inline void stage_revert(struct stage *stage)
{
    const struct revert_options options = { .target = "case" };
    struct err err = { 0 };

    stage->result = (struct run_result){ 0 };
    if (revert_run(&stage->arena, &stage->host, &options, NULL, &stage->result, &err) < 0)
        CHECK_STR(err.text, "");
}

static inline const char *stage_word(const struct state_result *result)
{
    static const char *const words[] = {
        [OUTCOME_UNCHANGED] = "ok",
        [OUTCOME_CHANGED] = "changed",
        [OUTCOME_FAILED] = "failed",
        [OUTCOME_SKIPPED] = "skipped",
    };

    return words[result->outcome];
}

#endif
