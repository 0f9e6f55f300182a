/* network.arp - the hardware addresses of neighbours. */
#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define FILE_MAX ((size_t)16 << 20)
#define UNKNOWN  "00:00:00:00:00:00"

/* Address, type, flags, hardware address, mask, device. As in Salt: { hardware address: address }.
 */
static int arp_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    enum { ADDRESS, TYPE, FLAGS, HARDWARE, WORDS };
    struct str text;

    (void)args;
    if (fs_read(run->arena, "/proc/net/arp", FILE_MAX, &text, err) < 0)
        return -1;
    *ret = value_map(value_map_new(run->arena, 8));
    (void)str_cut(&text, '\n'); /* the head */
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n'), words[WORDS];

        for (size_t i = 0; i < WORDS; i++) {
            line = line.n > 0 ? str_trim(line) : STR("");
            words[i] = str_cut(&line, ' ');
        }
        if (words[HARDWARE].n > 0 && !str_is(words[HARDWARE], UNKNOWN))
            value_map_set(run->arena, ret->map, value_str(arena_str(run->arena, words[HARDWARE])),
                          value_str(arena_str(run->arena, words[ADDRESS])));
    }
    return 0;
}

const struct module module_network_arp = {
    .name = "network.arp",
    .summary = "the hardware addresses of neighbours",
    .params = params_none,
    .call = arp_call,
};
