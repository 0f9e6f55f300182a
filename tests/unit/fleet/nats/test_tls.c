#include "fleet/nats/tls.h"

#include <netinet/tcp.h>
#include <openssl/ssl.h>

#include "pki.h"
#include "scene.h"
#include "server.h"

struct fortress {
    struct pki ours, theirs;
    struct server server;
    struct scene scene;
};

/* A server with a certificate for these names. */
static void fortress_begin(struct fortress *fortress, const char *names, long seconds, bool verify)
{
    char config[1024], cert[PKI_PATH_SIZE], key[PKI_PATH_SIZE], ca[PKI_PATH_SIZE];

    fortress->ours = pki_new("ours");
    fortress->theirs = pki_new("theirs");
    pki_issue(&fortress->ours, "server", names, seconds);
    pki_issue(&fortress->ours, "client", "DNS:client", 3600);
    (void)snprintf(config, sizeof(config),
                   "tls { cert_file: \"%s\", key_file: \"%s\", ca_file: \"%s\", verify: %s }",
                   pki_path(&fortress->ours, "server.pem", cert),
                   pki_path(&fortress->ours, "server.key", key),
                   pki_path(&fortress->ours, "ca.pem", ca), verify ? "true" : "false");
    fortress->server = server_new(config);
    server_start(&fortress->server);
    scene_begin(&fortress->scene);
}

static void fortress_end(struct fortress *fortress)
{
    scene_end(&fortress->scene);
    server_stop(&fortress->server, SIGTERM);
    pki_done(&fortress->ours);
    pki_done(&fortress->theirs);
}

static void try_connect(struct fortress *fortress, struct watched *conn, struct nats_tls *tls,
                        const char *host)
{
    char url[64];
    const char *urls[] = { url };

    (void)snprintf(url, sizeof(url), "tls://%s:%d", host, fortress->server.port);
    watched_start(&fortress->scene, conn,
                  &(struct nats_options){
                      .servers = urls, .server_count = 1, .tls = tls, .attempts_max = 1 });
    SCENE_RUN(&fortress->scene,
              conn->counts[NATS_EVENT_CONNECTED] + conn->counts[NATS_EVENT_CLOSED] > 0);
}

static struct nats_tls *trust_file(struct fortress *fortress, const struct pki *pki)
{
    char room[PKI_PATH_SIZE];
    struct nats_tls *tls =
        nats_tls_new(&(struct nats_tls_options){ .ca_file = pki_path(pki, "ca.pem", room) },
                     &fortress->scene.err);

    CHECK(tls != NULL);
    return tls;
}

TEST(messages_go_through_tls_large_ones_too)
{
    enum { SIZE = 700000, COUNT = 20 };
    struct fortress fortress;
    struct nats_tls *tls;
    struct watched conn;
    struct inbox inbox;
    char *large = mem_alloc(SIZE);

    memset(large, 'y', SIZE);
    fortress_begin(&fortress, "DNS:localhost,IP:127.0.0.1", 3600, false);
    tls = trust_file(&fortress, &fortress.ours);
    try_connect(&fortress, &conn, tls, "127.0.0.1");
    CHECK_STR(conn.error, "");
    (void)inbox_open(conn.conn, &inbox, "x", NULL);
    for (int i = 0; i < COUNT; i++) {
        SCENE_RUN(&fortress.scene, !nats_conn_is_busy(conn.conn));
        CHECK_INT(
            nats_publish(conn.conn,
                         &(struct nats_pub){ .subject = STR("x"), .payload = { large, SIZE } },
                         &fortress.scene.err),
            0);
    }
    SCENE_RUN(&fortress.scene, inbox.count == COUNT);
    CHECK_INT(inbox.text.n, COUNT * (SIZE + sizeof("x= ") - 1));
    nats_conn_free(conn.conn);
    buf_done(&inbox.text);
    free(large);
    fortress_end(&fortress);
    nats_tls_free(tls);
}

/* A write of what a turn sent; a sign of life that the server asks for is smaller. */
#define LARGE 1000
static size_t large_writes;

ssize_t send(int fd, const void *buf, size_t n, int flags)
{
    large_writes += n >= LARGE;
    return sendto(fd, buf, n, flags, NULL, 0);
}

static void publish_many(struct nats_conn *conn, size_t count)
{
    static const char payload[100];
    struct err err;

    for (size_t i = 0; i < count; i++)
        CHECK_INT(nats_publish(conn,
                               &(struct nats_pub){ .subject = STR("turn"),
                                                   .payload = { payload, sizeof(payload) } },
                               &err),
                  0);
}

static void on_heard(void *self, const struct nats_msg *msg)
{
    (void)msg;
    ++*(size_t *)self;
}

TEST(what_is_sent_in_one_turn_leaves_in_one_write)
{
    enum { MESSAGES = 100 };
    struct fortress fortress;
    struct watched conn;
    struct nats_tls *tls;
    size_t heard = 0;

    fortress_begin(&fortress, "IP:127.0.0.1", 3600, false);
    tls = trust_file(&fortress, &fortress.ours);
    try_connect(&fortress, &conn, tls, "127.0.0.1");
    CHECK(nats_sub_new(
        conn.conn,
        &(struct nats_sub_options){ .subject = "turn", .message = on_heard, .self = &heard },
        &fortress.scene.err));
    scene_turn(&fortress.scene);
    large_writes = 0;
    publish_many(conn.conn, MESSAGES);
    CHECK_INT(large_writes, 0); /* the turn has not ended */
    SCENE_RUN(&fortress.scene, heard == MESSAGES);
    CHECK_INT(large_writes, 1);
    nats_conn_free(conn.conn);
    nats_tls_free(tls);
    fortress_end(&fortress);
}

TEST(a_host_name_is_verified_as_well_as_an_address)
{
    struct fortress fortress;
    struct nats_tls *tls;
    struct watched conn;

    fortress_begin(&fortress, "DNS:localhost", 3600, false);
    tls = trust_file(&fortress, &fortress.ours);
    try_connect(&fortress, &conn, tls, "localhost");
    CHECK_INT(conn.counts[NATS_EVENT_CONNECTED], 1);
    nats_conn_free(conn.conn);
    try_connect(&fortress, &conn, tls, "127.0.0.1");
    CHECK_INT(conn.counts[NATS_EVENT_CONNECTED], 0);
    CHECK_HAS(conn.error, "TLS handshake: certificate: IP address mismatch");
    CHECK_INT(conn.fault, NATS_FAULT_NETWORK);
    nats_conn_free(conn.conn);
    fortress_end(&fortress);
    nats_tls_free(tls);
}

static const struct {
    const char *names;
    long seconds;
    bool foreign;
    const char *error;
} mistakes[] = {
    { "DNS:other.example,IP:127.0.0.1", 3600, false, "certificate: hostname mismatch" },
    { "DNS:localhost", -3600, false, "certificate: certificate has expired" },
    { "DNS:localhost", 3600, true, "certificate: " },
};

TEST(a_certificate_that_is_not_right_is_refused_with_the_reason)
{
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        struct fortress fortress;
        struct nats_tls *tls;
        struct watched conn;

        fortress_begin(&fortress, mistakes[i].names, mistakes[i].seconds, false);
        tls = trust_file(&fortress, mistakes[i].foreign ? &fortress.theirs : &fortress.ours);
        try_connect(&fortress, &conn, tls, "localhost");
        CHECK_INT(conn.counts[NATS_EVENT_CONNECTED], 0);
        CHECK_HAS(conn.error, mistakes[i].error);
        nats_conn_free(conn.conn);
        fortress_end(&fortress);
        nats_tls_free(tls);
    }
}

TEST(a_client_certificate_lets_in_and_its_absence_is_reported)
{
    char ca[PKI_PATH_SIZE], cert[PKI_PATH_SIZE], key[PKI_PATH_SIZE];
    struct fortress fortress;
    struct nats_tls *without, *with;
    struct watched conn;

    fortress_begin(&fortress, "DNS:localhost", 3600, true);
    without = trust_file(&fortress, &fortress.ours);
    with = nats_tls_new(
        &(struct nats_tls_options){ .ca_file = pki_path(&fortress.ours, "ca.pem", ca),
                                    .cert_file = pki_path(&fortress.ours, "client.pem", cert),
                                    .key_file = pki_path(&fortress.ours, "client.key", key) },
        &fortress.scene.err);
    CHECK(with != NULL);
    try_connect(&fortress, &conn, with, "localhost");
    CHECK_INT(conn.counts[NATS_EVENT_CONNECTED], 1);
    nats_conn_free(conn.conn);
    try_connect(&fortress, &conn, without, "localhost");
    CHECK_INT(conn.counts[NATS_EVENT_CONNECTED], 0);
    CHECK_HAS(conn.error, "TLS: ");
    CHECK_HAS(conn.error, "certificate");
    nats_conn_free(conn.conn);
    fortress_end(&fortress);
    nats_tls_free(with);
    nats_tls_free(without);
}

static struct str read_all(const char *path, struct buf *out)
{
    FILE *file = fopen(path, "re");
    char room[1000];
    size_t n;

    CHECK(file != NULL);
    while ((n = fread(room, 1, sizeof(room), file)) > 0)
        buf_add(out, room, n);
    (void)fclose(file);
    return buf_view(out);
}

TEST(authority_certificate_and_key_may_be_in_memory)
{
    AUTO_BUF struct buf ca = BUF_INIT(BUF_NO_LIMIT), cert = BUF_INIT(BUF_NO_LIMIT),
                        key = BUF_INIT(BUF_NO_LIMIT);
    char room[PKI_PATH_SIZE];
    struct fortress fortress;
    struct nats_tls *tls;
    struct watched conn;

    fortress_begin(&fortress, "DNS:localhost", 3600, true);
    tls = nats_tls_new(
        &(struct nats_tls_options){
            .ca_pem = read_all(pki_path(&fortress.ours, "ca.pem", room), &ca),
            .cert_pem = read_all(pki_path(&fortress.ours, "client.pem", room), &cert),
            .key_pem = read_all(pki_path(&fortress.ours, "client.key", room), &key) },
        &fortress.scene.err);
    CHECK(tls != NULL);
    try_connect(&fortress, &conn, tls, "localhost");
    CHECK_INT(conn.counts[NATS_EVENT_CONNECTED], 1);
    nats_conn_free(conn.conn);
    fortress_end(&fortress);
    nats_tls_free(tls);
}

TEST(files_that_are_wrong_are_named)
{
    struct err err;

    CHECK(!nats_tls_new(&(struct nats_tls_options){ .ca_file = "/no/such/ca" }, &err));
    CHECK_HAS(err.text, "CA file '/no/such/ca': ");
    CHECK(!nats_tls_new(&(struct nats_tls_options){ .ca_pem = STR("garbage") }, &err));
    CHECK_STR(err.text, "no certificate in PEM form in it");
    CHECK(!nats_tls_new(&(struct nats_tls_options){ .cert_file = "/no/cert" }, &err));
    CHECK_HAS(err.text, "certificate '/no/cert': ");
    CHECK(!nats_tls_new(&(struct nats_tls_options){ .key_pem = STR("garbage") }, &err));
}

TEST(a_server_without_tls_is_refused_when_tls_is_asked_for)
{
    struct fortress fortress;
    struct nats_tls *tls;
    struct server plain = server_new("");
    struct watched conn;
    const char *url = plain.url;

    server_start(&plain);
    fortress_begin(&fortress, "DNS:localhost", 3600, false);
    tls = trust_file(&fortress, &fortress.ours);
    watched_start(&fortress.scene, &conn,
                  &(struct nats_options){
                      .servers = &url, .server_count = 1, .tls = tls, .attempts_max = 1 });
    SCENE_RUN(&fortress.scene, conn.counts[NATS_EVENT_CLOSED] == 1);
    CHECK_HAS(conn.error, "the server does not offer TLS");
    nats_conn_free(conn.conn);
    url = fortress.server.url;
    watched_start(&fortress.scene, &conn,
                  &(struct nats_options){
                      .servers = &url, .server_count = 1, .plain = true, .attempts_max = 1 });
    SCENE_RUN(&fortress.scene, conn.counts[NATS_EVENT_CLOSED] == 1);
    CHECK_HAS(conn.error, "the server requires TLS");
    nats_conn_free(conn.conn);
    fortress_end(&fortress);
    nats_tls_free(tls);
    server_stop(&plain, SIGTERM);
}

/* --- last words --------------------------------------------------------------------- */

static void await_login(SSL *ssl)
{
    char heard[4096] = "";
    size_t n = 0;

    while (!strstr(heard, "PING\r\n")) {
        int got = SSL_read(ssl, heard + n, (int)(sizeof(heard) - 1 - n));

        if (got <= 0)
            _exit(1);
        n += (size_t)got;
        heard[n] = '\0';
    }
}

/* Lets nobody in, and says so in the same packet in which it ends the connection. */
static void refuse_login(int fd, const struct pki *pki)
{
    static const char info[] = "INFO {\"tls_required\":true,\"max_payload\":1024}\r\n";
    static const char words[] = "-ERR 'Authorization Violation'\r\n";
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    char cert[PKI_PATH_SIZE], key[PKI_PATH_SIZE];
    SSL *ssl = SSL_new(context);
    const int on = 1;

    if (SSL_use_certificate_file(ssl, pki_path(pki, "server.pem", cert), SSL_FILETYPE_PEM) != 1 ||
        SSL_use_PrivateKey_file(ssl, pki_path(pki, "server.key", key), SSL_FILETYPE_PEM) != 1 ||
        send(fd, info, strlen(info), MSG_NOSIGNAL) < 0 || SSL_set_fd(ssl, fd) != 1 ||
        SSL_accept(ssl) != 1)
        _exit(1);
    await_login(ssl);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
    (void)SSL_write(ssl, words, (int)strlen(words));
    (void)SSL_shutdown(ssl);
    SSL_free(ssl);
    SSL_CTX_free(context);
    _exit(0);
}

TEST(the_last_words_of_a_server_are_heard_although_it_hangs_up_in_the_same_packet)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct fortress fortress = { .ours = pki_new("ours") };
    struct nats_tls *tls;
    struct watched conn;

    pki_issue(&fortress.ours, "server", "DNS:localhost", 3600);
    CHECK(bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, 1) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    if (fork() == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        refuse_login(accept(fd, NULL, NULL), &fortress.ours);
    }
    (void)close(fd);
    fortress.server.port = ntohs(address.sin_port);
    scene_begin(&fortress.scene);
    tls = trust_file(&fortress, &fortress.ours);
    try_connect(&fortress, &conn, tls, "localhost");
    CHECK_HAS(conn.error, "Authorization Violation");
    CHECK_INT(conn.fault, NATS_FAULT_AUTH);
    nats_conn_free(conn.conn);
    scene_end(&fortress.scene);
    nats_tls_free(tls);
    pki_done(&fortress.ours);
}
