/*
 * agent - a peel on a real server, in this process, with an operator and a master beside it.
 *
 *     agent_begin(&agent, "web-01");       the server runs, streams and buckets are there
 *     agent_start(&agent);                 the peel is connected
 *     agent_ask(&agent, "test.ping", ...)  a direct request, and its answer
 *     agent_end(&agent);
 */
#ifndef TESTS_UNIT_FLEET_PEEL_AGENT_H
#define TESTS_UNIT_FLEET_PEEL_AGENT_H

#include <stdlib.h>

#include "fleet/bus/fleet.h"
#include "fleet/bus/link.h"
#include "fleet/bus/store.h"
#include "fleet/nats/js.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/scene.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/peel.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/subject.h"

struct agent {
    struct scene scene;
    struct fleet_server fleet;
    struct arena arena;
    struct link *master;
    struct nats_js js; /* of the master */
    struct peel *peel;
    struct peel_conf conf;
    const char *id, *folder;
    int32_t depth; /* of the jobs that are sent */
    int ensured;
    bool stopped;
    struct watched watched;
    /* of the last answer */
    struct exec_response response;
    struct exec_return returned;
    int answers, acks, returns, progress, pongs;
    bool listens; /* requests find the peel */
    struct nats_sub *jobs;
    bool is_patient; /* with the pauses that machines make for the sake of others */
};

static inline void agent_on_store(void *self, const struct store_result *result)
{
    struct agent *agent = self;

    CHECK_INT(result->problem_count, 0);
    agent->ensured++;
}

static inline void agent_on_job(void *self, const struct nats_msg *msg)
{
    struct agent *agent = self;
    struct subject_names names;
    enum subject_kind kind;
    struct err err;

    CHECK(subject_parse(msg->subject, &kind, &names));
    if (kind == SUBJECT_JOB_ACK)
        agent->acks++;
    if (kind == SUBJECT_JOB_PROGRESS)
        agent->progress++;
    if (kind != SUBJECT_JOB_RETURN)
        return;
    agent->returned = (struct exec_return){ 0 };
    CHECK_INT(record_decode(&agent->arena, &exec_return_type, 0,
                            arena_str(&agent->arena, msg->payload), &agent->returned, &err),
              0);
    agent->returns++;
}

/* A second connection, with the rights of a master. */
static inline void agent_open_master(struct agent *agent)
{
    const char *creds = arena_printf(&agent->arena, "%s/master.creds", agent->fleet.auth_dir);

    agent->master = link_new(agent->scene.hub,
                             &(struct link_options){ .urls = agent->fleet.url,
                                                     .auth_dir = agent->fleet.auth_dir,
                                                     .creds_file = creds },
                             &agent->scene.err);
    CHECK(agent->master != NULL);
    agent->js.conn = link_conn(agent->master);
    nats_listen(agent->js.conn, &agent->watched.listener, watched_on_event);
    SCENE_RUN(&agent->scene, nats_conn_state(agent->js.conn) == NATS_CONN_CONNECTED);
    CHECK_INT(store_ensure(&agent->js, &(struct store_options){ 0 }, agent_on_store, agent,
                           &agent->scene.err),
              0);
    SCENE_RUN(&agent->scene, agent->ensured == 1);
    agent->jobs =
        nats_sub_new(agent->js.conn,
                     &(struct nats_sub_options){
                         .subject = "zester.job.>", .message = agent_on_job, .self = agent },
                     &agent->scene.err);
}

static inline void agent_configure(struct agent *agent)
{
    struct diags diags = DIAGS_INIT(&agent->arena);
    const struct daemon_line line = { .file = arena_printf(&agent->arena, "%s/peel.yaml",
                                                           agent->folder) };
    const char *text = arena_printf(
        &agent->arena,
        "id: %s\nnats_url: %s\nauth_dir: %s/auth\ndata_dir: %s/data\nstates_cache: %s/states\n"
        "facts_file: %s/facts\nhealth_addr: ''\nnats_ca: %s/nats-ca.crt\n",
        agent->id, agent->fleet.url, agent->folder, agent->folder, agent->folder, agent->folder,
        agent->fleet.auth_dir);

    fleet_write(line.file, str_from(text));
    CHECK_INT(
        daemon_conf_read(&peel_conf_daemon, &line, &agent->arena, &agent->conf, &diags, &diags), 0);
}

static inline void agent_begin(struct agent *agent, const char *id)
{
    struct err err;

    *agent = (struct agent){ .id = id };
    scene_begin(&agent->scene);
    fleet_start(&agent->fleet);
    agent->folder = arena_printf(&agent->arena, "%s/peel", test_folder());
    CHECK_INT(fs_mkdirs(arena_printf(&agent->arena, "%s/auth", agent->folder), 0700, &err), 0);
    fleet_issue_peel(&agent->fleet, id,
                     arena_printf(&agent->arena, "%s/auth/%s.creds", agent->folder, id));
    agent_open_master(agent);
    agent_configure(agent);
}

static inline void agent_on_stopped(void *self)
{
    struct agent *agent = self;

    agent->stopped = true;
}

static inline void agent_start(struct agent *agent)
{
    agent->stopped = false;
    agent->peel = peel_new(&(struct peel_options){ .loop = agent->scene.loop,
                                                   .hub = agent->scene.hub,
                                                   .conf = &agent->conf,
                                                   .hasty = !agent->is_patient,
                                                   .stopped = agent_on_stopped,
                                                   .self = agent },
                           &agent->scene.err);
    if (!agent->peel)
        CHECK_STR(agent->scene.err.text, "");
}

static inline void agent_stop(struct agent *agent)
{
    peel_stop(agent->peel);
    SCENE_RUN(&agent->scene, agent->stopped);
    peel_free(agent->peel);
    agent->peel = NULL;
}

static inline void agent_end(struct agent *agent)
{
    if (agent->peel)
        agent_stop(agent);
    link_free(agent->master);
    fleet_stop(&agent->fleet);
    scene_end(&agent->scene);
    arena_done(&agent->arena);
}

/* "a=b c=d" as a map of texts. */
static inline struct value agent_args(struct agent *agent, const char *text)
{
    struct value map = value_map(value_map_new(&agent->arena, 0));
    struct str rest = str_from(text);

    while (rest.p && rest.n > 0) {
        struct str value = str_cut(&rest, ';'), key = str_cut(&value, '=');

        value_map_set(&agent->arena, map.map, value_str(arena_str(&agent->arena, key)),
                      value_str(arena_str(&agent->arena, value)));
    }
    return map;
}

static inline struct str agent_request(struct agent *agent, const char *jid, uint64_t epoch,
                                       const char *function, const char *id, const char *args)
{
    const struct exec_request request = { .v = EXEC_PROTOCOL,
                                          .jid = jid,
                                          .module = function,
                                          .id = id,
                                          .args = agent_args(agent, args),
                                          .epoch = epoch,
                                          .rdepth = agent->depth };
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 20);

    CHECK_INT(record_encode(&bytes, &exec_request_type, &request, &agent->scene.err), 0);
    return buf_copy(&bytes, &agent->arena);
}

static inline const char *agent_subject(struct agent *agent)
{
    return arena_printf(&agent->arena, "zester.cmd.%s", agent->id);
}

static inline void agent_on_reply(void *self, const struct nats_error *error,
                                  const struct nats_msg *msg)
{
    struct agent *agent = self;

    if (error)
        print_error("%s\n", error->text);
    CHECK(error == NULL);
    agent->response = (struct exec_response){ 0 };
    CHECK_INT(record_decode(&agent->arena, &exec_response_type, 0,
                            arena_str(&agent->arena, msg->payload), &agent->response,
                            &agent->scene.err),
              0);
    agent->answers++;
}

static inline void agent_on_pong(void *self, const struct nats_error *error,
                                 const struct nats_msg *msg)
{
    struct agent *agent = self;

    (void)msg;
    agent->pongs++;
    agent->listens = !error;
}

/* Until the server knows that it listens: a request finds it. Across accounts nobody says that no
 * one listens, so that the question is asked again after a short while. */
static inline void agent_wait_connected(struct agent *agent)
{
    const struct str ping = agent_request(agent, "", 0, "test.ping", "ping", "");
    const int64_t deadline = clock_now() + SCENE_SECONDS * CLOCK_SECOND;

    SCENE_RUN(&agent->scene, peel_is_connected(agent->peel));
    agent->listens = false;
    while (!agent->listens && clock_now() < deadline) {
        const int before = agent->pongs;

        CHECK_INT(nats_request(agent->js.conn,
                               &(struct nats_pub){ .subject = str_from(agent_subject(agent)),
                                                   .payload = ping },
                               CLOCK_SECOND / 2, agent_on_pong, agent, NULL, &agent->scene.err),
                  0);
        SCENE_RUN(&agent->scene, agent->pongs > before);
    }
    CHECK(agent->listens);
}

/* Direct; args are "key=value;key=value". Returns what it said, or its error. */
static inline const char *agent_ask(struct agent *agent, const char *function, const char *id,
                                    const char *args)
{
    const int before = agent->answers;
    const struct str bytes = agent_request(agent, "", 0, function, id, args);

    CHECK_INT(nats_request(
                  agent->js.conn,
                  &(struct nats_pub){ .subject = str_from(agent_subject(agent)), .payload = bytes },
                  60 * CLOCK_SECOND, agent_on_reply, agent, NULL, &agent->scene.err),
              0);
    SCENE_RUN(&agent->scene, agent->answers > before);
    if (agent->response.error && agent->response.error[0])
        return agent->response.error;
    if (agent->response.results.list.n == 0)
        return "";
    const char *said = value_get_text(&agent->response.results.list.p[0].details, "result");

    return said ? said : agent->response.results.list.p[0].name;
}

/* Until settings were received, if only that there are none: states need them. */
static inline void agent_wait_settings(struct agent *agent)
{
    SCENE_RUN(&agent->scene, agent_ask(agent, "settings.keys", "", "") && agent->response.success);
}

/* As a job; nothing is waited for. */
static inline void agent_send_job(struct agent *agent, const char *jid, uint64_t epoch,
                                  const char *function, const char *id, const char *args)
{
    const struct str bytes = agent_request(agent, jid, epoch, function, id, args);

    CHECK_INT(nats_publish(
                  agent->js.conn,
                  &(struct nats_pub){ .subject = str_from(agent_subject(agent)), .payload = bytes },
                  &agent->scene.err),
              0);
}

#endif
