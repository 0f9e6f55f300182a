#include "states/run/run_id.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"

/* Ids sort by time, also those of one second: the payload begins with the fraction. */
static void make_payload(struct ksuid *ksuid, int64_t now)
{
    const uint64_t head = (uint64_t)(now % CLOCK_SECOND) << 32 | (chance_number() & UINT32_MAX);
    const uint64_t tail = chance_number();

    for (int i = 0; i < 8; i++) {
        ksuid->payload[i] = (unsigned char)(head >> (56 - 8 * i));
        ksuid->payload[i + 8] = (unsigned char)(tail >> (56 - 8 * i));
    }
}

static void hash_job(const char *job, unsigned char payload[static KSUID_PAYLOAD])
{
    unsigned char digest[SHA256_SIZE];

    sha256(job, strlen(job), digest);
    memcpy(payload, digest, KSUID_PAYLOAD);
}

void run_id_make(const char *job, char text[static KSUID_SIZE])
{
    const int64_t now = clock_wall();
    struct ksuid ksuid;
    struct err ignored;

    if (job && ksuid_parse(str_from(job), &ksuid, &ignored) == 0) {
        ksuid_print(&ksuid, text);
        return;
    }
    ksuid.seconds = now / CLOCK_SECOND;
    if (job && job[0])
        hash_job(job, ksuid.payload);
    else
        make_payload(&ksuid, now);
    ksuid_print(&ksuid, text);
}

bool run_id_is_of(const char *run_id, const char *job)
{
    unsigned char payload[KSUID_PAYLOAD];
    struct ksuid ksuid;
    struct err ignored;

    if (strcmp(run_id, job) == 0)
        return true;
    hash_job(job, payload);
    return ksuid_parse(str_from(run_id), &ksuid, &ignored) == 0 &&
           memcmp(ksuid.payload, payload, sizeof(payload)) == 0;
}
