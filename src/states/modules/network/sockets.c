#include "states/modules/network/sockets.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define FILE_MAX ((size_t)64 << 20)
#define WORD_HEX 8 /* digits of a word of an address */

static struct str next_socket_word(struct str *line)
{
    *line = str_trim(*line);
    return str_cut(line, ' ');
}

static int64_t read_socket_number(struct state_run *run, struct str text, int base)
{
    return (int64_t)strtoull(arena_str(run->arena, text).p, NULL, base);
}

/* "0100007F:0016": words in the order of the machine; IPv6 has four. */
static bool read_socket_address(struct state_run *run, struct str text, struct sockets_end *ret)
{
    const struct str hex = str_cut(&text, ':');
    uint32_t words[sizeof(struct in6_addr) / sizeof(uint32_t)] = { 0 };

    if (!text.p || (hex.n != WORD_HEX && hex.n != WORD_HEX * ARRAY_LEN(words)))
        return false;
    for (size_t i = 0; i < hex.n / WORD_HEX; i++)
        words[i] = (uint32_t)read_socket_number(run, str_slice(hex, i * WORD_HEX, WORD_HEX), 16);
    ret->port = read_socket_number(run, text, 16);
    return inet_ntop(hex.n == WORD_HEX ? AF_INET : AF_INET6, words, ret->address,
                     sizeof(ret->address)) != NULL;
}

/* sl local remote state sending:receiving timer:when retransmits uid timeout inode ... */
static bool read_socket_row(struct state_run *run, struct str line, struct sockets_row *ret)
{
    enum { SL, LOCAL, REMOTE, STATE, QUEUES, TIMER, RETRANSMITS, UID, TIMEOUT, INODE, WORDS };
    struct str words[WORDS];

    for (size_t i = 0; i < WORDS; i++) {
        words[i] = line.n > 0 ? next_socket_word(&line) : STR("");
        if (words[i].n == 0)
            return false;
    }
    ret->state = read_socket_number(run, words[STATE], 16);
    ret->sending = read_socket_number(run, str_cut(&words[QUEUES], ':'), 16);
    ret->receiving = words[QUEUES].p ? read_socket_number(run, words[QUEUES], 16) : 0;
    ret->uid = read_socket_number(run, words[UID], 10);
    ret->inode = read_socket_number(run, words[INODE], 10);
    return read_socket_address(run, words[LOCAL], &ret->local) &&
           read_socket_address(run, words[REMOTE], &ret->remote);
}

int sockets_read(struct state_run *run, const char *protocol, struct sockets *ret, struct err *err)
{
    struct str text;

    *ret = (struct sockets){ .list = VEC_INIT };
    if (fs_read(run->arena, arena_printf(run->arena, "/proc/net/%s", protocol), FILE_MAX, &text,
                err) < 0)
        return -1;
    (void)str_cut(&text, '\n'); /* the head */
    while (text.n > 0) {
        struct sockets_row row;

        if (read_socket_row(run, str_cut(&text, '\n'), &row))
            VEC_PUSH_IN(run->arena, &ret->list, row);
    }
    return 0;
}
