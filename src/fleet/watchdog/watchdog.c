#include "fleet/watchdog/watchdog.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fleet/bus/link.h"
#include "fleet/bus/store.h"
#include "states/facts/facts.h"
#include "core/http/probe.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/hub.h"
#include "fleet/nats/kv.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "core/sys/notify.h"
#include "core/sys/program.h"
#include "fleet/update/keeper.h"
#include "fleet/update/seal.h"
#include "fleet/watchdog/charge.h"
#include "fleet/watchdog/conf.h"
#include "fleet/watchdog/download.h"
#include "fleet/watchdog/minder.h"
#include "fleet/watchdog/slots.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/subject.h"
#include "fleet/wire/update.h"

#define COMPONENT   "watchdog"
#define CONNECT_NS  CLOCK_SECOND /* between two attempts to find credentials */
#define VERSION_NS  (INT64_C(20) * CLOCK_SECOND)
#define MESSAGE_MAX ((size_t)64 << 10)
#define HTTP_OK     200
#define UNKNOWN     "unknown"
#define SYSTEM      "linux"
#define PROBE_PATH  "/readyz"

/* A probe under way; blocks in a worker. */
struct probing {
    struct background_task background_task;
    struct watchdog *watchdog;
    struct arena arena;
    const char *address;
    int64_t timeout;
    enum keeper_probe result;
};

struct watchdog {
    struct arena arena; /* the command line, and everything that stays */
    struct daemon_line line;
    struct watchdog_conf conf;
    struct loop *loop;
    struct nats_hub *hub;
    struct link *link;
    struct nats_js js;
    struct nats_listener listener;
    struct background_tasks background_tasks;
    struct slots slots;
    struct minder minder;
    struct keeper keeper;
    struct download *download;
    struct timer wake, connect, status;
    struct notify notify;
    char id[PEEL_ID_SIZE]; /* "": not known yet */
    struct err problem;    /* why there is no connection */
};

static void on_status_due(struct timer *timer);

static bool has_watchdog_bus(void *self)
{
    const struct watchdog *watchdog = self;

    return watchdog->js.conn && nats_conn_state(watchdog->js.conn) == NATS_CONN_CONNECTED;
}

/* --- the word of the machine's owner ---------------------------------------------------- */

/* Why no new version may be used; NULL: none is forbidden. In the arena. */
static const char *find_veto(struct watchdog *watchdog, struct arena *arena,
                             struct param_strs *ret_keys)
{
    struct diags diags = DIAGS_INIT(arena), ignored = DIAGS_INIT(arena);
    struct watchdog_conf conf = { 0 };
    struct err err;

    *ret_keys = (struct param_strs){ 0 };
    if (daemon_conf_read(&watchdog_daemon_conf, &watchdog->line, arena, &conf, &diags, &ignored) <
        0) {
        (void)diags_to_err(&diags, &err);
        return arena_printf(arena, "the configuration of the watchdog cannot be read: %s",
                            err.text);
    }
    *ret_keys = conf.trusted_keys;
    return conf.allow ? NULL : "this machine does not allow updates ('allow: false')";
}

static int check_update_command(struct watchdog *watchdog, struct arena *arena,
                                const struct update_command *command, struct err *err)
{
    struct param_strs keys;
    const char *veto;

    if (command->verb != UPDATE_PREPARE && command->verb != UPDATE_APPLY)
        return 0;
    veto = find_veto(watchdog, arena, &keys);
    if (veto)
        return err_set(err, ERR_UNSUPPORTED, "%s", veto);
    if (command->verb == UPDATE_APPLY)
        return 0; /* what is staged was checked, and is compared with its hash again */
    if (command->size <= 0 || command->size > UPDATE_SIZE_MAX)
        return err_set(err, ERR_LIMIT, "a binary has 1 to %lld bytes", (long long)UPDATE_SIZE_MAX);
    if (strcmp(command->goos, SYSTEM) != 0 || strcmp(command->goarch, facts_go_arch()) != 0)
        return err_set(err, ERR_INVALID, "version '%s' is for %s/%s, this is " SYSTEM "/%s",
                       command->version, command->goos, command->goarch, facts_go_arch());
    return seal_check(command, &keys, err);
}

/* --- the world of the keeper ------------------------------------------------------------ */

static int save_record(void *self, const struct keeper_record *record, struct err *err)
{
    return slots_save(&((struct watchdog *)self)->slots, record, err);
}

static void on_downloaded(void *self, const char *error)
{
    struct watchdog *watchdog = self;

    watchdog->download = NULL;
    keeper_fetched(&watchdog->keeper, error);
}

static void fetch_version(void *self, const struct update_command *command)
{
    struct watchdog *watchdog = self;

    watchdog->download =
        download_begin(&(struct download_options){ .js = watchdog->js,
                                                   .object = command->object_key,
                                                   .path = watchdog->slots.paths[KEEPER_STAGING],
                                                   .sha256 = command->sha256,
                                                   .size = command->size,
                                                   .done = on_downloaded,
                                                   .self = watchdog });
}

static void cancel_fetch(void *self)
{
    struct watchdog *watchdog = self;

    download_drop(watchdog->download);
    watchdog->download = NULL;
}

static int install_program(void *self, struct err *err)
{
    struct watchdog *watchdog = self;

    return slots_swap_in(&watchdog->slots, watchdog->keeper.record.slots[KEEPER_STAGING].sha256,
                         err);
}

static int restore_program(void *self, struct err *err)
{
    return slots_swap_back(&((struct watchdog *)self)->slots, err);
}

static void discard_download(void *self)
{
    slots_discard(&((struct watchdog *)self)->slots);
}

static int start_minded_daemon(void *self, struct err *err)
{
    struct watchdog *watchdog = self;

    return minder_start(&watchdog->minder, watchdog->slots.paths[KEEPER_CURRENT],
                        charge_config(&watchdog->conf), watchdog->slots.lock.fd, err);
}

static void stop_minded_daemon(void *self)
{
    minder_stop(&((struct watchdog *)self)->minder);
}

static void run_probe(struct background_task *background_task)
{
    struct probing *probing = container_of(background_task, struct probing, background_task);
    struct probe_answer answer;
    struct err err;

    if (probe_get(&probing->arena, probing->address, PROBE_PATH, probing->timeout, &answer, &err) <
        0)
        probing->result = KEEPER_SILENT;
    else
        probing->result = answer.status == HTTP_OK ? KEEPER_READY : KEEPER_NOT_READY;
}

static void on_daemon_probed(struct background_task *background_task)
{
    struct probing *probing = container_of(background_task, struct probing, background_task);
    struct watchdog *watchdog = probing->watchdog;
    enum keeper_probe result = probing->result;

    arena_done(&probing->arena);
    free(probing);
    keeper_probed(&watchdog->keeper, result);
}

/* A daemon that serves no health is judged by its life alone. */
static void probe_daemon(void *self)
{
    struct watchdog *watchdog = self;
    struct probing *probing = mem_zalloc(sizeof(*probing));
    struct charge charge;
    struct err err;

    probing->watchdog = watchdog;
    probing->timeout = watchdog->conf.probe_timeout;
    if (charge_read(&probing->arena, &watchdog->conf, &charge, &err) == 0 &&
        charge.health_addr[0]) {
        probing->address = charge.health_addr;
        background_task_begin(&watchdog->background_tasks, &probing->background_task, run_probe,
                              on_daemon_probed);
        return;
    }
    probing->result = KEEPER_READY;
    on_daemon_probed(&probing->background_task);
}

static void on_wake(struct timer *timer)
{
    keeper_tick(&container_of(timer, struct watchdog, wake)->keeper);
}

static void wake_at(void *self, int64_t at)
{
    struct watchdog *watchdog = self;

    if (at == CLOCK_NEVER)
        timer_clear(loop_timers(watchdog->loop), &watchdog->wake);
    else
        timer_set(loop_timers(watchdog->loop), &watchdog->wake, at, on_wake);
}

static int64_t read_wall_clock(void *self)
{
    (void)self;
    return clock_now();
}

static void on_keeper_changed(void *self, const char *words)
{
    struct watchdog *watchdog = self;

    log_info("%s state=%s version=%s", words, update_state_name(watchdog->keeper.record.state),
             watchdog->keeper.record.slots[KEEPER_CURRENT].version);
    if (watchdog->js.conn)
        timer_set(loop_timers(watchdog->loop), &watchdog->status, clock_now(), on_status_due);
}

static const struct keeper_world world = {
    .save = save_record,
    .fetch = fetch_version,
    .cancel_fetch = cancel_fetch,
    .swap_in = install_program,
    .swap_back = restore_program,
    .discard = discard_download,
    .start = start_minded_daemon,
    .stop = stop_minded_daemon,
    .probe = probe_daemon,
    .has_bus = has_watchdog_bus,
    .wake = wake_at,
    .now = read_wall_clock,
    .changed = on_keeper_changed,
};

static void on_daemon_ended(struct minder *minder, struct process_status status)
{
    struct watchdog *watchdog = container_of(minder, struct watchdog, minder);
    AUTO_BUF struct buf how = BUF_INIT(KEEPER_NOTE_SIZE);

    buf_add_text(&how, "the daemon ended: ");
    process_status_print(status, &how);
    keeper_exited(&watchdog->keeper, buf_text(&how));
    if (keeper_is_over(&watchdog->keeper))
        loop_stop(watchdog->loop);
}

/* --- status and commands ---------------------------------------------------------------- */

static void on_node_put(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)self;
    (void)revision;
    if (error)
        log_debug("status not stored error=%s", error->text);
}

static void describe_update_node(struct watchdog *watchdog, struct arena *arena,
                                 struct update_node *ret)
{
    const int64_t wall = clock_wall();
    struct param_strs keys;
    const char *veto = find_veto(watchdog, arena, &keys);

    *ret = (struct update_node){
        .id = watchdog->id,
        .component = watchdog->conf.component,
        .version = watchdog->keeper.record.slots[KEEPER_CURRENT].version,
        .state = watchdog->keeper.record.state,
        .goos = SYSTEM,
        .goarch = facts_go_arch(),
        .updated_at = { wall / CLOCK_SECOND, (uint32_t)(wall % CLOCK_SECOND) },
        .child_pid = watchdog->minder.process.pid,
        .child_uptime = keeper_uptime(&watchdog->keeper),
        .degraded = watchdog->keeper.degraded,
        .protocol = EXEC_PROTOCOL,
        .veto = veto ? veto : "",
    };
}

static void on_status_due(struct timer *timer)
{
    struct watchdog *watchdog = container_of(timer, struct watchdog, status);
    const struct nats_kv kv = { .js = watchdog->js,
                                .bucket = store_bucket_name(STORE_UPDATE_STATUS) };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(MESSAGE_MAX);
    struct update_node node;
    struct err err;

    timer_set(loop_timers(watchdog->loop), timer,
              clock_after(clock_now(), watchdog->conf.status_interval), on_status_due);
    if (!has_watchdog_bus(watchdog))
        return;
    describe_update_node(watchdog, &arena, &node);
    if (record_encode(&bytes, &update_node_type, &node, &err) < 0 ||
        nats_kv_put(&kv,
                    arena_printf(&arena, "%s.%s", update_component_name(watchdog->conf.component),
                                 watchdog->id),
                    buf_view(&bytes), on_node_put, watchdog, &err) < 0)
        log_debug("status not sent error=%s", err.text);
}

static void answer_command(struct watchdog *watchdog, struct str reply,
                           const struct update_response *response)
{
    AUTO_BUF struct buf bytes = BUF_INIT(MESSAGE_MAX);
    struct err err;

    if (reply.n == 0)
        return;
    if (record_encode(&bytes, &update_response_type, response, &err) < 0 ||
        nats_publish(watchdog->js.conn,
                     &(struct nats_pub){ .subject = reply, .payload = buf_view(&bytes) }, &err) < 0)
        log_warning("answer not sent error=%s", err.text);
}

/* A command that is refused here never reaches the keeper. */
static void obey_command(struct watchdog *watchdog, struct arena *arena,
                         const struct update_command *command, struct update_response *ret)
{
    struct update_command ask = *command;
    struct err err;

    if (check_update_command(watchdog, arena, command, &err) == 0) {
        keeper_command(&watchdog->keeper, command, ret);
        return;
    }
    ask.verb = UPDATE_STATUS;
    keeper_command(&watchdog->keeper, &ask, ret);
    ret->status = UPDATE_ERROR;
    ret->error = arena_strdup(arena, err.text);
}

static void on_update_command(void *self, const struct nats_msg *msg)
{
    struct watchdog *watchdog = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct update_command command;
    struct update_response response;
    struct err err;

    if (!link_is_from_fleet(watchdog->link, msg->header) || msg->payload.n > MESSAGE_MAX ||
        record_decode(&arena, &update_command_type, 1, arena_str(&arena, msg->payload), &command,
                      &err) < 0) {
        log_warning("a command cannot be read");
        return;
    }
    if (command.component != watchdog->conf.component)
        return;
    obey_command(watchdog, &arena, &command, &response);
    if (strcmp(response.status, UPDATE_OK) != 0)
        log_warning("command refused command=%s version=%s error=%s",
                    update_verb_name(command.verb), command.version, response.error);
    else if (command.verb != UPDATE_STATUS)
        log_info("command accepted command=%s version=%s", update_verb_name(command.verb),
                 command.version);
    answer_command(watchdog, msg->reply, &response);
}

/* --- the bus ---------------------------------------------------------------------------- */

static void on_watchdog_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct watchdog *watchdog = container_of(listener, struct watchdog, listener);

    if (event->kind == NATS_EVENT_CONNECTED) {
        log_info("connected server=%s", nats_conn_server(watchdog->js.conn));
        timer_set(loop_timers(watchdog->loop), &watchdog->status, clock_now(), on_status_due);
    } else if (event->kind == NATS_EVENT_DISCONNECTED) {
        log_warning("disconnected error=%s", event->error->text);
    } else if (event->kind == NATS_EVENT_ERROR || event->kind == NATS_EVENT_DENIED) {
        log_warning("refused by the bus error=%s", event->error ? event->error->text : "");
    }
}

static int listen_for_commands(struct watchdog *watchdog, struct err *err)
{
    static const enum subject_kind kinds[UPDATE_COMPONENTS] = {
        [UPDATE_PEEL] = SUBJECT_UPDATE_PEEL, [UPDATE_MASTER] = SUBJECT_UPDATE_MASTER
    };
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX + 1);

    if (subject_print(&subject, kinds[watchdog->conf.component],
                      &(struct subject_names){ .peel = str_from(watchdog->id) }, err) < 0)
        return -1;
    return nats_sub_new(watchdog->js.conn,
                        &(struct nats_sub_options){ .subject = buf_text(&subject),
                                                    .message = on_update_command,
                                                    .self = watchdog },
                        err)
               ? 0
               : -1;
}

static int open_watchdog_link(struct watchdog *watchdog, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct charge charge;

    if (charge_read(&arena, &watchdog->conf, &charge, err) < 0)
        return -1;
    watchdog->link = link_new(
        watchdog->hub,
        &(struct link_options){ .urls = charge.urls,
                                .ca_file = charge.ca_file,
                                .auth_dir = charge.auth_dir,
                                .creds_file = charge.creds_file,
                                .name = arena_printf(&arena, "zester-watchdog-%s", charge.id) },
        err);
    if (!watchdog->link)
        return -1;
    (void)snprintf(watchdog->id, sizeof(watchdog->id), "%s", charge.id);
    watchdog->js = (struct nats_js){ .conn = link_conn(watchdog->link) };
    nats_listen(watchdog->js.conn, &watchdog->listener, on_watchdog_event);
    if (listen_for_commands(watchdog, err) == 0)
        return 0;
    link_free(watchdog->link);
    watchdog->link = NULL;
    watchdog->js = (struct nats_js){ 0 };
    return -1;
}

/* The daemon may have to enroll first. */
static void on_connect_due(struct timer *timer)
{
    struct watchdog *watchdog = container_of(timer, struct watchdog, connect);
    struct err err;

    if (open_watchdog_link(watchdog, &err) == 0)
        return;
    if (strcmp(watchdog->problem.text, err.text) != 0)
        log_info("not connected yet, trying again error=%s", err.text);
    watchdog->problem = err;
    timer_set(loop_timers(watchdog->loop), timer, clock_after(clock_now(), CONNECT_NS),
              on_connect_due);
}

/* --- beginning -------------------------------------------------------------------------- */

/* Output of the binary's --version: "zester-peel 1.2.3". */
static void ask_version(const char *program, char ret_version[static UPDATE_VERSION_MAX + 1])
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *const argv[] = { program, "--version", NULL };
    struct process_result result;
    struct str line, word = STR(UNKNOWN), next;
    struct err err;

    (void)snprintf(ret_version, UPDATE_VERSION_MAX + 1, UNKNOWN);
    if (process_run(&(struct process_spec){ .argv = argv },
                    &(struct process_bounds){ .timeout = VERSION_NS }, NULL, &arena, &result,
                    &err) < 0 ||
        !process_status_ok(result.status))
        return;
    line = str_cut(&result.out, '\n');
    while (line.p && (next = str_cut(&line, ' ')).n > 0)
        word = next;
    if (update_version_is_valid(arena_str(&arena, word).p))
        (void)snprintf(ret_version, UPDATE_VERSION_MAX + 1, "%.*s", STR_ARG(word));
}

static void describe_slot(const struct watchdog *watchdog, enum keeper_place place,
                          const char *hash, struct keeper_slot *ret)
{
    *ret = (struct keeper_slot){ 0 };
    if (!hash[0])
        return;
    ask_version(watchdog->slots.paths[place], ret->version);
    (void)snprintf(ret->sha256, sizeof(ret->sha256), "%s", hash);
}

/* The record, or what the slots say when there is none that can be read. */
static void find_keeper_record(const struct watchdog *watchdog,
                               const char *const hashes[KEEPER_PLACES], struct keeper_record *ret)
{
    struct err err;

    if (slots_read(&watchdog->slots, ret, &err) == 0)
        return;
    if (err.code != ERR_NOT_FOUND)
        log_error("slot record is damaged, using the slots as they are error=%s", err.text);
    *ret = (struct keeper_record){ .state = UPDATE_IDLE };
    for (enum keeper_place place = KEEPER_CURRENT; place <= KEEPER_PREV; place++)
        describe_slot(watchdog, place, hashes[place], &ret->slots[place]);
}

/* It was replaced externally: run it, and record that. */
static void adopt_current(struct watchdog *watchdog, const char *hash)
{
    struct keeper_slot *current = &watchdog->keeper.record.slots[KEEPER_CURRENT];

    if (!hash[0] || strcmp(current->sha256, hash) == 0)
        return;
    log_warning("binary was replaced externally file=%s", watchdog->slots.paths[KEEPER_CURRENT]);
    describe_slot(watchdog, KEEPER_CURRENT, hash, current);
}

static int open_slots(struct watchdog *watchdog, struct err *err)
{
    const struct watchdog_conf *conf = &watchdog->conf;
    const char *name = charge_program(conf->component);
    const char *program =
        conf->program ? conf->program : program_find_beside(&watchdog->arena, name);
    const struct keeper_times times = watchdog_conf_times(conf);
    char hashes[KEEPER_PLACES][SHA256_HEX_SIZE];
    const char *seen[KEEPER_PLACES];
    struct keeper_record record;

    slots_init(&watchdog->slots, &watchdog->arena, conf->slots_dir, name);
    if (!program)
        return err_set(err, ERR_NOT_FOUND, "no program '%s' beside this one or in PATH", name);
    if (slots_lock(&watchdog->slots, err) < 0 || slots_seed(&watchdog->slots, program, err) < 0)
        return -1;
    for (enum keeper_place place = KEEPER_CURRENT; place < KEEPER_PLACES; place++) {
        slots_hash(&watchdog->slots, place, hashes[place]);
        seen[place] = hashes[place];
    }
    keeper_init(&watchdog->keeper, &world, watchdog, &times);
    find_keeper_record(watchdog, seen, &record);
    if (keeper_recover(&watchdog->keeper, &record, seen, err) < 0)
        return -1;
    if (watchdog->keeper.record.state != UPDATE_ROLLING_BACK)
        adopt_current(watchdog, hashes[KEEPER_CURRENT]);
    return 0;
}

static void on_watchdog_signal(void *self, int signo)
{
    struct watchdog *watchdog = self;

    if (signo == SIGHUP) {
        minder_signal(&watchdog->minder, SIGHUP);
        return;
    }
    log_info("stopping signal=%d", signo);
    if (keeper_end(&watchdog->keeper))
        loop_stop(watchdog->loop);
}

static int open_watchdog(struct watchdog *watchdog, struct err *err)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
    const struct sigaction ignore = { .sa_handler = SIG_IGN };

    (void)sigaction(SIGPIPE, &ignore, NULL);
    watchdog->loop = loop_new(err);
    notify_init(&watchdog->notify, watchdog->loop);
    if (!watchdog->loop ||
        background_tasks_open_workers(&watchdog->background_tasks, watchdog->loop, 1, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        if (loop_on_signal(watchdog->loop, signals[i], on_watchdog_signal, watchdog, err) < 0)
            return -1;
    watchdog->hub = nats_hub_new(watchdog->loop);
    minder_init(&watchdog->minder, watchdog->loop, on_daemon_ended);
    return open_slots(watchdog, err);
}

static int serve_watchdog(struct watchdog *watchdog)
{
    struct err err;

    if (open_watchdog(watchdog, &err) < 0) {
        log_error("watchdog cannot start error=%s", err.text);
        return DAEMON_CONF_ERROR;
    }
    log_info("watchdog started component=%s", update_component_name(watchdog->conf.component));
    notify_ready(&watchdog->notify);
    keeper_begin(&watchdog->keeper);
    timer_set(loop_timers(watchdog->loop), &watchdog->connect, clock_now(), on_connect_due);
    loop_run(watchdog->loop);
    log_info("watchdog ended");
    return EXIT_SUCCESS;
}

int watchdog_main(int argc, char **argv)
{
    struct watchdog watchdog = { .slots.lock = LOCK_NONE };
    int status;

    if (daemon_conf_start(&watchdog_daemon_conf, &watchdog.arena, argc, argv, &watchdog.line,
                          &watchdog.conf, &status)) {
        daemon_log_start(COMPONENT, watchdog.id);
        daemon_log_set(watchdog.conf.log_format, watchdog.conf.log_level);
        status = serve_watchdog(&watchdog);
        notify_done(&watchdog.notify);
        download_drop(watchdog.download);
        link_free(watchdog.link);
        nats_hub_free(watchdog.hub);
        background_tasks_close(&watchdog.background_tasks);
        lock_drop(&watchdog.slots.lock);
        loop_free(watchdog.loop);
    }
    arena_done(&watchdog.arena);
    return status;
}
