/* Whatever a machine puts into its heartbeat, and whatever a terminal sends: a frame of top holds
 * nothing that steers a terminal and fits into it, and a page no markup but its own. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "core/data/html.h"
#include "commands/cli/shared/keys.h"
#include "commands/cli/fleet/top/frame.h"
#include "commands/cli/fleet/top/model.h"
#include "commands/cli/fleet/top/view.h"
#include "fleet/nats/kv.h"

#define NOW     INT64_C(1794818460000000000)
#define COLUMNS 80
#define ROWS    12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_frame(const struct top_model *model, struct top_view *view)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str rest;
    size_t lines = 0;

    top_frame_print(model, view, NOW, &out);
    rest = str_slice(buf_view(&out), 0, out.n - 1);
    for (; rest.p; lines++) {
        struct str line = str_cut(&rest, '\n');

        assert(utf8_count(line) <= COLUMNS);
        while (line.n > 0) {
            assert(!utf8_is_control(str_slice(line, 0, utf8_length_at(line))));
            line = str_from_offset(line, utf8_length_at(line));
        }
    }
    assert(lines == ROWS);
}

static void check_heartbeat(struct str bytes)
{
    struct top_model *model = top_model_new();
    struct top_view view = { .base = { .rows = ROWS, .columns = COLUMNS } };

    top_model_take_facts(model, &(struct nats_kv_entry){ .key = STR("web-01"), .value = bytes });
    top_model_take_beat(
        model, &(struct nats_kv_entry){ .key = STR("web-01"), .value = bytes, .time = NOW });
    check_frame(model, &view);
    top_model_free(model);
}

static void check_keys(struct str bytes)
{
    struct top_model *model = top_model_new();
    struct top_view view = { .base = { .rows = ROWS, .columns = COLUMNS } };
    size_t left = bytes.n;
    int key;

    while ((key = key_next(&bytes)) != KEY_NONE) {
        assert(bytes.n < left);
        left = bytes.n;
        top_view_press(&view, key);
    }
    check_frame(model, &view);
    top_model_free(model);
}

static void check_html(struct str bytes)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    html_add(&out, bytes);
    assert(utf8_is_valid(buf_view(&out)));
    assert(!memchr(buf_text(&out), '<', out.n) && !memchr(buf_text(&out), '"', out.n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_heartbeat(str_bytes(data, size));
    check_keys(str_bytes(data, size));
    check_html(str_bytes(data, size));
    return 0;
}
