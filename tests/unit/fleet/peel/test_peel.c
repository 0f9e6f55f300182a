#include "fleet/peel/peel.h"

#include "core/data/msgpack.h"
#include "fleet/nats/js_scene.h"
#include "fleet/peel/agent.h"
#include "fleet/peel/event_send.h"
#include "fleet/peel/heartbeat.h"
#include "fleet/peel/job.h"
#include "fleet/peel/source.h"
#include "states/run/lastrun.h"
#include "core/sys/path.h"
#include "test.h"
#include "fleet/wire/event.h"

/* --- facts and liveness ------------------------------------------------------------- */

struct got {
    struct arena *arena;
    struct value value;
    uint64_t revision;
    int count;
    bool found;
};

static void on_entry(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct got *got = self;
    struct err err;

    got->count++;
    got->found = !error;
    if (error)
        return;
    got->revision = entry->revision;
    CHECK_INT(msgpack_decode(got->arena, arena_str(got->arena, entry->value), &got->value, &err),
              0);
}

static struct got get_key(struct agent *agent, enum store_bucket bucket, const char *key)
{
    const struct nats_kv kv = { .js = agent->js, .bucket = store_bucket_name(bucket) };
    struct got got = { .arena = &agent->arena };

    CHECK_INT(nats_kv_get(&kv, key, on_entry, &got, &agent->scene.err), 0);
    SCENE_RUN(&agent->scene, got.count == 1);
    return got;
}

static bool has_key(struct agent *agent, enum store_bucket bucket, const char *key)
{
    return get_key(agent, bucket, key).found;
}

TEST(a_peel_that_is_connected_beats_and_publishes_its_facts)
{
    struct agent agent;
    struct got facts, beat;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    agent_wait_connected(&agent);
    SCENE_RUN(&agent.scene, has_key(&agent, STORE_FACTS, "web-01"));
    SCENE_RUN(&agent.scene, has_key(&agent, STORE_PEEL_HEARTBEAT, "web-01"));
    facts = get_key(&agent, STORE_FACTS, "web-01");
    CHECK_STR(value_get_text(&facts.value, "id"), "web-01");
    CHECK(value_path(&facts.value, STR("os.family"), '.') != NULL);
    beat = get_key(&agent, STORE_PEEL_HEARTBEAT, "web-01");
    CHECK_INT(value_get_int(&beat.value, "protocol", 0), 1);
    CHECK(value_is(value_get(&beat.value, "ts"), VALUE_TIME));
    agent_end(&agent);
}

static bool has_role(struct agent *agent, const char *role)
{
    const struct got facts = get_key(agent, STORE_FACTS, agent->id);
    const char *text = facts.found ? value_get_text(&facts.value, "role") : NULL;

    return text && strcmp(text, role) == 0;
}

TEST(a_fact_that_is_set_is_published_and_survives_a_restart)
{
    struct agent agent;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    agent_wait_connected(&agent);
    CHECK_STR(agent_ask(&agent, "facts.set", "role", "key=role;value=web"), "web");
    CHECK(agent.response.success);
    SCENE_RUN(&agent.scene, has_role(&agent, "web"));
    agent_stop(&agent);
    agent_start(&agent);
    agent_wait_connected(&agent);
    CHECK_STR(agent_ask(&agent, "facts.get", "role", "key=role"), "web");
    agent_end(&agent);
}

/* --- requests ----------------------------------------------------------------------- */

TEST(direct_requests_are_answered)
{
    struct agent agent;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    agent_wait_connected(&agent);
    CHECK_STR(agent_ask(&agent, "test.ping", "ping", ""), "true");
    CHECK_STR(agent.response.peel_id, "web-01");
    CHECK(agent.response.success);
    CHECK_STR(agent.response.results.list.p[0].name, "test.ping:ping");
    CHECK_HAS(agent_ask(&agent, "facts.items", "items", ""), "os:");
    CHECK_HAS(agent_ask(&agent, "sys.list_functions", "", ""), "cmd.run");
    CHECK_HAS(agent_ask(&agent, "test.pong", "", ""),
              "unknown function 'test.pong' (did you mean 'test.ping'?)");
    CHECK(!agent.response.success);
    (void)agent_ask(&agent, "cmd.run", "ad-hoc", "command=echo hello");
    CHECK_STR(value_get_text(&agent.response.results.list.p[0].details, "stdout"), "hello");
    CHECK(agent.response.success && agent.response.results.list.p[0].changed);
    (void)agent_ask(&agent, "cmd.run", "ad-hoc", "command=exit 3");
    CHECK(!agent.response.success);
    agent_end(&agent);
}

TEST(a_state_by_hand_changes_and_a_dry_run_does_not)
{
    struct agent agent;
    struct fs_info info;
    const char *path, *args;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    agent_wait_connected(&agent);
    path = arena_printf(&agent.arena, "%s/motd", agent.folder);
    args = arena_printf(&agent.arena, "name=%s;contents=hi", path);
    (void)agent_ask(&agent, "file.managed", path, arena_printf(&agent.arena, "%s;test=True", args));
    CHECK(agent.response.success && agent.response.test);
    CHECK(agent.response.results.list.p[0].changed);
    CHECK_INT(fs_stat(path, &info, &agent.scene.err), 0);
    CHECK_INT(info.kind, FS_NONE);
    (void)agent_ask(&agent, "file.managed", path, args);
    CHECK(agent.response.success && !agent.response.test);
    CHECK_INT(fs_stat(path, &info, &agent.scene.err), 0);
    CHECK_INT(info.kind, FS_FILE);
    agent_end(&agent);
}

TEST(states_come_from_the_cache_else_from_the_baked_folder_else_not_at_all)
{
    struct agent agent;
    const char *baked, *cache;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    agent_wait_connected(&agent);
    agent_wait_settings(&agent);
    CHECK_STR(agent_ask(&agent, "state.apply", "web", "state=web"), SOURCE_UNAVAILABLE);
    baked = arena_printf(&agent.arena, "%s/data/states", agent.folder);
    cache = agent.conf.states_cache;
    CHECK_INT(fs_mkdirs(baked, 0755, &agent.scene.err), 0);
    fleet_write(path_join(&agent.arena, baked, "web.zy"),
                STR("said:\n  cmd.run:\n    - name: echo baked\n"));
    (void)agent_ask(&agent, "state.apply", "web", "state=web");
    CHECK_STR(value_get_text(&agent.response.results.list.p[0].details, "stdout"), "baked");
    CHECK_INT(fs_mkdirs(cache, 0755, &agent.scene.err), 0);
    fleet_write(path_join(&agent.arena, cache, "web.zy"),
                STR("said:\n  cmd.run:\n    - name: echo cached\n"));
    (void)agent_ask(&agent, "state.apply", "web", "state=web");
    CHECK_STR(value_get_text(&agent.response.results.list.p[0].details, "stdout"), "cached");
    CHECK_HAS(agent_ask(&agent, "state.apply", "nothing", "state=nothing"), "nothing");
    CHECK(!agent.response.success);
    agent_end(&agent);
}

static void on_event(void *self, const struct nats_msg *msg)
{
    struct buf *text = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct event event = { 0 };
    struct err err;

    CHECK_INT(record_decode(&arena, &event_type, 0, msg->payload, &event, &err), 0);
    buf_printf(text, "%.*s %s depth=%d %s;", STR_ARG(msg->subject), event.tag, event.depth,
               event.data.kind == VALUE_MAP ? value_get_text(&event.data, "service") : "-");
}

TEST(an_event_is_in_the_stream_when_it_is_answered)
{
    AUTO_BUF struct buf seen = BUF_INIT(4096);
    struct agent agent;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    agent_wait_connected(&agent);
    CHECK(nats_sub_new(agent.js.conn,
                       &(struct nats_sub_options){
                           .subject = "zester.event.>", .message = on_event, .self = &seen },
                       &agent.scene.err) != NULL);
    CHECK_INT(strlen(agent_ask(&agent, "event.send", "app/deploy", "service=web;tag=ignored")), 27);
    CHECK(agent.response.success);
    SCENE_RUN(&agent.scene, seen.n > 0);
    CHECK_STR(buf_text(&seen), "zester.event.web-01.send.app.deploy app/deploy depth=0 web;");
    (void)agent_ask(&agent, "event.send", "", "tag=a.b");
    SCENE_RUN(&agent.scene, strstr(buf_text(&seen), "send.a.b a/b depth=0 -;"));
    CHECK_STR(agent_ask(&agent, "event.send", "", ""), "event.send requires a tag");
    CHECK(agent_ask(&agent, "event.send", "a b", "") && !agent.response.success);
    CHECK_STR(agent_ask(&agent, "event.send", "c", "test=True"), "would send the event web-01/c");
    CHECK_STR(agent_ask(&agent, "event.send", "c.d", "a=b;test=True"),
              "would send the event web-01/c/d {\"a\":\"b\"}");
    agent_send_job(&agent, "J1", 1, "event.send", "d/e", "");
    SCENE_RUN(&agent.scene, agent.returns == 1);
    CHECK(agent.returned.success);
    CHECK(strstr(buf_text(&seen), "send.c ") == NULL);
    agent_end(&agent);
}

/* What the function said, and how often. */
static struct {
    int count;
    char text[256];
} said;

static void on_said(struct peel_job *job)
{
    said.count++;
    (void)snprintf(said.text, sizeof(said.text), "%s",
                   job->answer.error ? job->answer.error : "it was sent");
    job_free(job);
}

static void send_event(struct agent *agent, struct nats_publisher *publisher)
{
    static const struct job_queue_options options = { .peel_id = "web-01" };
    const struct exec_request request = {
        .jid = "", .module = EVENT_SEND, .id = "app/deploy", .args = agent_args(agent, "")
    };

    struct peel_job *job = job_new(NULL, &options, &request);

    said.count = 0;
    job->reply_max = 1 << 20;
    event_send(job, publisher, on_said);
    SCENE_RUN(&agent->scene, said.count == 1);
}

static int64_t count_events(struct agent *agent)
{
    struct js_outcome outcome = { 0 };

    CHECK_INT(nats_stream_info(&agent->js, STORE_EVENTS, js_on_stream, &outcome, &agent->scene.err),
              0);
    SCENE_RUN(&agent->scene, outcome.count == 1);
    CHECK(!outcome.failed);
    return outcome.messages;
}

TEST(an_event_that_finds_no_bus_fails_and_is_not_sent_later)
{
    struct agent agent;
    struct nats_publisher *publisher;

    agent_begin(&agent, "web-01");
    publisher =
        nats_publisher_new(&agent.js, &(struct nats_publisher_options){ .give_up = CLOCK_MS });
    server_stop(&agent.fleet.server, SIGKILL);
    SCENE_RUN(&agent.scene, nats_conn_state(agent.js.conn) != NATS_CONN_CONNECTED);
    send_event(&agent, NULL);
    CHECK_STR(said.text, "event not sent: there is no connection to the bus");
    send_event(&agent, publisher);
    CHECK_STR(said.text, "event not sent: there is no connection to the server");
    server_start(&agent.fleet.server);
    SCENE_RUN(&agent.scene, nats_conn_state(agent.js.conn) == NATS_CONN_CONNECTED);
    CHECK_INT(count_events(&agent), 0);
    nats_publisher_free(publisher);
    agent_end(&agent);
}

/* --- jobs --------------------------------------------------------------------------- */

static const char *counter_args(struct agent *agent)
{
    return arena_printf(&agent->arena, "command=echo x >> %s/count", agent->folder);
}

static size_t count_runs(struct agent *agent)
{
    struct str text;

    CHECK_INT(fs_read(&agent->arena, arena_printf(&agent->arena, "%s/count", agent->folder), 1024,
                      &text, &agent->scene.err),
              0);
    return text.n / 2;
}

TEST(a_job_is_acknowledged_and_returned_and_runs_once_for_its_epoch)
{
    struct agent agent;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    agent_wait_connected(&agent);
    agent_send_job(&agent, "J1", 7, "cmd.run", "ad-hoc", counter_args(&agent));
    SCENE_RUN(&agent.scene, agent.returns == 1);
    CHECK_INT(agent.acks, 1);
    CHECK(agent.returned.success);
    CHECK_STR(agent.returned.jid, "J1");
    CHECK_STR(agent.returned.peel_id, "web-01");
    CHECK_STR(value_get_text(&agent.returned.return_data, "peel_id"), "web-01");
    /* before the return: it has begun, its state has ended; none when it was quick */
    CHECK(agent.progress == 2 || agent.progress == 0);

    agent_send_job(&agent, "J1", 7, "cmd.run", "ad-hoc", counter_args(&agent));
    SCENE_RUN(&agent.scene, agent.acks == 2); /* the first may have been lost */
    agent_send_job(&agent, "J1", 6, "cmd.run", "ad-hoc", counter_args(&agent));
    agent_stop(&agent);
    agent_start(&agent);
    agent_wait_connected(&agent);
    agent_send_job(&agent, "J1", 7, "cmd.run", "ad-hoc", counter_args(&agent));
    SCENE_RUN(&agent.scene, agent.acks == 3);
    agent_send_job(&agent, "J2", 8, "cmd.run", "ad-hoc", counter_args(&agent));
    SCENE_RUN(&agent.scene, agent.returns == 2);
    CHECK_INT(count_runs(&agent), 2);
    agent_end(&agent);
}

TEST(reads_do_not_wait_for_a_run_and_runs_wait_for_each_other)
{
    struct agent agent;
    const char *gate, *wait;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    agent_wait_connected(&agent);
    gate = arena_printf(&agent.arena, "%s/gate", agent.folder);
    wait =
        arena_printf(&agent.arena, "command=until [ -e %s ]&&true \n do sleep 0.01 \n done", gate);
    agent_send_job(&agent, "LONG", 1, "cmd.run", "ad-hoc", wait);
    SCENE_RUN(&agent.scene, agent.acks == 1 && agent.progress >= 1);
    agent.progress = 0;
    agent_send_job(&agent, "NEXT", 2, "cmd.run", "ad-hoc", counter_args(&agent));
    SCENE_RUN(&agent.scene, agent.acks == 2 && agent.progress == 1); /* it says what it waits for */
    CHECK_STR(agent_ask(&agent, "test.ping", "ping", ""), "true");
    CHECK_HAS(agent_ask(&agent, "disk.usage", "", ""), "/");
    CHECK_INT(agent.returns, 0);
    fleet_write(gate, STR("x"));
    SCENE_RUN(&agent.scene, agent.returns == 2);
    CHECK_STR(agent.returned.jid, "NEXT");
    CHECK_INT(count_runs(&agent), 1);
    agent_end(&agent);
}

TEST(a_run_that_takes_its_time_tells_all_of_its_progress_before_it_returns)
{
    struct agent agent;
    const char *gate, *wait;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    agent_wait_connected(&agent);
    gate = arena_printf(&agent.arena, "%s/gate", agent.folder);
    wait = arena_printf(&agent.arena, "command=until [ -e %s ] \n do sleep 0.01 \n done", gate);
    agent_send_job(&agent, "LONG", 1, "cmd.run", "ad-hoc", wait);
    SCENE_RUN(&agent.scene, agent.progress == 1);
    fleet_write(gate, STR("x"));
    SCENE_RUN(&agent.scene, agent.returns == 1);
    CHECK_INT(agent.progress, 2);
    agent_end(&agent);
}

/* --- heartbeats ------------------------------------------------------------------- */

static struct str keep_run(struct agent *agent, const char *error)
{
    const struct lastrun_request request = { .function = "state.highstate" };
    AUTO_BUF struct buf outcome = BUF_INIT(LASTRUN_MAX);
    struct lastrun run;
    struct err err;

    CHECK_INT(lastrun_keep(&agent->arena, agent->folder, &request, NULL, error, &run, &err), 0);
    lastrun_print_outcome(&outcome, &run);
    return buf_copy(&outcome, &agent->arena);
}

TEST(a_run_that_came_to_the_same_as_the_last_one_can_wait_for_the_next_heartbeat)
{
    struct agent agent;
    struct heartbeat heartbeat;
    int64_t next;

    agent_begin(&agent, "web-01");
    heartbeat_init(&heartbeat, agent.scene.loop, "web-09", agent.folder);
    (void)keep_run(&agent, "one mistake");
    heartbeat_connect(&heartbeat, &agent.js);
    SCENE_RUN(&agent.scene, heartbeat_is_heard(&heartbeat));
    next = heartbeat.timer.deadline;
    heartbeat_tell_run(&heartbeat, keep_run(&agent, "one mistake"));
    CHECK_INT(heartbeat.timer.deadline, next);
    heartbeat_tell_run(&heartbeat, (struct str){ 0 });
    CHECK_INT(heartbeat.timer.deadline, next);
    heartbeat_tell_run(&heartbeat, keep_run(&agent, "another mistake"));
    CHECK(heartbeat.timer.deadline < next);
    heartbeat_done(&heartbeat);
    agent_end(&agent);
}

TEST(an_event_takes_its_turn_behind_a_run_that_changes_the_machine)
{
    struct agent agent;
    const char *gate, *wait;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    agent_wait_connected(&agent);
    gate = arena_printf(&agent.arena, "%s/gate", agent.folder);
    wait = arena_printf(&agent.arena, "command=until [ -e %s ] \n do sleep 0.01 \n done", gate);
    agent_send_job(&agent, "LONG", 1, "cmd.run", "ad-hoc", wait);
    SCENE_RUN(&agent.scene, agent.acks == 1 && agent.progress >= 1);
    agent.progress = 0;
    agent_send_job(&agent, "EVENT", 2, "event.send", "app/deploy", "");
    agent_send_job(&agent, "NEXT", 3, "cmd.run", "ad-hoc", counter_args(&agent));
    SCENE_RUN(&agent.scene, agent.acks == 3 && agent.progress == 2); /* both are told behind what */
    CHECK_INT(agent.returns, 0);
    CHECK_INT(count_events(&agent), 0);
    fleet_write(gate, STR("x"));
    SCENE_RUN(&agent.scene, agent.returns == 3);
    CHECK_STR(agent.returned.jid, "NEXT");
    CHECK(agent.returned.success);
    CHECK_INT(count_events(&agent), 1);
    agent_end(&agent);
}

TEST(reactions_wait_beyond_the_queue_of_operators)
{
    struct agent agent;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    agent_wait_connected(&agent);
    agent_send_job(&agent, "LONG", 1, "cmd.run", "ad-hoc", "command=sleep 600");
    agent.depth = 1;
    for (int i = 0; i < 100; i++)
        agent_send_job(&agent, arena_printf(&agent.arena, "R%d", i), 2, "cmd.run", "ad-hoc",
                       "command=true");
    SCENE_RUN(&agent.scene, agent.acks == 101);
    CHECK_INT(agent.returns, 0);
    agent.depth = 0;
    agent_send_job(&agent, "LAST", 2, "cmd.run", "ad-hoc", "command=true");
    SCENE_RUN(&agent.scene, agent.returns == 1);
    CHECK_STR(agent.returned.error, "peel busy: execution queue full");
    agent_end(&agent);
}

TEST(a_full_queue_refuses_and_says_so)
{
    struct agent agent;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    agent_wait_connected(&agent);
    agent_send_job(&agent, "LONG", 1, "cmd.run", "ad-hoc", "command=sleep 600");
    for (int i = 0; i < 64; i++)
        agent_send_job(&agent, arena_printf(&agent.arena, "Q%d", i), 2, "cmd.run", "ad-hoc",
                       "command=true");
    SCENE_RUN(&agent.scene, agent.acks == 65);
    CHECK_INT(agent.returns, 0);
    agent_send_job(&agent, "LAST", 2, "cmd.run", "ad-hoc", "command=true");
    SCENE_RUN(&agent.scene, agent.returns == 1);
    CHECK_STR(agent.returned.jid, "LAST");
    CHECK_STR(agent.returned.error, "peel busy: execution queue full");
    CHECK(!agent.returned.success);
    agent_end(&agent);
}

static void send_cancel(struct agent *agent, const char *jid)
{
    CHECK_INT(nats_publish(agent->js.conn,
                           &(struct nats_pub){ .subject = str_from(arena_printf(
                                                   &agent->arena, "zester.job.%s.cancel", jid)) },
                           &agent->scene.err),
              0);
}

TEST(a_cancel_ends_what_runs_and_what_waits)
{
    struct agent agent;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    agent_wait_connected(&agent);
    agent_send_job(&agent, "LONG", 1, "cmd.run", "ad-hoc", "command=sleep 600");
    agent_send_job(&agent, "NEXT", 2, "cmd.run", "ad-hoc", counter_args(&agent));
    SCENE_RUN(&agent.scene, agent.acks == 2);
    send_cancel(&agent, "NEXT");
    SCENE_RUN(&agent.scene, agent.returns == 1);
    CHECK_STR(agent.returned.jid, "NEXT");
    CHECK_STR(agent.returned.error, "execution canceled");
    send_cancel(&agent, "LONG");
    SCENE_RUN(&agent.scene, agent.returns == 2);
    CHECK_STR(agent.returned.jid, "LONG");
    CHECK(!agent.returned.success);
    agent_end(&agent);
}

/* Returns on disk; those that are being written do not count. */
static size_t count_messages(struct agent *agent)
{
    struct fs_names names = { 0 };
    size_t n = 0;

    CHECK_INT(fs_list(&agent->arena, arena_printf(&agent->arena, "%s/data/outbox", agent->folder),
                      &names, &agent->scene.err),
              0);
    VEC_EACH (&names.list, name) {
        const char *path = arena_printf(&agent->arena, "%s/data/outbox/%s", agent->folder, *name);
        struct str bytes;

        CHECK_INT(fs_read(&agent->arena, path, 1 << 20, &bytes, &agent->scene.err), 0);
        n += !fs_is_temp_name(*name) && bytes.n > 0 && bytes.p[0] != '\0'; /* an empty tray */
    }
    return n;
}

TEST(a_return_waits_on_disk_for_the_bus)
{
    struct agent agent;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    agent_wait_connected(&agent);
    agent_send_job(&agent, "J1", 1, "cmd.run", "ad-hoc",
                   arena_printf(&agent.arena,
                                "command=until [ -e %s/gate ] \n do sleep 0.01 \n done",
                                agent.folder));
    SCENE_RUN(&agent.scene, agent.acks == 1);
    server_stop(&agent.fleet.server, SIGKILL);
    SCENE_RUN(&agent.scene, !peel_is_connected(agent.peel));
    fleet_write(arena_printf(&agent.arena, "%s/gate", agent.folder), STR("x"));
    SCENE_RUN(&agent.scene, count_messages(&agent) == 1); /* the job ends without a bus */
    agent_stop(&agent);
    CHECK_INT(agent.returns, 0);

    server_start(&agent.fleet.server);
    SCENE_RUN(&agent.scene, nats_conn_state(agent.js.conn) == NATS_CONN_CONNECTED);
    agent_start(&agent);
    SCENE_RUN(&agent.scene, agent.returns == 1);
    CHECK(agent.returned.success);
    SCENE_RUN(&agent.scene, count_messages(&agent) == 0);
    agent_end(&agent);
}

TEST(a_peel_starts_without_a_bus_and_connects_when_there_is_one)
{
    struct agent agent;

    agent_begin(&agent, "web-01");
    server_stop(&agent.fleet.server, SIGKILL);
    agent_start(&agent);
    scene_turn(&agent.scene);
    CHECK(!peel_is_connected(agent.peel));
    server_start(&agent.fleet.server);
    SCENE_RUN(&agent.scene, nats_conn_state(agent.js.conn) == NATS_CONN_CONNECTED);
    agent_wait_connected(&agent);
    CHECK_STR(agent_ask(&agent, "test.ping", "ping", ""), "true");
    agent_end(&agent);
}

TEST(a_second_peel_on_the_same_data_is_refused)
{
    struct agent agent;
    struct err err;

    agent_begin(&agent, "web-01");
    agent_start(&agent);
    CHECK(peel_new(&(struct peel_options){ .loop = agent.scene.loop,
                                           .hub = agent.scene.hub,
                                           .conf = &agent.conf },
                   &err) == NULL);
    CHECK_HAS(err.text, "data folder");
    agent_end(&agent);
}
