#include "states/modules/network/probe.h"

#include <string.h>

#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/clock.h"
#include "core/sys/process.h"
#include "core/sys/program.h"

#define PROBE_TIMEOUT (120 * CLOCK_SECOND)
#define HOST_LETTERS  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:%-"

int probe_run(struct state_run *run, const char *const *words, const char *host,
              struct process_result *ret, struct err *err)
{
    VEC(const char *) argv = VEC_INIT;
    struct process_spec spec = { 0 };

    if (host[0] == '-' || host[0] == '\0' || host[strspn(host, HOST_LETTERS)] != '\0')
        return err_set(err, ERR_INVALID, "'%s' is not a host name or an address", host);
    if (!program_find(run->arena, words[0]))
        return err_set(err, ERR_NOT_FOUND, "program '%s' is not installed", words[0]);
    for (; *words; words++)
        VEC_PUSH_IN(run->arena, &argv, *words);
    VEC_PUSH_IN(run->arena, &argv, host);
    VEC_PUSH_IN(run->arena, &argv, NULL);
    spec.argv = argv.p;
    return state_command(run, &spec, PROBE_TIMEOUT, ret, err);
}
