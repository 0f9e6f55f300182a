/* Sockets in the file system. */
#include "core/sys/unixsock.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "test.h"

static struct unixsock make_sock(struct arena *arena)
{
    return (struct unixsock){ .path = arena_printf(arena, "%s/a.sock", test_folder()),
                              .type = SOCK_SEQPACKET };
}

TEST(client_and_server_connect_and_know_each_other)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct unixsock sock = make_sock(&arena);
    AUTO_FD int listener = -1, client = -1;
    struct unixsock_peer peer = { 0 };
    struct stat st;
    struct err err;

    CHECK(unixsock_listen(&sock, 0600, &listener, &err) == 0);
    CHECK(stat(sock.path, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(unixsock_connect(&sock, &client, &err) == 0);
    CHECK(unixsock_peer(client, &peer, &err) == 0);
    CHECK(peer.uid == geteuid() && peer.pid == getpid());
}

TEST(a_dead_socket_is_replaced_and_refuses_connections)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct unixsock sock = make_sock(&arena);
    AUTO_FD int fd = -1;
    struct err err;

    CHECK(unixsock_listen(&sock, 0600, &fd, &err) == 0);
    fd_close(&fd);
    CHECK(unixsock_connect(&sock, &fd, &err) < 0);
    CHECK(err.code == ERR_NOT_FOUND);
    CHECK(unixsock_listen(&sock, 0600, &fd, &err) == 0);
}

TEST(a_file_at_its_place_is_not_replaced)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct unixsock sock = make_sock(&arena);
    const struct fs_replace_options options = { .attr = { 0600, FS_KEEP, FS_KEEP } };
    AUTO_FD int fd = -1;
    struct err err;

    CHECK(fs_replace(sock.path, STR("mine"), &options, &err) == 0);
    CHECK(unixsock_listen(&sock, 0600, &fd, &err) < 0);
    CHECK(strstr(err.text, "not a socket") != NULL);
}

TEST(a_path_that_is_too_long_names_the_limit_and_the_advice)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct unixsock sock = make_sock(&arena);
    AUTO_FD int fd = -1;
    struct err err;

    sock.path = arena_printf(&arena, "/%0200d", 1);
    sock.advice = "try another";
    CHECK(unixsock_connect(&sock, &fd, &err) < 0);
    CHECK(strstr(err.text, "exceeds the limit of 107 bytes: try another") != NULL);
}
