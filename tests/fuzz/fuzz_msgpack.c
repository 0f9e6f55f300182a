/* Any bytes are MessagePack or an error; what is read is written in a form that no longer changes.
 */
#include <assert.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/msgpack.h"
#include "core/data/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf first = BUF_INIT(BUF_NO_LIMIT);
    AUTO_BUF struct buf second = BUF_INIT(BUF_NO_LIMIT);
    struct value v, back;
    struct err err;
    int result;

    if (msgpack_decode(&arena, (struct str){ (const char *)data, size }, &v, &err) < 0)
        return 0;
    result = msgpack_encode(&first, &v, &err);
    assert(result == 0);
    assert(first.n <= 2 * size); /* only a float of 4 bytes grows, to 8 */
    result = msgpack_decode(&arena, buf_view(&first), &back, &err);
    assert(result == 0);
    result = msgpack_encode(&second, &back, &err);
    assert(result == 0);
    assert(str_eq(buf_view(&first), buf_view(&second)));
    return 0;
}
