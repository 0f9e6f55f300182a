#include "kepler/daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/client.h"
#include "kepler/daemon/stale_process.h"
#include "kepler/daemon/project.h"
#include "kepler/daemon/stream.h"
#include "kepler/config/config.h"
#include "core/sys/account.h"
#include "core/sys/cgroup.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define PID_TEXT_SIZE 32
/* How long new clients wait when there are too many, or no more file descriptors. */
#define DOOR_PAUSE    (100 * CLOCK_MS)
#define PATH_FILE_MAX ((size_t)8192)
/* The folder of root's daemon is searched by users on their way to the socket, not listed. */
#define ROOT_MODE_SYSTEM 0771
#define ROOT_MODE_USER   0700

/* --- projects ------------------------------------------------------------------------------ */

struct project *daemon_find(const struct daemon *daemon, const char *path)
{
    return map_find(&daemon->projects, str_from(path));
}

void daemon_add(struct daemon *daemon, struct project *project)
{
    (void)map_set(&daemon->projects, str_from(project->path), project);
    log_info("config loaded config=%s services=%u owner=%u hardening=%s", project->path,
             project->config->service_count, project->config->owner.uid,
             hardening_name(project->config->hardening));
}

void daemon_pump(struct daemon *daemon, const struct project *project)
{
    for (struct call *call = daemon->calls; call; call = call->next)
        if (call->project == project)
            call_pump(call);
}

/* Followers get the last lines. */
static void send_last_lines(struct daemon *daemon, struct project *project)
{
    capture_flush_wait(&project->capture);
    for (struct call *call = daemon->calls; call; call = call->next)
        if (call->project == project)
            call_drain(call);
}

void daemon_unload(struct daemon *daemon, struct project *project)
{
    send_last_lines(daemon, project);
    for (struct call *call = daemon->calls; call; call = call->next)
        if (call->project == project) {
            call->project = NULL;
            /* Reading stored lines to their end needs no project. */
            call->orphaned = !call->stream || stream_follows(call->stream);
        }
    log_info("config unloaded config=%s", project->path);
    (void)map_remove(&daemon->projects, str_from(project->path));
    daemon->unloaded++;
    project_free(project);
}

void daemon_tell(struct daemon *daemon, struct project *project, const struct engine_event *event)
{
    for (struct call *call = daemon->calls; call; call = call->next)
        if (call->project == project)
            call_engine_event(call, event);
}

void daemon_tell_data(struct daemon *daemon, const struct project *project)
{
    for (struct call *call = daemon->calls; call; call = call->next)
        if (call->project == project && call->stream) {
            stream_renew(call->stream);
            call_pump(call);
        }
}

static void on_pump_due(struct timer *timer)
{
    struct daemon *daemon = container_of(timer, struct daemon, pump);

    for (struct call *call = daemon->calls; call; call = call->next)
        call_pump(call);
}

void daemon_pump_soon(struct daemon *daemon)
{
    if (!timer_is_set(&daemon->pump))
        timer_set(loop_timers(daemon->loop), &daemon->pump, clock_now(), on_pump_due);
}

/* --- the list of children --------------------------------------------------------------------- */

/* Each start adds one line to the list, so it needs no polling and no timer: an idle daemon never
 * wakes. */
static void trim_process_list(struct daemon *daemon)
{
    uint64_t lines = daemon->trees.started - daemon->started;
    struct err err;
    uint64_t mark;
    int fd;

    if (daemon->child_registry < 0 ||
        lines * sizeof(struct process_birth) <= STALE_PROCESS_TRIM_SIZE)
        return;
    daemon->started = daemon->trees.started;
    if (stale_process_open(daemon->births_path, &fd, &mark, &err) < 0) {
        log_warning("process list cannot be rewritten error=%s", err.text);
        return;
    }
    fd_close(&daemon->child_registry);
    daemon->child_registry = daemon->trees.child_registry = fd;
}

/* --- after each turn ------------------------------------------------------------------------- */

/* A call may finish, and remove others and the project: begin again after each. */
static void step_project_calls(struct daemon *daemon, const struct project *project)
{
    uint64_t pass = ++daemon->passes, unloaded = daemon->unloaded;
    struct call *call = daemon->calls;

    while (call && daemon->unloaded == unloaded) {
        if (call->pass >= pass || (call->project != project && !call->orphaned)) {
            call = call->next;
            continue;
        }
        call->pass = pass;
        call_look(call);
        call = daemon->calls;
    }
}

/* The next project that has settled since the last check. */
static struct project *take_settled(struct daemon *daemon)
{
    MAP_EACH (&daemon->projects, entry) {
        struct project *project = entry->value;

        engine_step(project->engine);
        if (project->settled) {
            project->settled = false;
            return project;
        }
    }
    return NULL;
}

static bool has_orphans(const struct daemon *daemon)
{
    for (const struct call *call = daemon->calls; call; call = call->next)
        if (call->orphaned)
            return true;
    return false;
}

/* Calls without a project that wait for something (the end of all services) are stepped each time.
 */
static void step_other_calls(struct daemon *daemon)
{
    uint64_t pass = ++daemon->passes;
    struct call *call = daemon->calls;

    while (call) {
        if (call->pass >= pass || call->project || !call->step) {
            call = call->next;
            continue;
        }
        call->pass = pass;
        call_look(call);
        call = daemon->calls;
    }
}

static bool is_all_down(const struct daemon *daemon)
{
    MAP_EACH (&daemon->projects, entry)
        if (!engine_is_down(((struct project *)entry->value)->engine, ENGINE_ALL))
            return false;
    return true;
}

/* A client still waits for the last lines. */
static bool is_flushing(const struct daemon *daemon)
{
    for (const struct call *call = daemon->calls; call; call = call->next)
        if (call->project && call->client &&
            !capture_is_flushed(&call->project->capture, call->ticket))
            return true;
    return false;
}

static void check_daemon_end(struct daemon *daemon)
{
    if (!daemon->stopping || daemon->stopped || daemon->recovering > 0 ||
        (!daemon->leave && !is_all_down(daemon)) || is_flushing(daemon))
        return;
    daemon->stopped = true;
    MAP_EACH (&daemon->projects, entry) {
        struct project *project = entry->value;

        send_last_lines(daemon, project);
        project_save(project);
    }
    step_other_calls(daemon);
    loop_stop(daemon->loop);
}

static void on_daemon_step(void *self)
{
    struct daemon *daemon = self;
    struct project *project;

    while ((project = take_settled(daemon)) || has_orphans(daemon))
        step_project_calls(daemon, project);
    MAP_EACH (&daemon->projects, entry)
        if (((struct project *)entry->value)->changed)
            project_save_later(entry->value);
    trim_process_list(daemon);
    step_other_calls(daemon);
    check_daemon_end(daemon);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Configs with a snapshot stay on disk as they are: the next daemon continues them. */
void daemon_stop(struct daemon *daemon, bool leave_running, const char *who)
{
    if (leave_running)
        daemon->leave = true;
    daemon->stopping = true;
    log_info("daemon stops leave_running=%d", daemon->leave);
    MAP_EACH (&daemon->projects, entry) {
        struct project *project = entry->value;
        struct engine_stop how = { .signal = daemon->signals > 1 ? SIGKILL : 0 };

        if (daemon->leave || project->snapshot_time != 0)
            project_freeze(project);
        else if (project->changed)
            project_save(project);
        engine_ask_as(project->engine, who);
        if (!daemon->leave)
            engine_stop(project->engine, ENGINE_ALL, &how);
    }
}

static void on_daemon_signal(void *self, int signo)
{
    struct daemon *daemon = self;

    daemon->signals++;
    daemon_stop(daemon, false,
                signo == SIGINT ? "the daemon, which ends for SIGINT"
                                : "the daemon, which ends for SIGTERM");
}

/* --- clients ----------------------------------------------------------------------------- */

static void on_client_connected(struct watch *watch, uint32_t events);

static void on_accept_due(struct timer *timer)
{
    struct daemon *daemon = container_of(timer, struct daemon, door);
    struct err err;

    if (watch_start(&daemon->listen_watch, daemon->loop, daemon->listener, WATCH_READ,
                    on_client_connected, &err) < 0)
        timer_set(loop_timers(daemon->loop), timer, clock_after(clock_now(), DOOR_PAUSE),
                  on_accept_due);
}

void daemon_hold_door(struct daemon *daemon)
{
    if (daemon->recovering++ == 0)
        watch_stop(&daemon->listen_watch);
}

void daemon_release_door(struct daemon *daemon)
{
    if (--daemon->recovering == 0)
        on_accept_due(&daemon->door);
}

/* Clients wait in the kernel's queue; polling it would not help them. */
static void pause_accepting(struct daemon *daemon)
{
    watch_stop(&daemon->listen_watch);
    timer_set(loop_timers(daemon->loop), &daemon->door, clock_after(clock_now(), DOOR_PAUSE),
              on_accept_due);
}

static void on_client_connected(struct watch *watch, uint32_t events)
{
    struct daemon *daemon = container_of(watch, struct daemon, listen_watch);
    int fd;

    (void)events;
    if (daemon->client_count >= DAEMON_CLIENTS_MAX) {
        pause_accepting(daemon);
        return;
    }
    fd = accept4(daemon->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        client_new(daemon, fd);
    } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        log_error("client cannot be accepted errno=%d", errno);
        pause_accepting(daemon);
    }
}

/* For people only: a full disk must not stop the daemon. */
static void write_daemon_pid(struct daemon *daemon)
{
    const struct fs_replace_options how = { .attr = { 0660, FS_KEEP, FS_KEEP },
                                            .sync = FS_NO_SYNC };
    char text[PID_TEXT_SIZE];
    struct err err;

    (void)snprintf(text, sizeof(text), "%d\n", (int)getpid());
    if (fs_replace(daemon->home.pid_file, str_from(text), &how, &err) < 0)
        log_warning("pid file cannot be written error=%s", err.text);
}

/* Members are looked up when they connect; a missing group is reported now. */
static void report_missing_group(void)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct account_group *group;
    struct err err;

    if (geteuid() == 0 && account_find_group(&arena, DAEMON_GROUP, &group, &err) == 0 && !group)
        log_info("daemon only serves root: there is no group '" DAEMON_GROUP
                 "'; 'groupadd --system " DAEMON_GROUP "' lets its members in, at once");
}

int daemon_listen(struct daemon *daemon, struct err *err)
{
    unsigned mode = geteuid() == 0 ? 0666 : 0600;

    if (home_listen(&daemon->home, mode, &daemon->listener, err) < 0 ||
        watch_start(&daemon->listen_watch, daemon->loop, daemon->listener, WATCH_READ,
                    on_client_connected, err) < 0)
        return -1;
    report_missing_group();
    log_info("daemon listens socket=%s pid=%d", daemon->home.socket, (int)getpid());
    return 0;
}

/* --- life -------------------------------------------------------------------------------- */

/* Ours, and not a link: checked on the open folder, so that it cannot be swapped meanwhile. */
static int check_daemon_root(const char *root, mode_t mode, struct err *err)
{
    AUTO_FD int fd = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, errno, "use the state folder '%s'", root);
    if (st.st_uid != geteuid())
        return err_set(
            err, ERR_INVALID,
            "the state folder '%s' belongs to another user: set KEPLER_DAEMON_PATH to one of yours",
            root);
    if (fchmod(fd, mode) < 0)
        return err_sys(err, errno, "use the state folder '%s'", root);
    return 0;
}

static int make_root(struct daemon *daemon, struct err *err)
{
    mode_t mode = geteuid() == 0 ? ROOT_MODE_SYSTEM : ROOT_MODE_USER;
    const char *root = daemon->home.root;
    struct fs_info info;

    if (fs_lstat(root, &info, err) < 0)
        return -1;
    if (info.kind != FS_NONE && info.kind != FS_FOLDER)
        return err_set(err, ERR_INVALID, "the state folder '%s' is a %s", root,
                       fs_kind_name(info.kind));
    if (fs_mkdirs(root, mode, err) < 0 || check_daemon_root(root, mode, err) < 0)
        return -1;
    return fs_mkdirs(daemon->home.configs, mode, err);
}

/* Ends everything in the group of an earlier daemon, wherever that daemon was started. */
static int end_earlier_group(struct daemon *daemon, const char *file, struct err *err)
{
    struct str text;

    if (fs_read(&daemon->arena, file, PATH_FILE_MAX, &text, err) < 0)
        return -1;
    text = text.p ? str_trim(text) : text;
    if (text.n == 0)
        return 0;
    return stale_process_kill_group(arena_strndup(&daemon->arena, text.p, text.n), err);
}

/* The parent group for ours; NULL: none available, or not wanted. */
static int find_parent(struct daemon *daemon, const char **ret_parent, struct err *err)
{
    const char *wish = getenv("KEPLER_CGROUPS");

    *ret_parent = NULL;
    if (wish && strcmp(wish, "no") == 0)
        return 0;
    if (wish && wish[0] && strcmp(wish, "yes") != 0)
        return err_set(err, ERR_INVALID, "KEPLER_CGROUPS must be 'yes' or 'no', got '%s'", wish);
    return cgroup_home(&daemon->arena, ret_parent, err);
}

/* Creates one group for everything we start, beside our own, named after our home; its path is on
 * disk before anything is in it. Without control groups: sessions. */
static int make_group(struct daemon *daemon, struct err *err)
{
    const struct fs_replace_options how = { .attr = { 0600, FS_KEEP, FS_KEEP } };
    const char *file = path_join(&daemon->arena, daemon->home.root, "cgroup"), *parent, *name;
    char hash[SHA256_HEX_SIZE];
    size_t swept;

    if (end_earlier_group(daemon, file, err) < 0)
        return err_wrap(err, "end processes of an earlier daemon");
    if (find_parent(daemon, &parent, err) < 0)
        return -1;
    if (!parent)
        return fs_unlink(file, err);
    home_hash(daemon->home.root, hash);
    name = arena_printf(&daemon->arena, STALE_PROCESS_GROUP_PREFIX "%.16s", hash);
    daemon->cgroup = path_join(&daemon->arena, parent, name);
    if (stale_process_kill_group(daemon->cgroup, err) < 0)
        return -1;
    swept = stale_process_sweep_groups(parent);
    if (swept > 0)
        log_info("empty control groups of dead daemons removed groups=%zu", swept);
    if (fs_keep(file, str_from(daemon->cgroup), &how, err) < 0)
        return -1;
    if (stale_process_own_group(&daemon->group, parent, name, err) < 0) {
        log_warning("no control groups, services are sessions error=%s", err->text);
        daemon->cgroup = NULL;
        return fs_unlink(file, err);
    }
    return 0;
}

/* Sessions: ends stale processes of an earlier daemon, and lists all that we start. */
static int open_process_list(struct daemon *daemon, struct err *err)
{
    size_t killed;

    daemon->births_path = path_join(&daemon->arena, daemon->home.root, "births");
    if (stale_process_kill(daemon->births_path, &killed, err) < 0)
        return err_wrap(err, "end processes of an earlier daemon");
    if (killed > 0)
        log_warning("stale processes ended processes=%zu", killed);
    if (daemon->cgroup)
        return fs_unlink(daemon->births_path, err);
    return stale_process_open(daemon->births_path, &daemon->child_registry, &daemon->mark, err);
}

static int watch_daemon_signals(struct daemon *daemon, struct err *err)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };

    if (loop_on_signal(daemon->loop, SIGTERM, on_daemon_signal, daemon, err) < 0 ||
        loop_on_signal(daemon->loop, SIGINT, on_daemon_signal, daemon, err) < 0)
        return -1;
    (void)sigaction(SIGPIPE, &ignore, NULL);
    (void)sigaction(SIGHUP, &ignore, NULL);
    return 0;
}

int daemon_init(struct daemon *daemon, enum hardening hardening, struct err *err)
{
    *daemon = (struct daemon){ .listener = -1,
                               .child_registry = -1,
                               .lock = LOCK_NONE,
                               .group = CGROUP_NONE,
                               .hardening = hardening };
    (void)umask(0007);
    if (home_find(&daemon->arena, &daemon->home, err) < 0 || make_root(daemon, err) < 0)
        return -1;
    if (lock_take(&daemon->lock, daemon->home.lock, LOCK_EXCLUSIVE, LOCK_TRY, NULL, err) < 0)
        return err_wrap(err, "another daemon uses '%s'", daemon->home.root);
    daemon->loop = loop_new(err);
    if (!daemon->loop)
        return -1;
    notify_init(&daemon->notify, daemon->loop);
    write_daemon_pid(daemon);
    if (make_group(daemon, err) < 0 || open_process_list(daemon, err) < 0 ||
        watch_daemon_signals(daemon, err) < 0 ||
        proctree_home_init(&daemon->trees, daemon->loop, daemon->cgroup, err) < 0 ||
        log_thread_start(&daemon->log_thread, daemon->loop, err) < 0 ||
        background_tasks_open(&daemon->background_tasks, daemon->loop, err) < 0 ||
        background_tasks_open_workers(&daemon->searchers, daemon->loop, BACKGROUND_TASKS_COMPUTING,
                                      err) < 0 ||
        background_tasks_open_workers(&daemon->evaluators, daemon->loop, BACKGROUND_TASKS_COMPUTING,
                                      err) < 0 ||
        background_tasks_open_workers(&daemon->judges, daemon->loop, BACKGROUND_TASKS_COMPUTING,
                                      err) < 0)
        return -1;
    daemon->trees.child_registry = daemon->child_registry > 0 ? daemon->child_registry : 0;
    daemon->trees.mark = daemon->mark;
    filewatch_hub_init(&daemon->files, daemon->loop);
    loop_on_step(daemon->loop, on_daemon_step, daemon);
    return 0;
}

void daemon_run(struct daemon *daemon)
{
    notify_ready(&daemon->notify);
    loop_run(daemon->loop);
    notify_done(&daemon->notify);
}

void daemon_done(struct daemon *daemon)
{
    struct err ignored;

    while (daemon->clients)
        client_free(daemon->clients);
    while (daemon->calls)
        call_free(daemon->calls);
    MAP_EACH (&daemon->projects, entry)
        project_free(entry->value);
    map_done(&daemon->projects);
    background_tasks_close(&daemon->judges);
    background_tasks_close(&daemon->evaluators);
    background_tasks_close(&daemon->searchers);
    background_tasks_close(&daemon->background_tasks);
    log_thread_stop(&daemon->log_thread);
    if (daemon->loop) {
        filewatch_hub_done(&daemon->files);
        watch_stop(&daemon->listen_watch);
        (void)fs_unlink(daemon->home.pid_file, &ignored);
    }
    if (daemon->listener >= 0)
        (void)fs_unlink(daemon->home.socket, &ignored);
    fd_close(&daemon->listener);
    fd_close(&daemon->child_registry);
    cgroup_done(&daemon->group); /* which is locked */
    if (daemon->cgroup && !daemon->leave)
        (void)stale_process_kill_group(daemon->cgroup, &ignored);
    loop_free(daemon->loop);
    lock_drop(&daemon->lock);
    arena_done(&daemon->arena);
}
