/*
 * server - a real nats-server for a test, on a free port of loopback, in a fresh folder.
 *
 *     struct server server = server_new("");        with more lines for its configuration
 *     server_start(&server);                        returns when it accepts clients
 *     server_stop(&server, SIGKILL);                the folder stays: start it again
 *
 * NATS_SERVER=PATH in the environment chooses another binary. The server dies with the test.
 */
#ifndef TESTS_UNIT_FLEET_NATS_SERVER_H
#define TESTS_UNIT_FLEET_NATS_SERVER_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "wait.h"

struct server {
    pid_t pid; /* 0: not running */
    int port;
    char folder[256], config[300], url[64];
};

/* A port that nobody listens on now. */
static inline int server_free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(bind(fd, (struct sockaddr *)&address, size) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    (void)close(fd);
    return ntohs(address.sin_port);
}

/* `more` is added to the configuration as it is. */
static inline void server_configure(struct server *server, const char *more)
{
    FILE *file = fopen(server->config, "we");

    CHECK(file != NULL);
    (void)fprintf(file,
                  "host: 127.0.0.1\nport: %d\nlame_duck_duration: \"30s\"\nlame_duck_grace_period: "
                  "\"1s\"\njetstream { store_dir: \"%s/js\" }\n%s\n",
                  server->port, server->folder, more);
    (void)fclose(file);
}

/* A server that has so much for JetStream: "100MB". */
static inline void server_set_store(struct server *server, const char *size)
{
    FILE *file = fopen(server->config, "we");

    CHECK(file != NULL);
    (void)fprintf(
        file, "host: 127.0.0.1\nport: %d\njetstream { store_dir: \"%s/js\", max_file_store: %s }\n",
        server->port, server->folder, size);
    (void)fclose(file);
}

static inline struct server server_new(const char *more)
{
    static int count;
    struct server server = { .port = server_free_port() };

    (void)snprintf(server.folder, sizeof(server.folder), "%s/server%d", test_folder(), ++count);
    CHECK(mkdir(server.folder, 0700) == 0);
    (void)snprintf(server.config, sizeof(server.config), "%s/config", server.folder);
    (void)snprintf(server.url, sizeof(server.url), "nats://127.0.0.1:%d", server.port);
    server_configure(&server, more);
    return server;
}

static inline bool server_accepts(const struct server *server)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)server->port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool accepts = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;

    (void)close(fd);
    return accepts;
}

static inline void server_launch(struct server *server)
{
    const char *binary = getenv("NATS_SERVER");
    pid_t parent = getpid();
    char log[300];

    (void)snprintf(log, sizeof(log), "%s/log", server->folder);
    server->pid = fork();
    CHECK(server->pid >= 0);
    if (server->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        (void)execlp(binary ? binary : "nats-server", "nats-server", "-c", server->config, "-l",
                     log, (char *)NULL);
        (void)execl("/usr/sbin/nats-server", "nats-server", "-c", server->config, "-l", log,
                    (char *)NULL);
        _exit(127);
    }
}

static inline void server_start(struct server *server)
{
    server_launch(server);
    WAIT_FOR(server_accepts(server) || waitpid(server->pid, NULL, WNOHANG) > 0);
    if (kill(server->pid, 0) < 0) {
        char command[400];

        (void)snprintf(command, sizeof(command), "cat %s/log", server->folder);
        CHECK_STR(system(command) == 0 ? "its log is above" : "no log", "the server ended");
    }
}

static inline void server_stop(struct server *server, int signo)
{
    if (server->pid <= 0)
        return;
    (void)kill(server->pid, signo);
    (void)waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

#endif
