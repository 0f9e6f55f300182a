#include "fleet/peel/event_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/rate.h"
#include "core/data/msgpack.h"
#include "fleet/peel/local_event.h"
#include "fleet/peel/outbox.h"
#include "fleet/peel/own_event.h"
#include "fleet/peel/snapshot.h"
#include "core/runs/agent.h"
#include "core/runs/question.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "core/sys/descendants.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define OUTBOX_FOLDER "events"
#define SOCKET_MODE   0600
#define WORKERS       1
/* The one source of the bound. */
#define SOURCE STR("local")

struct event_socket {
    struct event_socket_options options;
    struct arena arena;
    struct unixsock socket;
    int fd;
    struct watch watch;
    struct outbox *outbox;
    struct background_tasks background_tasks;
    struct rate rate;
    struct socket_client *clients;
    size_t count;
};

/* A client, from its packet to our answer. */
struct socket_client {
    struct event_socket *event_socket;
    struct socket_client *next, **back;
    struct arena arena;
    int fd;
    struct watch watch;
    struct timer timer;
    struct unixsock_peer peer;
    struct own_event own;
    struct background_task background_task;
    struct param_strs names; /* of a question about states */
    struct standing_reply reply;
    uint64_t outbox_number; /* 0: not stored yet */
    bool is_keeping;        /* a worker has it */
    bool is_gone;           /* the other side has left */
    bool has_failed;
    struct err err;
};

/* --- answers ---------------------------------------------------------------------- */

static void forget_client(struct socket_client *client)
{
    struct event_socket *event_socket = client->event_socket;

    watch_stop(&client->watch);
    timer_clear(loop_timers(event_socket->options.loop), &client->timer);
    fd_close(&client->fd);
    if (client->is_keeping) {
        client->is_gone = true;
        return;
    }
    *client->back = client->next;
    if (client->next)
        client->next->back = client->back;
    event_socket->count--;
    arena_done(&client->arena);
    free(client);
}

static void send_event_answer(int fd, const struct local_event_answer *answer)
{
    AUTO_BUF struct buf packet = BUF_INIT(AGENT_PACKET_MAX);
    struct err err;

    if (record_encode(&packet, &local_event_answer_type, answer, &err) == 0)
        (void)send(fd, packet.p, packet.n, MSG_NOSIGNAL | MSG_DONTWAIT); /* or they have left */
}

static void send_refusal(int fd, const char *why)
{
    const struct local_event_answer answer = { .status = LOCAL_EVENT_REFUSED, .error = why };

    send_event_answer(fd, &answer);
}

static void refuse_event_client(struct socket_client *client, const char *why)
{
    log_warning("local event refused uid=%d pid=%d error=%s", (int)client->peer.uid,
                (int)client->peer.pid, why);
    send_refusal(client->fd, why);
    forget_client(client);
}

static void answer_client(struct socket_client *client, enum local_event_status status)
{
    const struct local_event_answer answer = {
        .status = status,
        .id = client->own.id,
        .tag = client->own.event.tag,
        .key = client->own.key,
        .subject = client->own.subject,
    };

    log_info("local event %s id=%s tag=%s uid=%d", local_event_status_name(status), answer.id,
             answer.tag, (int)client->peer.uid);
    send_event_answer(client->fd, &answer);
    forget_client(client);
}

/* --- on disk, then in the stream -------------------------------------------------- */

static struct socket_client *find_client(const struct event_socket *event_socket, const char *id)
{
    for (struct socket_client *client = event_socket->clients; client; client = client->next)
        if (!client->is_gone && !client->is_keeping && client->outbox_number > 0 &&
            strcmp(client->own.id, id) == 0)
            return client;
    return NULL;
}

static void on_socket_event_stored(void *self, const char *id)
{
    struct socket_client *client = find_client(self, id);

    if (client)
        answer_client(client, LOCAL_EVENT_STORED);
    else
        log_info("local event stored id=%s", id);
}

static void on_event_dropped(void *self, const char *id, const char *why)
{
    struct socket_client *client = find_client(self, id);

    log_error("local event lost id=%s error=%s", id, why);
    if (client)
        refuse_event_client(client, why);
}

static void on_client_late(struct timer *timer)
{
    answer_client(container_of(timer, struct socket_client, timer), LOCAL_EVENT_BUFFERED);
}

static void keep_client_event(struct background_task *background_task)
{
    struct socket_client *client =
        container_of(background_task, struct socket_client, background_task);
    AUTO_BUF struct buf payload = BUF_INIT(2 * AGENT_PACKET_MAX);
    struct outbox_message message = { .subject = client->own.subject,
                                      .id = client->own.id,
                                      .about = client->own.id };

    client->has_failed = own_event_encode(&client->own, &payload, &client->err) < 0;
    if (client->has_failed)
        return;
    message.payload = buf_view(&payload);
    client->has_failed = outbox_keep(client->event_socket->outbox, &message, true,
                                     &client->outbox_number, &client->err) < 0;
}

/* It may leave now. The client waits for the stream only when there is a connection to it. */
static void on_event_kept(struct background_task *background_task)
{
    struct socket_client *client =
        container_of(background_task, struct socket_client, background_task);
    struct event_socket *event_socket = client->event_socket;
    const uint64_t number = client->outbox_number;

    client->is_keeping = false;
    if (client->has_failed) {
        log_error("cannot store local event error=%s", client->err.text);
        if (!client->is_gone)
            send_refusal(client->fd, client->err.text);
        forget_client(client);
        return;
    }
    if (client->is_gone)
        forget_client(client);
    else if (!event_socket->options.is_connected(event_socket->options.self))
        answer_client(client, LOCAL_EVENT_BUFFERED);
    else
        timer_set(loop_timers(event_socket->options.loop), &client->timer,
                  clock_after(clock_now(), LOCAL_EVENT_STORE_NS), on_client_late);
    outbox_send(event_socket->outbox, number);
}

/* --- questions about states ------------------------------------------------------- */

static void find_client_standing(struct background_task *background_task)
{
    struct socket_client *client =
        container_of(background_task, struct socket_client, background_task);

    standing_reply(&client->arena, client->event_socket->options.data_dir, &client->names,
                   &client->reply);
}

static void on_standing(struct background_task *background_task)
{
    struct socket_client *client =
        container_of(background_task, struct socket_client, background_task);
    AUTO_BUF struct buf packet = BUF_INIT(AGENT_PACKET_MAX);
    struct err err;

    client->is_keeping = false;
    if (!client->is_gone && record_encode(&packet, &standing_reply_type, &client->reply, &err) == 0)
        (void)send(client->fd, packet.p, packet.n, MSG_NOSIGNAL | MSG_DONTWAIT);
    forget_client(client);
}

/* --- packets ---------------------------------------------------------------------- */

/* Was it raised by something that a job of ours has started? */
static bool is_our_child(pid_t pid)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct descendants_pids pids = { 0 };

    descendants_list(getpid(), &arena, &pids);
    VEC_EACH (&pids.list, one)
        if (*one == pid)
            return true;
    return false;
}

static int32_t find_client_depth(const struct socket_client *client)
{
    const struct event_socket_options *options = &client->event_socket->options;
    const int32_t depth = options->depth(options->self);

    return depth > 0 && is_our_child(client->peer.pid) ? depth : 0;
}

static int check_event_room(struct event_socket *event_socket, struct err *err)
{
    if (rate_take(&event_socket->rate, SOURCE, clock_now()) > 0)
        return err_set(err, ERR_LIMIT, "too many events: the limit is %d a minute, %d at once",
                       EVENT_SOCKET_PER_MINUTE, EVENT_SOCKET_BURST);
    if (outbox_count(event_socket->outbox) >= EVENT_SOCKET_WAITING)
        return err_set(err, ERR_LIMIT, "more than %d events wait for a connection to the bus",
                       EVENT_SOCKET_WAITING);
    return 0;
}

static int take_client_event(struct socket_client *client, const struct value *packet,
                             struct err *err)
{
    const struct event_socket_options *options = &client->event_socket->options;
    struct local_event event = { 0 };
    struct snapshot *settings;
    const char *why;
    int result;

    if (record_read(&client->arena, &local_event_type, 0, packet, &event, err) < 0 ||
        check_event_room(client->event_socket, err) < 0)
        return -1;
    settings = options->settings(options->self, &why);
    result =
        own_event_make(&client->arena,
                       &(struct own_event_wish){ .peel = options->peel_id,
                                                 .kind = SUBJECT_EVENT_SEND,
                                                 .tag = event.tag,
                                                 .data = value_copy(&client->arena, &event.data),
                                                 .settings = settings ? &settings->value : NULL,
                                                 .depth = find_client_depth(client) },
                       &client->own, err);
    snapshot_drop(settings);
    return result;
}

static void on_hangup(struct watch *watch, uint32_t events)
{
    (void)events; /* no more input is expected: its event is processed without it */
    forget_client(container_of(watch, struct socket_client, watch));
}

static void begin_client_work(struct socket_client *client, background_task_fn *work,
                              background_task_fn *done)
{
    struct err err;

    watch_stop(&client->watch);
    timer_clear(loop_timers(client->event_socket->options.loop), &client->timer);
    if (watch_start(&client->watch, client->event_socket->options.loop, client->fd, WATCH_READ,
                    on_hangup, &err) < 0) {
        refuse_event_client(client, err.text);
        return;
    }
    client->is_keeping = true;
    background_task_begin(&client->event_socket->background_tasks, &client->background_task, work,
                          done);
}

/* An event, or a question about states. */
static int take_packet(struct socket_client *client, struct str bytes, struct err *err)
{
    struct standing_question question;
    struct value packet;

    if (msgpack_decode(&client->arena, bytes, &packet, err) < 0)
        return -1;
    if (!standing_is_question(&packet)) {
        if (take_client_event(client, &packet, err) < 0)
            return -1;
        begin_client_work(client, keep_client_event, on_event_kept);
        return 0;
    }
    if (record_read(&client->arena, &standing_question_type, 0, &packet, &question, err) < 0)
        return -1;
    client->names = question.names;
    begin_client_work(client, find_client_standing, on_standing);
    return 0;
}

static void on_packet(struct watch *watch, uint32_t events)
{
    struct socket_client *client = container_of(watch, struct socket_client, watch);
    AUTO_BUF struct buf packet = BUF_INIT(2 * AGENT_PACKET_MAX);
    char *room = buf_reserve(&packet, AGENT_PACKET_MAX);
    const ssize_t n = recv(client->fd, room, AGENT_PACKET_MAX, MSG_DONTWAIT | MSG_TRUNC);
    struct err err;

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        forget_client(client);
        return;
    }
    if ((size_t)n > AGENT_PACKET_MAX)
        (void)err_set(&err, ERR_LIMIT, "an event exceeds the limit of %zu bytes", AGENT_PACKET_MAX);
    else if (take_packet(client, arena_str(&client->arena, (struct str){ room, (size_t)n }),
                         &err) == 0)
        return;
    refuse_event_client(client, err.text);
}

static void on_silence(struct timer *timer)
{
    refuse_event_client(container_of(timer, struct socket_client, timer),
                        "no event was sent in time");
}

/* --- clients ---------------------------------------------------------------------- */

static const char *find_client_refusal(const struct event_socket *event_socket,
                                       const struct unixsock_peer *peer)
{
    if (peer->uid != 0 && peer->uid != geteuid())
        return "permission denied: only root and the user of the agent may raise events";
    return event_socket->count >= EVENT_SOCKET_CLIENTS ? "the agent is busy with others: try again"
                                                       : NULL;
}

static void add_client(struct event_socket *event_socket, int fd, const struct unixsock_peer *peer)
{
    struct socket_client *client = mem_zalloc(sizeof(*client));
    struct err err;

    client->event_socket = event_socket;
    client->fd = fd;
    client->peer = *peer;
    client->next = event_socket->clients;
    client->back = &event_socket->clients;
    if (client->next)
        client->next->back = &client->next;
    event_socket->clients = client;
    event_socket->count++;
    if (watch_start(&client->watch, event_socket->options.loop, fd, WATCH_READ, on_packet, &err) <
        0) {
        refuse_event_client(client, err.text);
        return;
    }
    timer_set(loop_timers(event_socket->options.loop), &client->timer,
              clock_after(clock_now(), LOCAL_EVENT_SILENCE_NS), on_silence);
}

static void on_client_readable(struct watch *watch, uint32_t events)
{
    struct event_socket *event_socket = container_of(watch, struct event_socket, watch);
    AUTO_FD int fd = accept4(event_socket->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct unixsock_peer peer;
    const char *refusal;
    struct err err;

    (void)events;
    if (fd < 0 || unixsock_peer(fd, &peer, &err) < 0)
        return; /* it has left again */
    refusal = find_client_refusal(event_socket, &peer);
    if (refusal) {
        log_warning("local event refused uid=%d pid=%d error=%s", (int)peer.uid, (int)peer.pid,
                    refusal);
        send_refusal(fd, refusal);
        return;
    }
    add_client(event_socket, fd_take(&fd), &peer);
}

/* --- life ------------------------------------------------------------------------- */

static int open_event_outbox(struct event_socket *event_socket, struct err *err)
{
    const struct outbox_listener listener = { on_socket_event_stored, on_event_dropped,
                                              event_socket };
    size_t damaged;

    event_socket->outbox =
        outbox_open(path_join(&event_socket->arena, event_socket->options.data_dir, OUTBOX_FOLDER),
                    &listener, &damaged, err);
    if (!event_socket->outbox)
        return -1;
    if (damaged > 0)
        log_warning("set aside damaged events count=%zu", damaged);
    return 0;
}

/* Without a socket the agent does everything else. */
static void open_event_socket(struct event_socket *event_socket)
{
    struct err err;

    event_socket->socket = agent_socket(&event_socket->arena, event_socket->options.data_dir);
    if (unixsock_listen(&event_socket->socket, SOCKET_MODE, &event_socket->fd, &err) < 0 ||
        watch_start(&event_socket->watch, event_socket->options.loop, event_socket->fd, WATCH_READ,
                    on_client_readable, &err) < 0)
        log_warning("programs of this machine cannot raise events error=%s", err.text);
}

struct event_socket *event_socket_new(const struct event_socket_options *options, struct err *err)
{
    struct event_socket *event_socket = mem_zalloc(sizeof(*event_socket));

    event_socket->options = *options;
    event_socket->fd = -1;
    rate_init(&event_socket->rate, EVENT_SOCKET_BURST, EVENT_SOCKET_PER_MINUTE);
    if (open_event_outbox(event_socket, err) < 0 ||
        background_tasks_open_workers(&event_socket->background_tasks, options->loop, WORKERS,
                                      err) < 0) {
        event_socket_free(event_socket);
        return NULL;
    }
    open_event_socket(event_socket);
    return event_socket;
}

void event_socket_free(struct event_socket *event_socket)
{
    struct socket_client *next;
    struct err ignored;

    if (!event_socket)
        return;
    watch_stop(&event_socket->watch);
    background_tasks_close(
        &event_socket->background_tasks); /* what is being written is on disk then */
    for (struct socket_client *client = event_socket->clients; client; client = next) {
        next = client->next;
        if (client->outbox_number > 0)
            answer_client(client, LOCAL_EVENT_BUFFERED);
        else
            refuse_event_client(client, "the agent is shutting down");
    }
    if (event_socket->fd >= 0)
        (void)fs_unlink(event_socket->socket.path, &ignored); /* the next one replaces it */
    fd_close(&event_socket->fd);
    outbox_free(event_socket->outbox);
    rate_done(&event_socket->rate);
    arena_done(&event_socket->arena);
    free(event_socket);
}

void event_socket_connect(struct event_socket *event_socket, const struct nats_js *js)
{
    outbox_connect(event_socket->outbox, js);
}

size_t event_socket_waiting(const struct event_socket *event_socket)
{
    return outbox_count(event_socket->outbox);
}
