#include "core/http/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/http/address.h"
#include "core/http/core.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"

/* Limit of GnuTLS, which the library uses. */
#define TLS_PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.3"

/* --- an engine on the loop ---------------------------------------------------------- */

static void on_engine_timer(struct timer *timer);

/* Never longer than the library asks to sleep. */
static void set_engine_timer(struct http_engine *engine)
{
    struct timers *timers = loop_timers(engine->server->options.loop);
    MHD_UNSIGNED_LONG_LONG ms;

    if (MHD_get_timeout(engine->daemon, &ms) == MHD_YES)
        timer_set(timers, &engine->timer, clock_after(clock_now(), (int64_t)ms * CLOCK_MS),
                  on_engine_timer);
    else
        timer_clear(timers, &engine->timer);
}

static void free_http_engine(struct http_engine *engine)
{
    watch_stop(&engine->watch);
    timer_clear(loop_timers(engine->server->options.loop), &engine->timer);
    if (engine->daemon)
        MHD_stop_daemon(engine->daemon);
    free(engine);
}

static bool is_engine_idle(const struct http_engine *engine)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(engine->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

    return info && info->num_connections == 0;
}

/* An older engine ends with its last connection. */
static bool end_engine(struct http_engine *engine)
{
    struct http_engine **place = &engine->server->engines;

    if (engine == *place || !is_engine_idle(engine))
        return false;
    while (*place != engine)
        place = &(*place)->next;
    *place = engine->next;
    free_http_engine(engine);
    return true;
}

static void run_engine(struct http_engine *engine)
{
    (void)MHD_run(engine->daemon);
    if (!end_engine(engine))
        set_engine_timer(engine);
}

static void on_engine_timer(struct timer *timer)
{
    run_engine(container_of(timer, struct http_engine, timer));
}

static void on_engine_ready(struct watch *watch, uint32_t events)
{
    (void)events;
    run_engine(container_of(watch, struct http_engine, watch));
}

void http_engine_wake(struct http_engine *engine)
{
    timer_set(loop_timers(engine->server->options.loop), &engine->timer, clock_now(),
              on_engine_timer);
}

/* --- connections -------------------------------------------------------------------- */

/* The library sees the end of the connection and closes it. */
static void on_line_deadline(struct timer *timer)
{
    struct http_line *line = container_of(timer, struct http_line, deadline);

    (void)shutdown(line->fd, SHUT_RDWR);
}

static void set_line_deadline(struct http_line *line, int64_t ns)
{
    struct timers *timers = loop_timers(line->server->options.loop);

    if (ns > 0)
        timer_set(timers, &line->deadline, clock_after(clock_now(), ns), on_line_deadline);
    else
        timer_clear(timers, &line->deadline);
}

void http_line_expect(struct MHD_Connection *connection, int64_t ns)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    if (info && info->socket_context)
        set_line_deadline(info->socket_context, ns);
}

static void on_connection(void *self, struct MHD_Connection *connection, void **slot,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_engine *engine = self;
    struct http_line *line = *slot;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

        line = mem_zalloc(sizeof(*line));
        line->server = engine->server;
        line->fd = info->connect_fd;
        *slot = line;
        set_line_deadline(line, engine->server->options.request_timeout);
    } else if (line) {
        set_line_deadline(line, 0);
        free(line);
        *slot = NULL;
    }
}

/* --- life --------------------------------------------------------------------------- */

static void on_problem(void *self, const char *format, va_list args) PRINTF_LIKE(2, 0);

static void on_problem(void *self, const char *format, va_list args)
{
    struct http_engine *engine = self;

    (void)vsnprintf(engine->problem, sizeof(engine->problem), format, args);
    engine->problem[strcspn(engine->problem, "\n")] = '\0';
}

static struct MHD_Daemon *start_http_daemon(struct http_engine *engine, int fd,
                                            const char *cert_pem, const char *key_pem)
{
    const struct http_options *options = &engine->server->options;
    const struct MHD_OptionItem tls[] = {
        { MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)cert_pem },
        { MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key_pem },
        { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES },
        { MHD_OPTION_END, 0, NULL },
    };
    const unsigned flags = MHD_USE_ERROR_LOG | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME |
                           (cert_pem ? MHD_USE_TLS : MHD_NO_FLAG);

    return MHD_start_daemon(
        flags, 0, NULL, NULL, http_on_request, engine, MHD_OPTION_EXTERNAL_LOGGER, on_problem,
        engine, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, options->connections_max,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_HEAD_MAX * 2, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)(options->idle_timeout / CLOCK_SECOND) + 1, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_NOTIFY_COMPLETED, http_on_completed, engine, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, engine, MHD_OPTION_ARRAY, cert_pem ? tls : &tls[ARRAY_LEN(tls) - 1],
        MHD_OPTION_END);
}

static int watch_engine(struct http_engine *engine, struct err *err)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(engine->daemon, MHD_DAEMON_INFO_EPOLL_FD);

    if (!info)
        return err_set(err, ERR_UNSUPPORTED, "the HTTP library lacks epoll");
    return watch_start(&engine->watch, engine->server->options.loop, info->epoll_fd, WATCH_READ,
                       on_engine_ready, err);
}

/* It accepts on its own copy of the socket's descriptor, which it closes at its end. */
static struct http_engine *new_engine(struct http_server *server, const char *cert_pem,
                                      const char *key_pem, struct err *err)
{
    struct http_engine *engine = mem_zalloc(sizeof(*engine));
    int fd = fcntl(server->fd, F_DUPFD_CLOEXEC, 0);

    engine->server = server;
    if (fd < 0) {
        err_sys(err, errno, "dup");
    } else {
        engine->daemon = start_http_daemon(engine, fd, cert_pem, key_pem);
        if (engine->daemon && watch_engine(engine, err) == 0) {
            set_engine_timer(engine);
            return engine;
        }
        if (!engine->daemon) {
            fd_close(&fd);
            err_set(err, ERR_INVALID, "%s",
                    engine->problem[0] ? engine->problem : "the HTTP library refused to start");
        }
    }
    free_http_engine(engine);
    return NULL;
}

static void set_defaults(struct http_options *options)
{
    if (options->body_max == 0)
        options->body_max = HTTP_BODY_MAX;
    if (options->connections_max == 0)
        options->connections_max = HTTP_CONNECTIONS_MAX;
    if (options->request_timeout == 0)
        options->request_timeout = HTTP_REQUEST_TIMEOUT_NS;
    if (options->idle_timeout == 0)
        options->idle_timeout = HTTP_IDLE_TIMEOUT_NS;
}

struct http_server *http_server_new(const struct http_options *options, struct err *err)
{
    struct http_server *server = mem_zalloc(sizeof(*server));

    server->options = *options;
    set_defaults(&server->options);
    server->options.cert_pem = options->cert_pem ? "" : NULL; /* only whether there is one */
    server->options.key_pem = NULL;
    server->fd = address_listen(options->address, &server->port, err);
    if (server->fd >= 0)
        server->engines = new_engine(server, options->cert_pem, options->key_pem, err);
    if (!server->engines) {
        http_server_free(server);
        return NULL;
    }
    return server;
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    http_exchanges_abandon(server);
    http_streams_abandon(server);
    while (server->engines) {
        struct http_engine *engine = server->engines;

        server->engines = engine->next;
        free_http_engine(engine);
    }
    fd_close(&server->fd);
    free(server);
}

uint16_t http_server_port(const struct http_server *server)
{
    return server->port;
}

int http_server_set_certificate(struct http_server *server, const char *cert_pem,
                                const char *key_pem, struct err *err)
{
    struct http_engine *old = server->engines, *engine;
    int fd;

    engine = new_engine(server, cert_pem, key_pem, err);
    if (!engine)
        return err_wrap(err, "certificate");
    engine->next = old;
    server->engines = engine;
    fd = MHD_quiesce_daemon(old->daemon);
    fd_close(&fd);
    http_engine_wake(old);
    return 0;
}
