/* Any roster is read or refused with a place; any bytes of a machine are messages within their
 * limits, or an error. Input: which of them, then the bytes. */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/ssh/channel.h"
#include "fleet/ssh/message.h"
#include "fleet/ssh/reason.h"
#include "fleet/ssh/roster.h"
#include "fleet/ssh/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_roster(struct arena *arena, struct str text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(arena);
    struct ssh_machines machines, found;
    struct err err;

    if (ssh_roster_parse(arena, "roster", text, &machines, &diags) < 0) {
        assert(diags_count(&diags) > 0);
        diags_print(&diags, &out);
        return;
    }
    assert(ssh_roster_find(arena, &machines, "*", NULL, &found, &err) == 0);
    assert(found.list.n == machines.list.n);
    VEC_EACH (&machines.list, machine) {
        const char *const *argv = ssh_script_argv(
            arena, machine, "ssh", &(struct ssh_script){ .nonce = "n", .sha256 = "0" });

        assert(machine->host[0] != '-' && (!machine->user || machine->user[0] != '-'));
        for (size_t i = 0; argv[i]; i++)
            assert(!strchr(argv[i], '\n'));
    }
}

static void read_messages(struct arena *arena, struct str bytes)
{
    struct ssh_request request;
    struct ssh_hello hello;
    struct err err;

    (void)record_decode(arena, &ssh_hello_type, 1, bytes, &hello, &err);
    if (record_decode(arena, &ssh_request_type, 1, bytes, &request, &err) == 0 &&
        ssh_request_check(&request, &err) == 0)
        VEC_EACH (&request.files.list, file)
            assert(file->path[0] != '/' && strlen(file->sha256) == 64);
    (void)ssh_want_check(bytes, bytes.n, &err);
}

static void read_channel(struct arena *arena, struct str bytes)
{
    const struct ssh_machine machine = { .host = "h" };
    struct ssh_channel channel;
    struct str line, rest, payload;
    struct err err;
    int ends[2];

    if (bytes.n > 60000 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return;
    assert(write(ends[1], bytes.p, bytes.n) == (ssize_t)bytes.n);
    (void)close(ends[1]);
    ssh_channel_init(&channel, ends[0], -1, -1);
    if (ssh_channel_line(&channel, SSH_SCRIPT_LINE_MAX, arena, &line, &err) == 0)
        (void)ssh_script_read(line, "n", &rest);
    if (ssh_channel_take(&channel, SSH_HELLO, 4096, arena, &payload, &err) == 0)
        assert(payload.n <= 4096);
    (void)ssh_reason_find(arena, &machine, bytes, "nothing");
    ssh_channel_done(&channel);
    (void)close(ends[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(struct arena *, struct str) = { read_roster, read_messages,
                                                                   read_channel };
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (size > 0)
        readers[data[0] % ARRAY_LEN(readers)](&arena, str_bytes(data + 1, size - 1));
    return 0;
}
