#include "states/modules/file/editor.h"

#include <pthread.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/edit/edit.h"
#include "states/modules/file/backup.h"
#include "states/modules/file/parent.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "core/sys/cancel.h"
#include "core/sys/site.h"

/* Paths share these locks; two that hash to the same one wait needlessly, which is rare. */
#define LOCKS 64

static pthread_mutex_t locks[LOCKS];
static pthread_once_t locks_made = PTHREAD_ONCE_INIT;

static void make_locks(void)
{
    for (size_t i = 0; i < LOCKS; i++)
        (void)pthread_mutex_init(&locks[i], NULL);
}

static pthread_mutex_t *lock_of(const char *path)
{
    (void)pthread_once(&locks_made, make_locks);
    return &locks[map_hash(path, strlen(path)) % LOCKS];
}

/* Read the file and let the module plan its change. */
static int make_edit_plan(struct state_run *run, const struct editor *editor, const void *args,
                          struct editor_file *file, struct editor_plan *plan, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;
    struct str text;

    if (site_walk(&site, editor->path, SITE_FOLLOW, err) < 0 ||
        site_read(run->arena, &site, EDITOR_FILE_MAX, &text, err) < 0)
        return -1;
    *file =
        (struct editor_file){ editor->path, text.p != NULL, text.p ? text : STR(""), site.info };
    return editor->plan(run, args, file, plan, err);
}

static bool is_content_wanted(const struct editor_file *file, const struct editor_plan *plan)
{
    if (!file->exists && plan->create)
        return false;
    return str_eq(file->text, buf_view(&plan->text));
}

static void add_remark(struct state_run *run, const struct editor_plan *plan)
{
    if (plan->remark)
        state_say(run, "%s", plan->remark);
}

static void show_edit(struct state_run *run, const struct editor *editor,
                      const struct editor_file *file, struct str now)
{
    const struct str old = file->exists ? file->text : (struct str){ NULL, 0 };

    if (!editor->hide) {
        state_diff_content(run, file->path, old, now);
        return;
    }
    state_bind(run, old);
    state_bind(run, now);
}

int editor_check(struct state_run *run, const struct editor *editor, const void *args,
                 struct err *err)
{
    struct editor_plan plan = { .text = BUF_INIT(EDIT_SIZE_MAX) };
    struct editor_file file;
    int result = make_edit_plan(run, editor, args, &file, &plan, err);

    if (result == 0 && is_content_wanted(&file, &plan)) {
        add_remark(run, &plan);
    } else if (result == 0) {
        if (!file.exists)
            result = parent_check_file(run, editor->path, editor->makedirs, err);
        state_differs(run, "%s", plan.pending);
        state_made(run, "%s", plan.done);
        show_edit(run, editor, &file, buf_view(&plan.text));
    }
    buf_done(&plan.text);
    return result;
}

static int write_plan(struct state_run *run, const struct editor *editor,
                      const struct editor_file *file, const struct editor_plan *plan,
                      struct err *err)
{
    if (!file->exists &&
        parent_make_file(run, editor->path, editor->makedirs, editor->folder, err) < 0)
        return -1;
    if (backup_make(run, editor->path, editor->backup, err) < 0 ||
        change_rewrite(run, editor->path, &file->seen, buf_view(&plan->text),
                       file->exists ? NULL : editor->fresh, err) < 0)
        return -1;
    state_say(run, "%s", plan->done);
    state_detail(run, "path", "%s", editor->path);
    if (plan->detail)
        state_detail(run, plan->detail, "%s", plan->word);
    return 0;
}

static int edit_file(struct state_run *run, const struct editor *editor, const void *args,
                     struct err *err)
{
    struct editor_plan plan = { .text = BUF_INIT(EDIT_SIZE_MAX) };
    struct editor_file file;
    int result = make_edit_plan(run, editor, args, &file, &plan, err);

    if (result == 0 && is_content_wanted(&file, &plan)) {
        add_remark(run, &plan);
        state_unchanged(run);
    } else if (result == 0) {
        result = write_plan(run, editor, &file, &plan, err);
    }
    buf_done(&plan.text);
    return result;
}

int editor_apply(struct state_run *run, const struct editor *editor, const void *args,
                 struct err *err)
{
    pthread_mutex_t *lock = lock_of(editor->path);
    int result;

    (void)pthread_mutex_lock(lock);
    result = edit_file(run, editor, args, err);
    (void)pthread_mutex_unlock(lock);
    return result;
}

bool editor_is_stopped(const void *cancel)
{
    return cancel_is_raised(cancel);
}
