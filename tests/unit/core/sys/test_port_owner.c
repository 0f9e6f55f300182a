#include "test.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/sys/fd.h"
#include "core/sys/port_owner.h"

static struct arena arena = ARENA_INIT;

TEST(the_socket_that_listens_on_a_port_is_found_in_the_table_of_the_kernel)
{
    static const char table[] = "  sl  local_address rem_address   st tx_queue rx_queue tr "
                                "tm->when retrnsmt   uid  timeout "
                                "inode\n"
                                "   0: 0100007F:107E 0100007F:C001 01 00000000:00000000 "
                                "00:00000000 00000000   103        0 "
                                "77 1 0\n"
                                "   1: 00000000:107E 00000000:0000 0A 00000000:00000000 "
                                "00:00000000 00000000   103        0 "
                                "4711 1 0\n";

    CHECK_INT((int64_t)port_owner_socket(str_from(table), 4222), 4711);
    CHECK_INT((int64_t)port_owner_socket(str_from(table), 49153), 0);
    CHECK_INT((int64_t)port_owner_socket(STR("nonsense\n:\n"), 4222), 0);
}

TEST(the_unit_of_a_process_is_its_innermost_service)
{
    CHECK(str_is(port_owner_unit(STR("0::/system.slice/nats-server.service\n")),
                 "nats-server.service"));
    CHECK(str_is(port_owner_unit(STR("1:name=systemd:/user.slice/user@1000.service/app.slice/"
                                     "a.service\n0::/\n")),
                 "a.service"));
    CHECK(!port_owner_unit(STR("0::/user.slice/user-0.slice/session-1.scope\n")).p);
}

TEST(a_port_of_this_process_is_ours)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(at);
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct port_owner owner;

    CHECK_INT(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    CHECK_INT(listen(fd, 1), 0);
    CHECK_INT(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    CHECK(port_owner_find(&arena, ntohs(at.sin_port), &owner));
    CHECK_INT(owner.pid, getpid());
    CHECK(owner.name[0] != '\0');
}
