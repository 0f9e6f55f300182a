#include "scene.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

#include "core/base/sha256.h"
#include "states/run/source.h"
#include "core/sys/fd.h"
#include "core/sys/fetch.h"

/* --- a server that gives one answer a connection ------------------------------------------ */

struct server {
    int fd;
    int port;
    const char *answer;
    int answers;
    pthread_t thread;
};

static void *serve(void *arg)
{
    struct server *server = arg;

    for (int i = 0; i < server->answers; i++) {
        AUTO_FD int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);
        char request[4096];
        struct err err;

        CHECK(fd >= 0);
        CHECK(read(fd, request, sizeof(request)) > 0);
        (void)fd_write(fd, server->answer, strlen(server->answer), &err);
        (void)shutdown(fd, SHUT_WR);
        (void)!read(fd, request, sizeof(request));
    }
    return NULL;
}

static void server_start(struct server *server, const char *answer, int answers)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);

    *server = (struct server){ .answer = answer, .answers = answers };
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(server->fd >= 0);
    CHECK_INT(bind(server->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    CHECK_INT(listen(server->fd, 8), 0);
    CHECK_INT(getsockname(server->fd, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
    CHECK_INT(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_stop(struct server *server)
{
    CHECK_INT(pthread_join(server->thread, NULL), 0);
    fd_close(&server->fd);
}

#define OK_ANSWER "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"

static int read_source(struct scene *scene, const char *source, const char *hash, struct str *bytes,
                       struct err *err)
{
    const struct source_trust trust = { .hash = hash };

    return source_read(&scene->arena, &scene->host, source, &trust, bytes, err);
}

/* --- tests ---------------------------------------------------------------------------------- */

TEST(a_download_is_cached_under_its_hash)
{
    char hex[SHA256_HEX_SIZE];
    struct server server;
    struct scene scene;
    struct str bytes;
    struct err err = { 0 };
    const char *url, *hash;

    scene_init(&scene);
    server_start(&server, OK_ANSWER, 1); /* a second request would not be answered */
    url = arena_printf(&scene.arena, "http://127.0.0.1:%d/x", server.port);
    sha256_hex("hello", 5, hex);
    hash = arena_printf(&scene.arena, "sha256=%s", hex);
    if (read_source(&scene, url, hash, &bytes, &err) < 0)
        CHECK_STR(err.text, "");
    CHECK_STR(bytes.p, "hello");
    server_stop(&server);
    CHECK_INT(read_source(&scene, url, hash, &bytes, &err), 0);
    CHECK_STR(bytes.p, "hello");
    scene_done(&scene);
}

TEST(a_wrong_hash_is_refused_and_a_missing_one_explained)
{
    char hex[SHA256_HEX_SIZE];
    struct server server;
    struct scene scene;
    struct str bytes;
    struct err err = { 0 };

    scene_init(&scene);
    CHECK_INT(read_source(&scene, "https://x.example/f", NULL, &bytes, &err), -1);
    CHECK_HAS(err.text, "add source_hash: sha256=<digits>");
    CHECK_INT(read_source(&scene, "https://x.example/f", "md5=12", &bytes, &err), -1);
    CHECK_HAS(err.text, "must be sha256=<64 digits>");
    server_start(&server, OK_ANSWER, 1);
    sha256_hex("other", 5, hex);
    CHECK_INT(read_source(&scene, arena_printf(&scene.arena, "http://127.0.0.1:%d/x", server.port),
                          hex, &bytes, &err),
              -1);
    CHECK_HAS(err.text, "expected ");
    server_stop(&server);
    scene_done(&scene);
}

TEST(server_errors_and_oversized_replies_are_reported)
{
    const struct fetch_options options = { .size_max = 3, .timeout = INT64_C(5000000000) };
    struct server server;
    struct scene scene;
    struct str bytes;
    struct err err = { 0 };

    scene_init(&scene);
    server_start(&server, "HTTP/1.0 404 Not Found\r\n\r\n", 1);
    CHECK_INT(fetch(&scene.arena, arena_printf(&scene.arena, "http://127.0.0.1:%d/", server.port),
                    &options, &bytes, &err),
              -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_HAS(err.text, "HTTP status 404");
    server_stop(&server);
    server_start(&server, "HTTP/1.0 200 OK\r\n\r\nhello", 1);
    CHECK_INT(fetch(&scene.arena, arena_printf(&scene.arena, "http://127.0.0.1:%d/", server.port),
                    &options, &bytes, &err),
              -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_HAS(err.text, "more than the limit of 3 bytes");
    server_stop(&server);
    CHECK_INT(fetch(&scene.arena, "file:///etc/passwd", &options, &bytes, &err), -1);
    scene_done(&scene);
}

TEST(local_files_and_tree_files_are_read)
{
    struct tree *tree = tree_new_in_memory();
    struct value_list *list;
    struct scene scene;
    struct str bytes;
    struct err err = { 0 };

    scene_init(&scene);
    tree_add(tree, "web/x.conf", STR("tree"));
    scene.host.tree = tree;
    scene_write(&scene, "local", "machine");
    CHECK_INT(read_source(&scene, "salt://web/x.conf", NULL, &bytes, &err), 0);
    CHECK(str_is(bytes, "tree"));
    CHECK_INT(read_source(&scene, scene_path(&scene, "local"), NULL, &bytes, &err), 0);
    CHECK(str_is(bytes, "machine"));
    CHECK_INT(read_source(&scene, "salt://web/y", NULL, &bytes, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_INT(source_list(&scene.arena, &scene.host, scene.root, &list, &err), 0);
    CHECK_INT(list->count, 1);
    CHECK_STR(list->items[0].s.p, "local");
    CHECK_INT(source_list(&scene.arena, &scene.host, "salt://web", &list, &err), 0);
    CHECK_STR(list->items[0].s.p, "x.conf");
    scene_done(&scene);
    tree_free(tree);
}

TEST(with_skip_verify_a_source_is_fetched_each_time)
{
    const struct source_trust trust = { .skip_verify = true };
    struct server server;
    struct scene scene;
    struct str bytes;
    struct err err = { 0 };
    const char *url;

    scene_init(&scene);
    server_start(&server, OK_ANSWER, 2); /* nothing is kept: it is asked twice */
    url = arena_printf(&scene.arena, "http://127.0.0.1:%d/x", server.port);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(source_read(&scene.arena, &scene.host, url, &trust, &bytes, &err), 0);
        CHECK_INT(bytes.n, 5);
    }
    server_stop(&server);
    scene_done(&scene);
}

/* The md5 and the sha1 of "hello", and a sha256 of something else. */
#define MD5_HELLO  "5d41402abc4b2a76b9719d911017c592"
#define SHA1_HELLO "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"

TEST(a_hash_is_found_in_a_checksum_file_by_source_name)
{
    static const struct {
        const char *checksums, *problem;
    } cases[] = {
        { MD5_HELLO "  x\n", "" },
        { MD5_HELLO " *dist/x\n", "" },
        { "# sums\nMD5 (x) = " MD5_HELLO "\n", "" },
        { MD5_HELLO "\n", "" },
        { "sha1=" SHA1_HELLO "\n", "" },
        { MD5_HELLO "  y\n" SHA1_HELLO "  x\r\n", "" },
        { MD5_HELLO "  y\n", "no hash of 'x'" },
        { MD5_HELLO "\n" MD5_HELLO "\n", "no hash of 'x' among its 2 entries" },
        { MD5_HELLO "  x\n" SHA1_HELLO "0  x\n", "" },
        { MD5_HELLO "  x\n0000000000000000000000000000000000000000  x\n", "has sha1" },
        { "", "no hash of 'x'" },
    };
    struct scene scene;
    struct str bytes;

    scene_init(&scene);
    scene_write(&scene, "x", "hello");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };

        scene_write(&scene, "sums", cases[i].checksums);
        if (read_source(&scene, scene_path(&scene, "x"), scene_path(&scene, "sums"), &bytes, &err) <
            0)
            CHECK(cases[i].problem[0] != '\0');
        CHECK_HAS(err.text, cases[i].problem);
    }
    scene_done(&scene);
}
