/* driver_floor MODE ...: the message sequence of a job, and nothing else: no checks, no disk, no
 * memory of what was. The floor of what a fleet can reach over the same bus.
 *
 *     peels URL AUTH FOLDER FIRST COUNT SIZE PROGRESS FILES FACTS
 *                      agents that acknowledge a request and return, which the stream confirms, as
 *                      docs/reference/fleet.md says. A test.ping returns a word; everything else a
 * return of SIZE bytes, after the agent has read and compared FILES small files of its own, and for
 * a state.highstate after PROGRESS messages: one that it has begun, and the result of a state in
 * each of the others, as long runs have them and short ones have not. Publishes FACTS facts first,
 * so that a real master knows it. Says "ready" when all are connected master URL AUTH COUNT answers
 * who is meant by `*` and takes jobs for all of COUNT agents: claims, lists, announces and begins
 * the record, sends a request to each, stores each return, ends the record
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "fleet/bus/link.h"
#include "fleet/bus/store.h"
#include "core/data/msgpack.h"
#include "core/data/value.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/publisher.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"
#include "fleet/wire/question.h"
#include "fleet/wire/subject.h"

#include "fleet_work.h"
#include "session.h"

#define FILE_BYTES  64
#define RETURNS_MAX 100000
/* Of a return without the data, which fills up the rest. */
#define RETURN_HEAD 128
/* Agents that connect at once: a server answers thousands of them later than they wait. */
#define WAVE 200

static struct value_time time_now(void)
{
    const int64_t now = clock_wall();

    return (struct value_time){ now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
}

static void publish(struct nats_conn *conn, struct str subject, const struct record_type *type,
                    const void *record)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    session_check(record_encode(&bytes, type, record, &err), &err);
    session_check(
        nats_publish(conn, &(struct nats_pub){ .subject = subject, .payload = buf_view(&bytes) },
                     &err),
        &err);
}

static void publish_to(struct nats_conn *conn, enum subject_kind kind, const char *jid,
                       const char *peel, const struct record_type *type, const void *record)
{
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);
    struct err err;

    session_check(subject_print(&subject, kind,
                                &(struct subject_names){ .jid = str_from(jid),
                                                         .peel = str_from(peel ? peel : "") },
                                &err),
                  &err);
    publish(conn, buf_view(&subject), type, record);
}

/* --- agents --------------------------------------------------------------------------- */

struct agents {
    struct session session;
    struct arena arena;
    const char *folder;
    struct value word, filler; /* what each returns for a test.ping, and for anything else */
    char **words;              /* of the command line */
    uint64_t first, count, started, connected, progress, files, facts;
};

struct agent {
    struct agents *all;
    const char *name;
    struct link *link;
    struct nats_publisher *publisher; /* of its returns */
    struct nats_listener listener;
};

/* What a state of a file that is as it should be needs of the system: open, stat, read, compare. */
static void look_at_file(const char *path)
{
    char bytes[FILE_BYTES], expected[FILE_BYTES];
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;

    memset(expected, 'x', sizeof(expected));
    if (fd < 0 || fstat(fd, &info) < 0 || read(fd, bytes, sizeof(bytes)) != FILE_BYTES ||
        memcmp(bytes, expected, sizeof(bytes)) != 0)
        session_die("a file is not as it should be");
}

static const char *file_of(struct arena *arena, const struct agent *agent, uint64_t number)
{
    return arena_printf(arena, "%s/%s/floor-%llu", agent->all->folder, agent->name,
                        (unsigned long long)number);
}

static void on_stored(void *self, const struct nats_error *error, const struct nats_stored_ack *ack)
{
    (void)self;
    (void)ack;
    session_check_error(error);
}

/* The first one says that the job has begun, each of the others how a state has ended. */
static void send_progress(struct arena *arena, const struct agent *agent, const char *jid,
                          uint64_t number)
{
    const struct agents *all = agent->all;
    struct exec_progress progress = { .jid = jid,
                                      .peel_id = agent->name,
                                      .type = number == 0 ? EXEC_STARTED : EXEC_STATE,
                                      .text = "",
                                      .done = (uint32_t)number,
                                      .total = (uint32_t)all->progress - 1,
                                      .timestamp = time_now() };
    const struct exec_result result = { .name = file_of(arena, agent, number),
                                        .diff = "",
                                        .duration = 1000,
                                        .error = "",
                                        .place = "work.zy:1",
                                        .skip_reason = "" };

    if (number > 0)
        progress.result = record_value(arena, &exec_result_type, &result);
    publish_to(link_conn(agent->link), SUBJECT_JOB_PROGRESS, jid, agent->name, &exec_progress_type,
               &progress);
}

/* Answered by the stream, which knows it by its id. */
static void send_return(struct arena *arena, const struct agent *agent, const char *jid,
                        bool is_ping)
{
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);
    const struct exec_return done = { .jid = jid,
                                      .peel_id = agent->name,
                                      .success = true,
                                      .return_data =
                                          is_ping ? agent->all->word : agent->all->filler,
                                      .error = "",
                                      .timestamp = time_now() };
    struct err *err = &agent->all->session.err;

    session_check(subject_print(&subject, SUBJECT_JOB_RETURN,
                                &(struct subject_names){ .jid = str_from(jid),
                                                         .peel = str_from(agent->name) },
                                err),
                  err);
    session_check(
        nats_publisher_send(
            agent->publisher,
            &(struct nats_store){ .subject = buf_view(&subject),
                                  .payload = session_encode(arena, &exec_return_type, &done),
                                  .id = str_from(arena_printf(arena, "%s.%s", jid, agent->name)) },
            on_stored, NULL, err),
        err);
}

static void on_command(void *self, const struct nats_msg *msg)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct agent *agent = self;
    struct agents *all = agent->all;
    struct exec_request request;
    bool is_ping, is_told;

    session_check(
        record_decode(&arena, &exec_request_type, 0, msg->payload, &request, &all->session.err),
        &all->session.err);
    publish_to(link_conn(agent->link), SUBJECT_JOB_ACK, request.jid, agent->name, &exec_ack_type,
               &(struct exec_ack){ request.jid, agent->name, time_now(), { 0 } });
    is_ping = strcmp(request.module, "test.ping") == 0;
    for (uint64_t i = 0; i < all->files && !is_ping; i++)
        look_at_file(file_of(&arena, agent, i));
    is_told = strcmp(request.module, "state.highstate") == 0;
    for (uint64_t i = 0; i < all->progress && is_told; i++)
        send_progress(&arena, agent, request.jid, i);
    send_return(&arena, agent, request.jid, is_ping);
}

static void publish_facts(struct agent *agent);

/* A server that thousands connect to at once is slow. */
static void on_facts_put(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    if (error)
        publish_facts(self);
}

/* As machines have them: most are the same on many machines. */
static void publish_facts(struct agent *agent)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const struct nats_kv kv = { .js.conn = link_conn(agent->link),
                                .bucket = store_bucket_name(STORE_FACTS) };
    struct value_map *map = value_map_new(&arena, agent->all->facts + 1);
    const struct value facts = value_map(map);
    struct err *err = &agent->all->session.err;

    value_map_set(&arena, map, value_text("id"), value_text(agent->name));
    for (uint64_t i = 0; i < agent->all->facts; i++)
        value_map_set(&arena, map,
                      value_text(arena_printf(&arena, "fact%llu", (unsigned long long)i)),
                      value_text("a text of usual length"));
    session_check(msgpack_encode(&bytes, &facts, err), err);
    session_check(nats_kv_put(&kv, agent->name, buf_view(&bytes), on_facts_put, agent, err), err);
}

static void start_wave(struct agents *all);

static void on_agent(struct nats_listener *listener, const struct nats_event *event)
{
    struct agent *agent = container_of(listener, struct agent, listener);
    struct agents *all = agent->all;

    if (event->kind != NATS_EVENT_CONNECTED)
        return;
    if (all->facts > 0)
        publish_facts(agent);
    if (++all->connected == all->started)
        start_wave(all);
    if (all->connected != all->count)
        return;
    (void)puts("ready");
    (void)fflush(stdout);
}

static void make_files(const struct agent *agent)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char bytes[FILE_BYTES];
    struct err err;

    memset(bytes, 'x', sizeof(bytes));
    for (uint64_t i = 0; i < agent->all->files; i++)
        session_check(
            fs_replace(file_of(&arena, agent, i), (struct str){ bytes, FILE_BYTES },
                       &(struct fs_replace_options){ .attr = FS_ATTR_KEEP, .sync = FS_NO_SYNC },
                       &err),
            &err);
}

static void start_agent(struct agents *all, char **words, uint64_t number)
{
    struct agent *agent = arena_alloc(&all->arena, sizeof(*agent));
    const char *name = fleet_work_name(&all->arena, FLEET_WORK_BARE, number);
    const struct link_options options = {
        .urls = words[0],
        .auth_dir = words[1],
        .creds_file = arena_printf(&all->arena, "%s/%s/auth/%s.creds", words[2], name, name),
        .name = name,
    };
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);
    struct err *err = &all->session.err;

    *agent = (struct agent){ .all = all, .name = name };
    make_files(agent);
    agent->link = link_new(all->session.hub, &options, err);
    if (!agent->link || subject_print(&subject, SUBJECT_COMMAND,
                                      &(struct subject_names){ .peel = str_from(name) }, err) < 0)
        session_die(err->text);
    agent->publisher = nats_publisher_new(&(struct nats_js){ .conn = link_conn(agent->link) },
                                          &(struct nats_publisher_options){ .in_order = true });
    nats_listen(link_conn(agent->link), &agent->listener, on_agent);
    if (!nats_sub_new(link_conn(agent->link),
                      &(struct nats_sub_options){
                          .subject = buf_text(&subject), .message = on_command, .self = agent },
                      err))
        session_die(err->text);
}

static void start_wave(struct agents *all)
{
    for (uint64_t i = 0; i < WAVE && all->started < all->count; i++)
        start_agent(all, all->words, all->first + all->started++);
}

/* A map, as the data of a return is. */
static struct value make_filler(struct arena *arena, uint64_t size)
{
    struct value_map *map = value_map_new(arena, 1);
    const uint64_t n = size > RETURN_HEAD ? size - RETURN_HEAD : 0;
    char *text = arena_alloc(arena, n + 1);

    memset(text, 'x', n);
    text[n] = '\0';
    value_map_set(arena, map, value_text("results"), value_text(text));
    return value_map(map);
}

static void run_agents(char **words)
{
    struct agents all = { .arena = ARENA_INIT, .folder = words[2], .words = words };

    all.first = session_number(words[3]);
    all.count = session_number(words[4]);
    all.word = make_filler(&all.arena, 0);
    all.filler = make_filler(&all.arena, session_number(words[5]));
    all.progress = session_number(words[6]);
    all.files = session_number(words[7]);
    all.facts = session_number(words[8]);
    fd_limit_raise();
    session_begin(&all.session);
    start_wave(&all);
    session_run(&all.session);
}

/* --- the master ----------------------------------------------------------------------- */

struct master {
    struct session session;
    struct arena arena; /* names, and the job that runs */
    struct param_strs names;
    struct nats_kv jobs, returns_bucket;
    struct nats_publisher *publisher;
    struct nats_sub *acks, *returns;
    struct job job;
    char *reply;
    uint64_t got, stored, revision;
};

static void on_resolve(void *self, const struct nats_msg *msg)
{
    struct master *master = self;

    publish(master->session.js.conn, msg->reply, &question_resolved_type,
            &(struct question_resolved){ .peels = master->names, .err = "" });
}

static void on_put(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)self;
    (void)revision;
    session_check_error(error);
}

static void on_event_stored(void *self, const struct nats_error *error,
                            const struct nats_stored_ack *ack)
{
    (void)self;
    (void)ack;
    session_check_error(error);
}

static void announce(struct master *master, enum subject_kind kind, enum job_event_kind type)
{
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);
    const struct job_event event = {
        .jid = master->job.jid, .type = type, .peel_id = "", .timestamp = time_now()
    };
    struct err *err = &master->session.err;

    session_check(subject_print(&subject, kind,
                                &(struct subject_names){ .jid = str_from(master->job.jid) }, err),
                  err);
    session_check(
        nats_publisher_send(master->publisher,
                            &(struct nats_store){ .subject = buf_view(&subject),
                                                  .payload = session_encode(
                                                      &master->arena, &job_event_type, &event) },
                            on_event_stored, master, err),
        err);
}

static void on_ended(void *self, const struct nats_error *error, uint64_t revision)
{
    struct master *master = self;
    struct err *err = &master->session.err;
    const char *active = arena_printf(&master->arena, "active.%s", master->job.jid);

    (void)revision;
    session_check_error(error);
    nats_sub_free(master->acks);
    nats_sub_free(master->returns);
    session_check(nats_kv_delete(&master->jobs, active, 0, on_put, master, err), err);
    announce(master, SUBJECT_JOB_STATUS, JOB_EVENT_COMPLETED);
}

static void on_return_stored(void *self, const struct nats_error *error,
                             const struct nats_stored_ack *ack)
{
    struct master *master = self;
    struct err *err = &master->session.err;

    (void)ack;
    session_check_error(error);
    if (++master->stored < master->job.targets.n)
        return;
    master->job.status = JOB_COMPLETE;
    master->job.return_count = master->job.success_count = (int32_t)master->stored;
    session_check(nats_kv_update(&master->jobs, master->job.jid,
                                 session_encode(&master->arena, &job_type, &master->job),
                                 master->revision, on_ended, master, err),
                  err);
}

static void on_return(void *self, const struct nats_msg *msg)
{
    struct master *master = self;
    struct subject_names names;
    enum subject_kind kind;
    struct err *err = &master->session.err;
    AUTO_BUF struct buf key = BUF_INIT(SUBJECT_MAX);

    if (!subject_parse(msg->subject, &kind, &names))
        session_die("a return has no subject of ours");
    buf_printf(&key, "%.*s.%.*s", STR_ARG(names.jid), STR_ARG(names.peel));
    session_check(nats_kv_publish(&master->returns_bucket, master->publisher, buf_text(&key),
                                  msg->payload, false, on_return_stored, master, err),
                  err);
}

static void on_ack(void *self, const struct nats_msg *msg)
{
    struct master *master = self;

    (void)msg;
    master->got++;
}

static void send_requests(struct master *master)
{
    struct exec_request request = { .v = EXEC_PROTOCOL,
                                    .jid = master->job.jid,
                                    .module = master->job.function,
                                    .id = master->job.state_id,
                                    .epoch = master->revision,
                                    .plan = "" };

    for (size_t i = 0; i < master->job.targets.n; i++)
        publish_to(master->session.js.conn, SUBJECT_COMMAND, "", master->job.targets.p[i],
                   &exec_request_type, &request);
}

static void on_running(void *self, const struct nats_error *error, uint64_t revision)
{
    struct master *master = self;

    session_check_error(error);
    master->revision = revision;
    send_requests(master);
    publish(master->session.js.conn, str_from(master->reply), &job_reply_type,
            &(struct job_reply){ .jid = master->job.jid, .error = "" });
}

static void on_claimed(void *self, const struct nats_error *error, uint64_t revision)
{
    struct master *master = self;
    struct err *err = &master->session.err;
    const char *active = arena_printf(&master->arena, "active.%s", master->job.jid);

    session_check_error(error);
    session_check(nats_kv_put(&master->jobs, active, STR("x"), on_put, master, err), err);
    announce(master, SUBJECT_JOB_DISPATCH, JOB_EVENT_DISPATCHED);
    master->job.status = JOB_RUNNING;
    session_check(nats_kv_update(&master->jobs, master->job.jid,
                                 session_encode(&master->arena, &job_type, &master->job), revision,
                                 on_running, master, err),
                  err);
}

static void on_dispatch(void *self, const struct nats_msg *msg)
{
    struct master *master = self;
    struct err *err = &master->session.err;

    session_check(record_decode(&master->arena, &job_type, 0,
                                arena_str(&master->arena, msg->payload), &master->job, err),
                  err);
    free(master->reply);
    master->reply = mem_strdup(arena_str(&master->arena, msg->reply).p);
    master->got = master->stored = 0;
    master->job.status = JOB_CLAIMED;
    master->acks =
        session_listen(&master->session, SUBJECT_JOB_ACK, master->job.jid, on_ack, master);
    master->returns =
        session_listen(&master->session, SUBJECT_JOB_RETURN, master->job.jid, on_return, master);
    session_check(nats_kv_create(&master->jobs, master->job.jid,
                                 session_encode(&master->arena, &job_type, &master->job),
                                 on_claimed, master, err),
                  err);
}

static void run_master(char **words)
{
    struct master master = { .arena = ARENA_INIT };
    const uint64_t count = session_number(words[2]);

    const char **names = arena_alloc(&master.arena, count * sizeof(*names));

    for (uint64_t i = 0; i < count; i++)
        names[i] = fleet_work_name(&master.arena, FLEET_WORK_BARE, i);
    master.names = (struct param_strs){ count, names };
    session_open(&master.session, words[0], words[1], "master.creds");
    master.jobs =
        (struct nats_kv){ .js = master.session.js, .bucket = store_bucket_name(STORE_JOBS) };
    master.returns_bucket =
        (struct nats_kv){ .js = master.session.js, .bucket = store_bucket_name(STORE_JOB_RETURNS) };
    master.publisher = nats_publisher_new(
        &master.session.js, &(struct nats_publisher_options){ .queue_max = RETURNS_MAX });
    (void)session_listen(&master.session, SUBJECT_RESOLVE, "", on_resolve, &master);
    (void)session_listen(&master.session, SUBJECT_DISPATCH, "", on_dispatch, &master);
    (void)puts("ready");
    (void)fflush(stdout);
    session_run(&master.session);
}

int main(int argc, char **argv)
{
    if (argc == 11 && strcmp(argv[1], "peels") == 0)
        run_agents(argv + 2);
    else if (argc == 5 && strcmp(argv[1], "master") == 0)
        run_master(argv + 2);
    else
        session_die("usage: see the top of bench/driver_floor.c");
    return EXIT_SUCCESS;
}
