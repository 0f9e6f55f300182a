#include "states/run/revert.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "states/run/attempt.h"
#include "states/state/host.h"
#include "states/state/outcome.h"
#include "states/state/pause.h"
#include "states/compile/plan.h"
#include "states/run/lastrun.h"
#include "states/run/recorded.h"
#include "states/run/run.h"
#include "states/run/runlock.h"
#include "states/run/tidy.h"
#include "states/run/overlap.h"
#include "states/run/path_history.h"
#include "states/state/secrets.h"
#include "states/undo/forecast.h"
#include "states/undo/restore.h"
#include "states/undo/undo.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/draft_log.h"
#include "core/sys/fd.h"
#include "core/sys/lock.h"
#include "core/sys/path.h"
#include "core/sys/site.h"

#define NOTHING "nothing to revert (no apply recorded)"

/* A folder that a run created and that was not empty when its state was reverted. */
struct full_folder {
    const struct image *image;
    const struct undo_entry *entry;
};

struct reverting {
    struct arena *arena;
    struct state_host *host;
    const struct revert_options *options;
    const struct run_sink *sink;
    struct run_result *result;
    struct recorded recorded; /* the runs to revert */
    struct map by_name; /* index + 1 into the results: a state of several runs is one result */
    struct undo_run *run;
    struct path_history path_history; /* of that run */
    struct undo *journal;
    struct draft_log *drafts;
    struct restore restore;   /* of that run */
    struct forecast forecast; /* of a dry run */
    struct map folders;       /* "path\nowner" of each that has an image; once it is needed */
    const struct undo_run *stuck_run; /* the run in which `stuck` met a system error, or NULL */
    const struct undo_entry *stuck;
    struct map failed;            /* paths of newer runs that were not reverted, and their run */
    VEC(struct full_folder) full; /* another state of the run may have created files in it */
    bool complete;                /* every state of the run so far */
    bool unmarked;                /* some of them are not marked as restored */
};

static void emit_revert_event(const struct reverting *r, struct run_event event)
{
    if (!r->sink)
        return;
    event.run_id = r->result->run_id;
    event.state_count = (uint32_t)r->result->states.n;
    r->sink->emit(r->sink->self, &event);
}

static void add_revert_failure(struct reverting *r, const struct undo_run *run, const char *error)
{
    const struct state_result failure = {
        .name = arena_printf(r->arena, "state.revert:%s", run->place.id),
        .outcome = OUTCOME_FAILED,
        .error = error,
    };

    VEC_PUSH_IN(r->arena, &r->result->states, failure);
}

/* It may belong to this reference; its journal does not tell. */
static void report_nameless_run(struct reverting *r, const struct undo_run *run)
{
    add_revert_failure(
        r, run,
        arena_printf(r->arena,
                     "the undo journal of run %s is damaged and does not say what was "
                     "applied: %s; revert it by its ID if it belongs to '%s'",
                     run->place.id, undo_describe_damage(r->arena, run), r->options->target));
}

/* --- one path ---------------------------------------------------------------------------- */

static void learn_folder(struct reverting *r, const char *path, uid_t owner)
{
    map_set(&r->folders, str_from(arena_printf(r->arena, "%s\n%u", path, owner)), r);
}

/* Folders that a run has found, with their owners at the time. */
static void learn_folders(struct reverting *r, const struct undo_run *run)
{
    VEC_EACH (&run->states, entry)
        VEC_EACH (&entry->images, image) {
            const struct image *was = &image->image;

            if (was->info.kind == FS_FOLDER)
                learn_folder(r, was->path, was->info.uid);
            if (was->in.born != 0)
                learn_folder(r, path_dirname(r->arena, was->path), was->in_owner);
        }
}

static bool is_known_folder(void *self, const char *path, uid_t owner)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct reverting *r = self;

    if (map_count(&r->folders) == 0) {
        learn_folders(r, r->run);
        VEC_EACH (&r->recorded.known, run)
            learn_folders(r, run);
    }
    return map_has(&r->folders, str_from(arena_printf(&scratch, "%s\n%u", path, owner)));
}

/* Would set-id bits, or the owner they apply to, be restored? */
static bool gives_rights(const struct image *image, const struct fs_info *now)
{
    const struct fs_info *was = &image->info;

    return image->guarded && now->kind == FS_FILE &&
           (now->mode != was->mode || now->uid != was->uid || now->gid != was->gid);
}

static int find_path_mark(const struct reverting *r, const char *path, struct site *site,
                          struct arena *scratch, const char **ret_mark, struct err *err)
{
    const struct image *foreseen = forecast_find(&r->forecast, path);

    if (!foreseen)
        return image_mark(scratch, site, ret_mark, err);
    *ret_mark = foreseen->mark;
    return 0;
}

/* Is the path still as the run left or found it? A newer run that found another version tells when
 * it was changed. */
static int check_path_owner(const struct reverting *r, const struct undo_image *image,
                            struct site *site, struct arena *scratch, struct err *err)
{
    const char *path = image->image.path, *mark;
    const struct undo_run *newer;

    if (r->options->force ||
        (image->image.whole ? image->left.n == 0 : !gives_rights(&image->image, &site->info)))
        return 0;
    if (find_path_mark(r, path, site, scratch, &mark, err) < 0)
        return -1;
    if (image->image.whole ? path_history_knows(&r->path_history, path, mark)
                           : strcmp(mark, image->image.mark) == 0)
        return 0;
    newer = recorded_find_newer(&r->recorded, r->run, path, mark);
    if (!newer)
        return err_set(
            err, ERR_BUSY,
            "'%s' was changed since run %s; not reverted (use --force to revert it anyway)", path,
            r->run->place.id);
    return err_set(err, ERR_BUSY,
                   "'%s' was changed between run %s and run %s: only the later one is reverted "
                   "(--force discards the change)",
                   path, r->run->place.id, newer->place.id);
}

/* The content of a small file; a NULL view: there is none, or it is not shown. */
static struct str read_content(struct state_run *run, struct site *site)
{
    struct str now = { NULL, 0 };
    struct err ignored;
    AUTO_FD int fd = -1;

    if (site->info.kind == FS_FILE && site_peek(site, &fd, &ignored) == 0 && fd >= 0)
        (void)fs_read_fd(run->arena, fd, site->path, IMAGE_INLINE_MAX, &now, &ignored);
    return now;
}

/* Add the difference between the current and the restored content. */
static void report_content_change(const struct reverting *r, struct state_run *run,
                                  const struct image *image, struct site *site)
{
    const struct image *foreseen = forecast_find(&r->forecast, image->path);
    const enum fs_kind kind = foreseen ? foreseen->info.kind : site->info.kind;
    const bool is_new = r->options->test && kind == FS_NONE;
    struct str now;

    if (!image->whole || (image->info.kind != FS_FILE && image->info.kind != FS_NONE) ||
        (kind != FS_FILE && !is_new))
        return;
    now = foreseen ? foreseen->content : read_content(run, site);
    if ((now.p || is_new) && (image->content.p || image->info.kind == FS_NONE) &&
        !str_eq(now, image->content))
        state_diff_content(run, image->path, now, image->content);
}

/* States of a level that create the same folders each find some of them existing, so the creator of
 * a folder is not always its last user. Such a folder is checked again at the end. */
static bool is_full_folder(const struct reverting *r, const struct image *image, struct site *site)
{
    struct err ignored;

    if (forecast_find(&r->forecast, image->path))
        return false;
    return image->info.kind == FS_NONE && site_look(site, &ignored) == 0 &&
           site->info.kind == FS_FOLDER;
}

static int put_at(struct reverting *r, const struct image *image, struct site *site,
                  struct buf *words, bool *changed, struct err *err)
{
    return r->options->test ? forecast_put(&r->forecast, image, site, words, changed, err)
                            : restore_put(&r->restore, image, site, words, changed, err);
}

static int put_image(struct reverting *r, const struct image *image, struct buf *words,
                     bool *changed, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    return restore_find(&r->restore, image, &site, err) < 0
               ? -1
               : put_at(r, image, &site, words, changed, err);
}

static void say_result_words(struct state_run *run, const struct buf *words)
{
    if (words->n > 0)
        state_say(run, "%.*s", STR_ARG(str_trim_right(buf_view(words))));
}

/* A folder that is not empty is reported at the end. */
static int put_checked(struct reverting *r, struct state_run *run, const struct undo_entry *entry,
                       const struct undo_image *image, bool *changed, struct err *err)
{
    AUTO_BUF struct buf words = BUF_INIT(ATTEMPT_TEXT_MAX);
    AUTO_SITE struct site site = SITE_INIT;

    if (restore_find(&r->restore, &image->image, &site, err) < 0 ||
        check_path_owner(r, image, &site, run->arena, err) < 0)
        return -1;
    report_content_change(r, run, &image->image, &site);
    if (put_at(r, &image->image, &site, &words, changed, err) < 0)
        return -1;
    if (is_full_folder(r, &image->image, &site)) {
        const struct full_folder full = { &image->image, entry };

        VEC_PUSH_IN(r->arena, &r->full, full);
        return 0;
    }
    say_result_words(run, &words);
    return 0;
}

static int restore_path(struct reverting *r, struct state_run *run, const struct undo_entry *entry,
                        const struct undo_image *image, bool *changed, struct err *err)
{
    AUTO_BUF struct buf words = BUF_INIT(ATTEMPT_TEXT_MAX);
    const struct undo_image *older = path_history_attributes(&r->path_history, image);

    if (!restore_has(&r->restore, &image->image) &&
        put_checked(r, run, entry, image, changed, err) < 0)
        return -1;
    if (older && put_image(r, &older->image, &words, changed, err) < 0)
        return -1;
    say_result_words(run, &words);
    return 0;
}

/* An older run must wait for the revert of a newer one: otherwise reverting the newer one later
 * would restore outdated content. */
static int check_newer(const struct reverting *r, const struct undo_entry *entry, struct err *err)
{
    VEC_EACH (&entry->images, image) {
        const struct undo_run *newer = map_find(&r->failed, str_from(image->image.path));

        if (newer && newer != r->run)
            return err_set(err, ERR_BUSY,
                           "'%s' was changed again by run %s, which is not reverted yet",
                           image->image.path, newer->place.id);
    }
    return 0;
}

static void remember_failed(struct reverting *r, const struct undo_entry *entry,
                            const struct err *why)
{
    VEC_EACH (&entry->images, image)
        map_set(&r->failed, str_from(image->image.path), r->run);
    if (why->code == ERR_SYSTEM && !r->options->force && !r->stuck) {
        r->stuck_run = r->run;
        r->stuck = entry;
    }
}

/* The last change first. */
static int restore_paths(struct reverting *r, struct state_run *run, const struct undo_entry *entry,
                         bool *changed, struct err *err)
{
    AUTO_BUF struct buf words = BUF_INIT(ATTEMPT_TEXT_MAX);
    struct restore_images images = { 0 };

    for (size_t i = entry->images.n; i-- > 0;)
        if (!path_history_is_past(&r->path_history, &entry->images.p[i]))
            VEC_PUSH_IN(run->arena, &images.list, &entry->images.p[i].image);
    restore_expect(&r->restore, &images);
    for (size_t i = entry->images.n; i-- > 0;)
        if (!path_history_is_past(&r->path_history, &entry->images.p[i]) &&
            restore_path(r, run, entry, &entry->images.p[i], changed, err) < 0)
            return -1;
    if (!r->options->test && restore_finish(&r->restore, &words, changed, err) < 0)
        return -1;
    say_result_words(run, &words);
    return 0;
}

/* --- one state ---------------------------------------------------------------------------- */

static int decode_args(struct state_run *run, const struct undo_entry *entry,
                       const struct module *module, const void **ret, struct err *err)
{
    struct diags diags = DIAGS_INIT(run->arena), unknown = DIAGS_INIT(run->arena);
    const struct plan_state state = { .name = entry->name, .id = entry->id, .module = module };

    if (plan_decode(run->arena, &state, &entry->body, &unknown, ret, &diags) == 0)
        return 0;
    return diags_to_err(&diags, err);
}

static int revert_module(struct state_run *run, const struct undo_entry *entry, bool *changed,
                         struct err *err)
{
    const struct module *module = module_find(str_from(entry->module));
    const void *args;

    if (entry->unchanged && entry->images.n == 0 && entry->notes->count == 0)
        return 0; /* apply found nothing to do */
    if (entry->lost)
        return 0; /* reported with the damage of the run; its files are restored */
    if (!module)
        return err_set(err, ERR_NOT_FOUND, "this version has no module '%s'", entry->module);
    if (!module->revert) {
        if (module->flags & MODULE_NO_UNDO)
            state_say(run, "%s cannot be reverted", module->name);
        return 0;
    }
    if (run->test && !(module->flags & MODULE_DRY_REVERT)) {
        state_say(run, "%s would be undone, a dry run cannot say how", entry->name);
        *changed = true;
        return 0;
    }
    if (decode_args(run, entry, module, &args, err) < 0)
        return -1;
    cancel_begin();
    if (cancel_end(module->revert(run, args, err), err) < 0)
        return -1;
    *changed |= !run->unchanged;
    return 0;
}

static int revert_once(struct reverting *r, struct state_run *run, const struct undo_entry *entry,
                       bool *changed, struct err *err)
{
    const struct module *module = module_find(str_from(entry->module));
    const bool last = module && (module->flags & MODULE_FILES_FIRST);

    if (check_newer(r, entry, err) < 0 || (!last && revert_module(run, entry, changed, err) < 0))
        return -1;
    if (restore_paths(r, run, entry, changed, err) < 0)
        return -1;
    return last ? revert_module(run, entry, changed, err) : 0;
}

static int revert_with_retry(struct reverting *r, struct state_run *run,
                             const struct undo_entry *entry, bool *changed, struct err *err)
{
    int rc = revert_once(r, run, entry, changed, err);

    for (int64_t i = 0; rc < 0 && i < entry->retry.attempts && !run->test; i++) {
        if (err->code == ERR_CANCELED)
            break;
        if (!pause_for(r->host->cancel, entry->retry.interval)) {
            err->code = ERR_CANCELED;
            return err_wrap(err, "canceled before the next attempt");
        }
        if (!*changed) /* do not report restored states again */
            buf_clear(&run->text);
        rc = revert_once(r, run, entry, changed, err);
    }
    return rc;
}

static const char *tell_name(struct reverting *r, const struct undo_entry *entry)
{
    return secrets_masked(r->host->secrets, r->arena, str_from(entry->shown)).p;
}

/* One result for each name: what happened in an older run is added to it. */
static struct state_result *find_reverted_result(struct reverting *r,
                                                 const struct undo_entry *entry)
{
    const struct str name = str_from(entry->name);
    size_t at = (size_t)map_find(&r->by_name, name);
    const struct state_result fresh = { .name = tell_name(r, entry),
                                        .level = entry->level,
                                        .outcome = OUTCOME_UNCHANGED };

    if (at == 0) {
        VEC_PUSH_IN(r->arena, &r->result->states, fresh);
        at = r->result->states.n;
        map_set(&r->by_name, name, (void *)at); /* a number, not a pointer */
    }
    return &r->result->states.p[at - 1];
}

static void add_revert_words(struct reverting *r, struct state_result *result, struct buf *words)
{
    struct str text;

    secrets_mask(r->host->secrets, words);
    text = str_trim_right(buf_view(words));
    if (text.n == 0 || (r->options->test && str_find(result->diff, text, 0) != STR_NONE))
        return; /* two runs would do the same */
    result->diff =
        str_from(result->diff.n == 0
                     ? arena_printf(r->arena, "%.*s", STR_ARG(text))
                     : arena_printf(r->arena, "%.*s\n%.*s", STR_ARG(result->diff), STR_ARG(text)));
}

static void revert_state(struct reverting *r, uint32_t number)
{
    const struct undo_entry *entry = &r->run->states.p[number];
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct change change = { .drafts = r->drafts };
    struct state_run run = { .arena = &scratch,
                             .name = entry->name,
                             .host = r->host,
                             .test = r->options->test,
                             .text = BUF_INIT(ATTEMPT_TEXT_MAX),
                             .notes = entry->notes,
                             .secret = entry->secret || entry->hidden,
                             .change = r->options->test ? NULL : &change };
    const char *lost = undo_describe_loss(r->arena, r->run, entry);
    int64_t began = clock_real();
    struct state_result *result;
    bool changed = false;
    struct err why;
    int rc;

    recorded_hide_secrets(r->host->secrets, entry);
    result = find_reverted_result(r, entry);
    emit_revert_event(r, (struct run_event){ .kind = RUN_STATE_STARTED, .name = result->name });
    rc = revert_with_retry(r, &run, entry, &changed, &why);
    r->result->canceled |= rc < 0 && why.code == ERR_CANCELED;
    if (rc < 0)
        result->error =
            arena_str(r->arena, secrets_masked(r->host->secrets, r->arena, str_from(why.text))).p;
    else if (lost)
        result->error = lost;
    result->outcome = outcome_merge(result->outcome, rc < 0 || lost ? OUTCOME_FAILED
                                                     : changed      ? OUTCOME_CHANGED
                                                                    : OUTCOME_UNCHANGED);
    add_revert_words(r, result, &run.text);
    r->result->destroys |= run.destroys;
    buf_done(&run.text);
    result->duration += clock_real() - began;
    emit_revert_event(
        r, (struct run_event){ .kind = RUN_STATE_FINISHED, .name = result->name, .state = result });
    r->complete &= rc == 0;
    if (rc < 0)
        remember_failed(r, entry, &why);
    if (rc < 0 || lost)
        return; /* and is tried again, once the journal is whole */
    path_history_restored(&r->path_history, number);
    if (!r->options->test)
        r->unmarked |= undo_restored(r->journal, number, &why) < 0;
}

/* --- one run ------------------------------------------------------------------------------- */

struct place_in_run {
    uint32_t number, level;
    uint64_t sequence;
};

/* The last level first; in a level, the last change first. */
static int compare_backwards(const void *a, const void *b)
{
    const struct place_in_run *left = a, *right = b;

    if (left->level != right->level)
        return left->level < right->level ? 1 : -1;
    return left->sequence < right->sequence ? 1 : left->sequence > right->sequence ? -1 : 0;
}

static void skip_state(struct reverting *r, const struct undo_entry *entry)
{
    struct state_result *result = find_reverted_result(r, entry);

    r->result->canceled = true;
    r->complete = false;
    if (result->outcome != OUTCOME_UNCHANGED)
        return;
    result->outcome = OUTCOME_SKIPPED;
    result->skip_reason = SKIP_CANCELED;
}

/* A full or broken disk has left the state half reverted. Earlier changes depend on its old
 * content, so they wait until it is restored. */
static bool is_entry_blocked(const struct reverting *r, const struct undo_entry *entry)
{
    return r->stuck && (r->stuck_run != r->run || entry->level < r->stuck->level);
}

static void block_state(struct reverting *r, const struct undo_entry *entry)
{
    struct state_result *result = find_reverted_result(r, entry);

    r->complete = false;
    if (result->outcome == OUTCOME_FAILED)
        return;
    result->outcome = OUTCOME_FAILED;
    result->error =
        arena_printf(r->arena,
                     "not reverted: '%s' of run %s came later and could not be reverted (use "
                     "--force to go on)",
                     tell_name(r, r->stuck), r->stuck_run->place.id);
}

static int compare_revert_depth(const void *a, const void *b)
{
    const struct full_folder *left = a, *right = b;
    const size_t m = strlen(left->image->path), n = strlen(right->image->path);

    return m < n ? 1 : m > n ? -1 : 0;
}

static int restore_full_folders(struct reverting *r, struct err *err)
{
    if (r->full.n > 1)
        qsort(r->full.p, r->full.n, sizeof(*r->full.p), compare_revert_depth);
    VEC_EACH (&r->full, full) {
        AUTO_BUF struct buf words = BUF_INIT(ATTEMPT_TEXT_MAX);
        struct state_result *result = find_reverted_result(r, full->entry);
        bool changed = false;

        if (put_image(r, full->image, &words, &changed, err) < 0)
            return -1;
        add_revert_words(r, result, &words);
        if (changed)
            result->outcome = outcome_merge(result->outcome, OUTCOME_CHANGED);
    }
    r->full.n = 0;
    return 0;
}

/* The run is kept, to be tried again with a journal from a backup, unless the caller forces the
 * revert. */
static void report_undo_damage(struct reverting *r)
{
    const struct undo_run *run = r->run;

    if (!undo_is_damaged(run))
        return;
    add_revert_failure(
        r, run,
        arena_printf(
            r->arena,
            "the undo journal of run %s is damaged: %s; the affected changes were not reverted%s",
            run->place.id, undo_describe_damage(r->arena, run),
            r->options->force ? "" : ", and the run is kept (use --force to drop it)"));
    r->complete &= r->options->force;
}

/* On a full disk, what is restored is marked as little as if the machine had stopped: the next
 * revert looks at it again. What was removed since may have made room. */
static int mark_reverted(struct reverting *r, struct err *err)
{
    if (r->unmarked) {
        undo_free(r->journal);
        r->journal = undo_reopen(r->run);
    }
    return undo_reverted(r->journal, err);
}

/* A killed revert restored this state, but had not come back to the folders that it made. */
static void expect_folders(struct reverting *r, const struct undo_entry *entry)
{
    VEC_EACH (&entry->images, image) {
        const struct full_folder full = { &image->image, entry };
        AUTO_SITE struct site site = SITE_INIT;
        struct err ignored;

        if (image->image.whole && image->image.info.kind == FS_NONE &&
            restore_find(&r->restore, &image->image, &site, &ignored) == 0 &&
            site.info.kind == FS_FOLDER)
            VEC_PUSH_IN(r->arena, &r->full, full);
    }
}

static int revert_states(struct reverting *r, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct place_in_run *order = ARENA_ARRAY(&scratch, struct place_in_run, r->run->states.n + 1);
    size_t count = 0;

    path_history_init(&r->path_history, &scratch, r->run);
    for (uint32_t i = 0; i < r->run->states.n; i++) {
        const struct undo_entry *entry = &r->run->states.p[i];

        if (entry->restored)
            expect_folders(r, entry);
        else
            order[count++] = (struct place_in_run){ i, entry->level, entry->sequence };
    }
    qsort(order, count, sizeof(*order), compare_backwards);
    for (size_t i = 0; i < count; i++) {
        if (cancel_is_raised(r->host->cancel))
            skip_state(r, &r->run->states.p[order[i].number]);
        else if (is_entry_blocked(r, &r->run->states.p[order[i].number]))
            block_state(r, &r->run->states.p[order[i].number]);
        else
            revert_state(r, order[i].number);
    }
    if (restore_full_folders(r, err) < 0)
        return -1;
    report_undo_damage(r);
    return r->complete && !r->options->test ? mark_reverted(r, err) : 0;
}

static int revert_one(struct reverting *r, struct undo_run *run, struct err *err)
{
    struct err ignored; /* a full disk must not stop a revert */
    int rc;

    (void)lastrun_doubt(r->host->data_dir, &ignored);
    r->run = run;
    r->complete = true;
    r->unmarked = false;
    r->journal = undo_reopen(run);
    r->restore.rebuild.folder = run->place.folder;
    rc = revert_states(r, err);
    undo_free(r->journal);
    return rc;
}

/* --- the revert ----------------------------------------------------------------------------- */

static void report_nothing_to_revert(struct reverting *r)
{
    const struct state_result nothing = {
        .name = r->options->target[0]
                    ? arena_printf(r->arena, "state.revert:%s", r->options->target)
                    : "state.revert",
        .outcome = OUTCOME_UNCHANGED,
        .diff = STR(NOTHING),
    };

    VEC_PUSH_IN(r->arena, &r->result->states, nothing);
}

static int check_agreed(const struct reverting *r, struct err *err)
{
    const struct run_result *agreed = r->options->agreed;
    bool same = !agreed || agreed->reverted.n == r->recorded.list.n;

    for (size_t i = 0; agreed && same && i < r->recorded.list.n; i++)
        same = strcmp(agreed->reverted.p[i], r->recorded.list.p[i].place.id) == 0;
    if (same)
        return 0;
    return err_set(err, ERR_BUSY, "other runs have ended meanwhile: nothing was reverted");
}

static int find_entries(struct reverting *r, struct err *err)
{
    const struct revert_options *options = r->options;
    const struct recorded_want wanted = {
        .host = r->host,
        .target = options->target,
        .has_run = options->has_run,
        .scope = options->scope,
        .since = options->since,
        .to = options->to,
    };

    if (recorded_find(&r->recorded, &wanted, err) < 0 || check_agreed(r, err) < 0)
        return -1;
    return options->force ? 0 : overlap_check(r->arena, r->host, &r->recorded, err);
}

static int revert_entries(struct reverting *r, struct err *err)
{
    int64_t began = clock_real();
    const struct recorded *recorded = &r->recorded;

    if (find_entries(r, err) < 0)
        return -1;
    VEC_EACH (&recorded->nameless, run)
        report_nameless_run(r, run);
    r->result->revert = true;
    r->result->test = r->options->test;
    if (recorded->list.n > 0)
        r->result->run_id = recorded->list.p[0].place.id;
    VEC_EACH (&recorded->list, run)
        VEC_PUSH_IN(r->arena, &r->result->reverted, run->place.id);
    emit_revert_event(r, (struct run_event){ .kind = RUN_STARTED });
    VEC_EACH (&recorded->list, run)
        if (revert_one(r, run, err) < 0) {
            emit_revert_event(r, (struct run_event){ .kind = RUN_FINISHED });
            return -1;
        }
    if (r->result->states.n == 0)
        report_nothing_to_revert(r);
    run_result_count(r->result);
    r->result->duration = clock_real() - began;
    emit_revert_event(r, (struct run_event){ .kind = RUN_FINISHED, .run = r->result });
    return 0;
}

/* With the lock of a run. */
static int revert_locked(struct reverting *r, struct err *err)
{
    struct lock lock = LOCK_NONE;
    int rc;

    if (runlock_take(&lock, r->host, r->sink, err) < 0)
        return -1;
    r->drafts = r->restore.log = tidy_begin(r->host->data_dir);
    rc = revert_entries(r, err);
    draft_log_close(r->drafts);
    lock_drop(&lock);
    return rc;
}

int revert_run(struct arena *arena, struct state_host *host, const struct revert_options *options,
               const struct run_sink *sink, struct run_result *ret_result, struct err *err)
{
    struct run_result result = { 0 };
    struct reverting r = { .arena = arena,
                           .host = host,
                           .options = options,
                           .sink = sink,
                           .result = &result,
                           .recorded = RECORDED_INIT(arena),
                           .by_name = MAP_INIT_IN(arena),
                           .folders = MAP_INIT_IN(arena),
                           .failed = MAP_INIT_IN(arena) };

    if (!host->data_dir)
        return err_set(err, ERR_INVALID, "revert requires the data folder of the runs");
    restore_init(&r.restore, arena, NULL);
    r.restore.knows = is_known_folder;
    r.restore.self = &r;
    forecast_init(&r.forecast, arena);
    if ((options->test ? revert_entries(&r, err) : revert_locked(&r, err)) < 0)
        return -1;
    *ret_result = result;
    return 0;
}
