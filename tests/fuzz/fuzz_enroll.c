/* Any bytes are the body of an enrollment, its stored records or the header of a claim, or an
 * answer that says what is wrong; nothing is admitted without a signature. */
#include <assert.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "fleet/enroll/admission.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str rest = str_bytes(data, size);
    struct str first = str_cut(&rest, '\0'), second = rest.p ? rest : STR("");
    const struct admission_policy policy = { 0 };
    const struct admission_moment moment = { .now = 1, .remote_addr = "::1", .sponsor = "" };
    const struct admission_entry entry = { 1, second };
    const struct admission_stored stored = { entry, entry, entry };
    const struct admission_claim claim = { "enr-1", first, entry, entry };
    struct admission_request request;
    struct admission_answer answer;

    admission_nonce(&arena, first, second, &moment, &answer);
    if (admission_read(&arena, first, &request, &answer)) {
        admission_submit(&arena, &request, &stored, &policy, &moment, &answer);
        assert(answer.status == ADMISSION_UNSIGNED);
    }
    admission_status(&arena, &entry, &answer);
    admission_creds(&arena, &claim, &policy, &moment, &answer);
    assert(answer.status >= ADMISSION_MALFORMED);
    return 0;
}
