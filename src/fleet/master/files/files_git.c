/*
 * Folders of the state tree that come from git remotes (`gitfs.remotes`).
 *
 * Such a tree is published in turns: a worker pulls the remotes when due, or otherwise reverts
 * local edits of the checkouts; then the tree is published; then the next turn may begin. So the
 * folders do not change while they are read.
 *
 * Only the holder of the lease does this. A checkout may be old when a master gets the lease, so it
 * publishes nothing until it has pulled every remote once. After that, a failing remote keeps its
 * folder, and the others continue.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/gitfs/sync.h"
#include "fleet/master/audit.h"
#include "fleet/master/master.h"
#include "fleet/master/services.h"
#include "fleet/master/files/files_service.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

/* How long an operator waits for git; the command gives up after 35 s. */
#define PATIENCE_NS (25 * CLOCK_SECOND)
/* Retry interval after a failure, while nothing may be published. */
#define RETRY_NS    (10 * CLOCK_SECOND)
#define COMMIT_SIZE 72
#define SHORT_ID    12

/* The state of a remote. */
struct remote_state {
    const char *name, *shown; /* name and URL */
    char commit[COMMIT_SIZE]; /* "": none */
    char before[COMMIT_SIZE]; /* published commit when `is_news` was set */
    char error[ERR_TEXT_SIZE];
    bool is_local; /* the error concerns the folder, not the remote */
    bool is_news;  /* the commit is not published yet */
};

struct files_service_git {
    struct files_service *files_service;
    char *folder; /* the tree of states, as of the start */
    struct background_tasks background_tasks;
    struct background_task background_task;
    struct cancel cancel;
    bool is_given_up; /* pull canceled for new remotes */
    struct timer due, patience;

    struct arena arena; /* of the configuration in use */
    struct remotes remotes;
    VEC(struct remote_state) states;
    bool has_leftovers; /* of remotes of an earlier configuration */

    enum { TURN_NONE, TURN_GIT, TURN_PUBLISHING } turn;
    bool is_open, is_reloaded, is_ready;
    int64_t next_pull;           /* clock_now */
    char problem[ERR_TEXT_SIZE]; /* why no remote could be tried; "": none */
    VEC(struct files_service_round) waiters, served;

    /* of the worker */
    struct arena work;
    struct sync_job job;
    struct err err;
    bool has_failed;
};

static void begin_git_turn(struct files_service_git *git);

static struct publisher *get_states_publisher(const struct files_service_git *git)
{
    return git->files_service->branches[FILES_SERVICE_STATES].publisher;
}

static bool is_leading_git(const struct files_service_git *git)
{
    return git->is_open && lease_is_held(&git->files_service->lease);
}

/* --- remotes -------------------------------------------------------------------------- */

static struct remote_state *find_remote_state(struct files_service_git *git, const char *name)
{
    VEC_EACH (&git->states, state)
        if (strcmp(state->name, name) == 0)
            return state;
    return NULL;
}

static void copy_remote_text(char *to, size_t size, const char *text)
{
    (void)snprintf(to, size, "%s", text ? text : "");
}

/* The first failing remote; NULL: none. */
static const struct remote_state *find_failing(const struct files_service_git *git)
{
    VEC_EACH (&git->states, state)
        if (state->error[0])
            return state;
    return NULL;
}

static void print_problem(const struct files_service_git *git, struct buf *out)
{
    const struct remote_state *failing = find_failing(git);

    if (git->problem[0])
        buf_add_text(out, git->problem);
    else if (failing)
        buf_printf(out, "%s (%s): %s", failing->name, failing->shown, failing->error);
}

static void print_commits(const struct files_service_git *git, struct buf *out)
{
    VEC_EACH (&git->states, state)
        buf_printf(out, "%s%s at %.*s", out->n ? ", " : "", state->name, SHORT_ID,
                   state->commit[0] ? state->commit : "nothing");
}

/* Move the waiters into the turn. */
static void serve_waiters(struct files_service_git *git)
{
    VEC_EACH (&git->waiters, waiter)
        VEC_PUSH(&git->served, *waiter);
    vec_clear(&git->waiters);
}

/* --- the end of a turn ---------------------------------------------------------------- */

static void notify_round_waiters(struct files_service_git *git,
                                 const struct publisher_outcome *outcome)
{
    AUTO_BUF struct buf problem = BUF_INIT(ERR_TEXT_SIZE * 2);
    struct publisher_outcome worse = *outcome;
    struct files_service_round *served = git->served.p;
    const size_t count = git->served.n;

    print_problem(git, &problem);
    if (!worse.error[0])
        worse.error = buf_text(&problem);
    git->served.p = NULL;
    git->served.n = git->served.cap = 0;
    for (size_t i = 0; i < count; i++)
        served[i].wish.fn(served[i].wish.self, served[i].pulls ? &worse : outcome);
    free(served);
}

static void end_turn(struct files_service_git *git, const struct publisher_outcome *outcome)
{
    git->turn = TURN_NONE;
    notify_round_waiters(git, outcome);
    if (git->is_reloaded)
        files_service_git_configure(git->files_service);
    if (git->waiters.n)
        begin_git_turn(git);
}

static void refuse_turn(struct files_service_git *git, const char *why)
{
    end_turn(git, &(struct publisher_outcome){ .error = why });
}

static void announce_commits(struct files_service_git *git)
{
    VEC_EACH (&git->states, state) {
        AUTO_BUF struct buf id = BUF_INIT(REMOTE_NAME_MAX + COMMIT_SIZE + 2);

        if (!state->is_news)
            continue;
        state->is_news = false;
        buf_printf(&id, "%s@%s", state->name, state->commit);
        log_info("published a commit remote=%s url=%s commit=%s before=%s", state->name,
                 state->shown, state->commit, state->before[0] ? state->before : "-");
        audit_log(&(struct audit){ .action = "gitfs.publish", .by = "gitfs", .id = buf_text(&id) });
    }
}

static void on_git_tree_published(void *self, const struct publisher_outcome *outcome)
{
    struct files_service_git *git = self;

    if (outcome->manifest.n)
        announce_commits(git);
    end_turn(git, outcome);
}

/* --- results of git ------------------------------------------------------------------- */

static void log_result(const struct sync_result *result, const struct remote_state *state)
{
    const struct checkout_report *report = &result->report;

    if (result->error && strcmp(result->error, state->error) != 0)
        log_error("git remote failed, its folder is unchanged remote=%s url=%s error=%s",
                  state->name, state->shown, result->error);
    if (report->is_rewritten && !result->error)
        log_warning("the branch of a git remote was rewritten (force push): following it remote=%s "
                    "before=%s commit=%s",
                    state->name, report->before, report->commit);
    if (report->edits)
        log_warning(
            "files were edited in the folder of a git remote: reverted, and kept in '" CHECKOUT_KEPT
            "' remote=%s files=%zu first=%s",
            state->name, report->edits, report->edit);
    if (report->was_damaged)
        log_warning(
            "the folder of a git remote was damaged: checked out again, and kept in '" CHECKOUT_KEPT
            "' remote=%s",
            state->name);
}

static void note_result(struct files_service_git *git, const struct sync_result *result)
{
    struct remote_state *state = find_remote_state(git, result->remote->name);
    const struct checkout_report *report = &result->report;

    if (!state)
        return;
    log_result(result, state);
    if (git->job.pulls)
        metrics_add(git->files_service->master->metrics, MASTER_GITFS_PULLS, 1,
                    result->error        ? "failed"
                    : report->is_changed ? "changed"
                                         : "unchanged",
                    NULL);
    /* a check without the remote does not prove that it works again */
    if (git->job.pulls || result->error || state->is_local) {
        copy_remote_text(state->error, sizeof(state->error), result->error);
        state->is_local = !git->job.pulls;
    }
    if (report->is_changed && report->commit && strcmp(state->commit, report->commit) != 0) {
        copy_remote_text(state->before, sizeof(state->before), report->before);
        state->is_news = true;
    }
    copy_remote_text(state->commit, sizeof(state->commit), report->commit);
}

static void note_removed(struct files_service_git *git)
{
    VEC_EACH (&git->job.left, name)
        log_warning("git remote is no longer configured, but its folder was not cloned from it: "
                    "the folder stays name=%s",
                    *name);
    VEC_EACH (&git->job.removed, name)
        log_info("git remote is no longer configured: removed its folder and its repository "
                 "name=%s",
                 *name);
}

static void note_job(struct files_service_git *git)
{
    copy_remote_text(git->problem, sizeof(git->problem), git->has_failed ? git->err.text : "");
    if (git->problem[0])
        log_error("git remotes cannot be pulled error=%s", git->problem);
    note_removed(git);
    VEC_EACH (&git->job.results, result)
        note_result(git, result);
    if (!git->has_failed && git->job.pulls)
        git->has_leftovers = false;
}

/* Every remote was pulled since this master got the lease. */
static bool has_pulled_all(const struct files_service_git *git)
{
    if (git->has_failed || !git->job.pulls)
        return false;
    return git->job.results.n == git->remotes.list.n && !find_failing(git);
}

/* The folders match their commits exactly. */
static bool is_checkout_valid(const struct files_service_git *git)
{
    VEC_EACH (&git->job.results, result)
        if (!result->is_valid)
            return false;
    return !git->has_failed && git->job.results.n == git->remotes.list.n;
}

static void on_git_due(struct timer *timer)
{
    struct files_service_git *git = container_of(timer, struct files_service_git, due);

    if (is_leading_git(git))
        files_service_advance(git->files_service);
}

static void schedule_pull(struct files_service_git *git)
{
    const int64_t interval = git->files_service->master->conf.gitfs_interval;
    const int64_t pause = git->is_ready || interval < RETRY_NS ? interval : RETRY_NS;

    git->next_pull = clock_after(clock_now(), pause);
    timer_set(loop_timers(git->files_service->master->loop), &git->due, git->next_pull, on_git_due);
}

/* Publish with the combined wishes of the turn. */
static void publish_turn(struct files_service_git *git)
{
    struct publisher_wish wish = { .fn = on_git_tree_published, .self = git };

    VEC_EACH (&git->served, round) {
        wish.force = wish.force || round->wish.force;
        wish.cause = wish.cause ? wish.cause : round->wish.cause;
    }
    publisher_round(get_states_publisher(git), &wish);
}

static void on_git_done(struct background_task *background_task)
{
    struct files_service_git *git =
        container_of(background_task, struct files_service_git, background_task);
    AUTO_BUF struct buf why = BUF_INIT(ERR_TEXT_SIZE * 3);

    cancel_done(&git->cancel);
    if (!is_leading_git(git)) {
        refuse_turn(git, "this master no longer publishes");
        return;
    }
    if (git->is_given_up) {
        git->is_given_up = false;
        refuse_turn(git, "configuration reloaded: pulling the remotes again");
        return;
    }
    note_job(git);
    git->is_ready = git->is_ready || has_pulled_all(git);
    if (git->job.pulls)
        schedule_pull(git);
    if (!git->is_ready || !is_checkout_valid(git)) {
        print_problem(git, &why);
        refuse_turn(git, buf_text(&why));
        return;
    }
    git->turn = TURN_PUBLISHING;
    publish_turn(git);
}

/* --- the begin of a turn -------------------------------------------------------------- */

static void run_git_work(struct background_task *background_task)
{
    struct files_service_git *git =
        container_of(background_task, struct files_service_git, background_task);

    git->has_failed = sync_run(&git->job, &git->err) < 0;
}

static bool is_pull_due(const struct files_service_git *git)
{
    VEC_EACH (&git->served, waiter)
        if (waiter->pulls)
            return true;
    return clock_now() >= git->next_pull;
}

static void begin_git(struct files_service_git *git)
{
    struct err err;

    arena_clear(&git->work);
    git->job = (struct sync_job){ .arena = &git->work,
                                  .cancel = &git->cancel,
                                  .folder = git->folder,
                                  .remotes = &git->remotes,
                                  .timeout = git->files_service->master->conf.gitfs_timeout,
                                  .pulls = is_pull_due(git) };
    if (!git->is_ready && !git->job.pulls) { /* it has just failed */
        AUTO_BUF struct buf why = BUF_INIT(ERR_TEXT_SIZE * 3);

        print_problem(git, &why);
        refuse_turn(git, why.n ? buf_text(&why) : "git remotes were not pulled yet");
        return;
    }
    if (cancel_init(&git->cancel, &err) < 0) {
        refuse_turn(git, err.text);
        return;
    }
    background_task_begin(&git->background_tasks, &git->background_task, run_git_work, on_git_done);
}

static void begin_git_turn(struct files_service_git *git)
{
    if (git->turn != TURN_NONE || !git->is_open)
        return;
    git->turn = TURN_GIT;
    serve_waiters(git);
    begin_git(git);
}

/* Tell waiters that git takes longer; it continues. */
static void on_impatient(struct timer *timer)
{
    struct files_service_git *git = container_of(timer, struct files_service_git, patience);

    if (git->turn == TURN_GIT)
        notify_round_waiters(
            git, &(struct publisher_outcome){
                     .error = "git is still running: the published tree stays until it is done" });
}

static bool is_waiting(const struct files_service_git *git, const struct publisher_wish *wish)
{
    VEC_EACH (&git->waiters, waiter)
        if (waiter->wish.fn == wish->fn && waiter->wish.self == wish->self)
            return true;
    return false;
}

bool files_service_is_from_git(const struct files_service_branch *branch)
{
    return branch == &branch->files_service->branches[FILES_SERVICE_STATES] &&
           branch->files_service->git->remotes.list.n > 0;
}

static bool is_pulled_from_git(const struct files_service_branch *branch)
{
    return files_service_is_from_git(branch) ||
           (branch == &branch->files_service->branches[FILES_SERVICE_STATES] &&
            branch->files_service->git->has_leftovers);
}

void files_service_begin_round(struct files_service_branch *branch,
                               const struct files_service_round *round)
{
    struct files_service_git *git = branch->files_service->git;

    if (!is_pulled_from_git(branch)) {
        publisher_round(branch->publisher, &round->wish);
        return;
    }
    if (!is_waiting(git, &round->wish))
        VEC_PUSH(&git->waiters, *round);
    if (round->pulls)
        timer_set(loop_timers(branch->files_service->master->loop), &git->patience,
                  clock_after(clock_now(), PATIENCE_NS), on_impatient);
    begin_git_turn(git);
}

/* --- life ----------------------------------------------------------------------------- */

const char *files_service_describe_git(struct arena *arena,
                                       const struct files_service_branch *branch)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (files_service_is_from_git(branch))
        print_commits(branch->files_service->git, &text);
    return arena_strdup(arena, buf_text(&text));
}

/* Keeps the state of a remote that is still configured. */
static void add_remote_state(struct files_service_git *git, const struct remote *remote,
                             const struct remote_state *before, size_t count)
{
    struct remote_state state = { 0 };

    for (size_t i = 0; i < count; i++)
        if (strcmp(before[i].name, remote->name) == 0)
            state = before[i];
    state.name = remote->name;
    state.shown = remote_show_url(&git->arena, remote->url);
    VEC_PUSH_IN(&git->arena, &git->states, state);
}

void files_service_git_configure(struct files_service *service)
{
    struct files_service_git *git = service->git;
    const struct remote_state *before = git->states.p;
    const size_t count = git->states.n;
    struct arena old = git->arena;

    git->is_reloaded = git->turn != TURN_NONE; /* the turn uses the old ones */
    if (git->is_reloaded && git->turn == TURN_GIT && git->job.pulls) {
        git->is_given_up = true; /* the hanging remote may no longer be listed */
        cancel_raise(&git->cancel);
    }
    if (git->is_reloaded || !git->is_open)
        return;
    git->arena = (struct arena)ARENA_INIT;
    git->remotes = remote_copy_list(&git->arena, &service->master->conf.gitfs);
    git->states.p = NULL;
    git->states.n = git->states.cap = 0;
    VEC_EACH (&git->remotes.list, remote)
        add_remote_state(git, remote, before, count);
    git->has_leftovers = sync_has_store(git->folder);
    git->next_pull = 0;
    arena_done(&old);
    if (is_leading_git(git))
        files_service_advance(service);
}

void files_service_git_lead(struct files_service *service)
{
    service->git->is_ready = false;
    service->git->next_pull = 0;
}

void files_service_git_yield(struct files_service *service)
{
    struct files_service_git *git = service->git;

    git->is_ready = false;
    timer_clear(loop_timers(service->master->loop), &git->due);
    if (git->turn == TURN_GIT)
        cancel_raise(&git->cancel);
}

int files_service_git_open(struct files_service *service, struct err *err)
{
    struct files_service_git *git = mem_zalloc(sizeof(*git));

    git->files_service = service;
    service->git = git;
    return background_tasks_open_workers(&git->background_tasks, service->master->loop, 1, err);
}

void files_service_git_start(struct files_service *service)
{
    struct files_service_git *git = service->git;

    free(git->folder);
    git->folder = mem_strdup(service->master->conf.states_dir);
    git->is_open = true;
    files_service_git_configure(service);
}

void files_service_git_stop(struct files_service *service)
{
    struct files_service_git *git = service->git;

    git->is_open = false;
    timer_clear(loop_timers(service->master->loop), &git->patience);
    files_service_git_yield(service);
    serve_waiters(git);
    notify_round_waiters(git,
                         &(struct publisher_outcome){ .error = "this master is shutting down" });
}

void files_service_git_free(struct files_service *service)
{
    struct files_service_git *git = service->git;

    if (!git)
        return;
    background_tasks_close(&git->background_tasks);
    if (git->turn == TURN_GIT)
        cancel_done(&git->cancel);
    vec_done(&git->waiters);
    vec_done(&git->served);
    arena_done(&git->work);
    arena_done(&git->arena);
    free(git->folder);
    free(git);
    service->git = NULL;
}

/* --- the check ------------------------------------------------------------------------ */

static void *open_check(struct master *master, struct err *err)
{
    (void)err;
    return master;
}

static int start_folder_check(void *self, struct err *err)
{
    (void)self;
    (void)err;
    return 0;
}

static enum health_status check_git(void *self, char message[static HEALTH_TEXT_MAX])
{
    const struct files_service *service = master_find(self, &master_files_service);
    const struct files_service_git *git = service->git;
    AUTO_BUF struct buf text = BUF_INIT(HEALTH_TEXT_MAX);
    enum health_status status = HEALTH_OK;

    if (!git->remotes.list.n) {
        buf_add_text(&text, "not configured");
    } else if (!is_leading_git(git)) {
        buf_add_text(&text, "standby");
    } else if (print_problem(git, &text), text.n) {
        status = HEALTH_DEGRADED;
    } else if (!git->is_ready) {
        buf_add_text(&text, "remotes are being pulled");
        status = HEALTH_DEGRADED;
    } else {
        print_commits(git, &text);
    }
    (void)snprintf(message, HEALTH_TEXT_MAX, "%s", buf_text(&text));
    return status;
}

const struct master_service master_gitfs_service = {
    .name = "gitfs",
    .open = open_check,
    .start = start_folder_check,
    .check = check_git,
};
