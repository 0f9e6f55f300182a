/* Filters with random results; the same seed gives the same result. */
#include "language/jinja/filters/filter.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/digest.h"
#include "core/base/err.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"

/* Bytes of a random text. */
#define RANDOM_STR_MAX 65536

/* Random numbers, with or without a seed. */
struct chance {
    struct render *render;
    bool seeded;
    uint64_t state;
};

/* A seed of any kind counts by what it prints. */
static int start_chance(struct render *render, const struct bound_args *bound,
                        const struct value *seed, struct chance *ret)
{
    char hex[DIGEST_HEX_MAX];
    struct str text;
    struct err err;

    *ret = (struct chance){ .render = render, .seeded = !argument_is_none(seed) };
    if (!ret->seeded && !render->options->random)
        return render_fail(render, RENDER_TYPE, "'%s' is not available here", bound->name);
    if (!ret->seeded)
        return 0;
    if (op_text(render, seed, &text) < 0)
        return -1;
    if (digest_hex(digest_find(STR("sha256")), text, NULL, hex, &err) < 0)
        return render_fail(render, RENDER_HOST, "%s", err.text);
    for (size_t i = 0; i < 16; i++)
        ret->state = ret->state << 4 | (uint64_t)(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
    return 0;
}

/* splitmix64: every state is followed by another one. */
static uint64_t next_number(struct chance *chance)
{
    uint64_t z;

    if (!chance->seeded)
        return chance->render->options->random(chance->render->options->user);
    z = chance->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The first `count` of a random order. */
static int shuffle_items(struct render *render, const struct bound_args *bound,
                         const struct value *seed, int64_t count, struct value *ret)
{
    const struct value_list *list;
    struct value_list *made;
    struct chance chance;

    if (op_list(render, &bound->args[0], &list) < 0 ||
        start_chance(render, bound, seed, &chance) < 0)
        return -1;
    if (count < 0)
        count = (int64_t)list->count;
    if ((size_t)count > list->count)
        return render_fail(render, RENDER_TYPE, "%s: the list has %zu items, not %lld", bound->name,
                           list->count, (long long)count);
    made = container_new_list(render, list->count);
    for (size_t i = 0; i < list->count; i++)
        value_list_push(render->arena, made, list->items[i]);
    for (size_t i = 0; i < (size_t)count; i++) {
        const size_t other = i + (size_t)(next_number(&chance) % (made->count - i));
        const struct value item = made->items[i];

        made->items[i] = made->items[other];
        made->items[other] = item;
    }
    made->count = (size_t)count;
    *ret = value_list(made);
    return 0;
}

static int filter_random_shuffle(struct render *render, const struct bound_args *bound,
                                 struct value *ret)
{
    return shuffle_items(render, bound, &bound->args[1], -1, ret);
}

static int filter_random_sample(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    int64_t size;

    if (argument_int(render, &bound->args[1], &size) < 0)
        return -1;
    return shuffle_items(render, bound, &bound->args[2], size < 0 ? INT64_MAX : size, ret);
}

/* The hash of a number from 1 to the value. */
static int filter_random_hash(struct render *render, const struct bound_args *bound,
                              struct value *ret)
{
    const struct value none = value_null();
    const struct digest *digest;
    char hex[DIGEST_HEX_MAX];
    struct chance chance;
    struct str form;
    const char *text;
    struct err err;
    int64_t size;

    if (argument_int(render, &bound->args[0], &size) < 0 ||
        argument_text(render, &bound->args[1], &form) < 0 ||
        start_chance(render, bound, &none, &chance) < 0)
        return -1;
    digest = digest_find(form);
    if (!digest || size < 1)
        return render_fail(render, RENDER_TYPE,
                           digest ? "%s expects a number above zero" : "%s: unknown hash",
                           bound->name);
    text = arena_printf(render->arena, "%llu",
                        (unsigned long long)(next_number(&chance) % (uint64_t)size + 1));
    if (digest_hex(digest, str_from(text), NULL, hex, &err) < 0)
        return render_fail(render, RENDER_HOST, "%s", err.text);
    *ret = value_text(arena_strdup(render->arena, hex));
    return 0;
}

/* Three random bytes after the beginning of a hardware address: '52:54:00'. */
static int filter_gen_mac(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value none = value_null();
    struct chance chance;
    struct str prefix;
    uint64_t number;

    if (argument_text(render, &bound->args[0], &prefix) < 0 ||
        start_chance(render, bound, &none, &chance) < 0)
        return -1;
    number = next_number(&chance);
    *ret = value_text(arena_printf(render->arena, "%.*s:%02X:%02X:%02X", STR_ARG(prefix),
                                   (unsigned)(number & 0xff), (unsigned)(number >> 8 & 0xff),
                                   (unsigned)(number >> 16 & 0xff)));
    return 0;
}

/* This many characters of base64. */
static int filter_random_str(struct render *render, const struct bound_args *bound,
                             struct value *ret)
{
    const struct value none = value_null();
    AUTO_BUF struct buf bytes = BUF_INIT(RANDOM_STR_MAX), text = BUF_INIT(RANDOM_STR_MAX * 2);
    struct chance chance;
    int64_t size;

    if (argument_int(render, &bound->args[0], &size) < 0 ||
        start_chance(render, bound, &none, &chance) < 0)
        return -1;
    if (size < 0 || size > RANDOM_STR_MAX - (int64_t)sizeof(uint64_t))
        return render_fail(render, RENDER_TYPE, "random_str expects a length of at most %d",
                           RANDOM_STR_MAX - (int)sizeof(uint64_t));
    while (bytes.n < (size_t)size) {
        const uint64_t number = next_number(&chance);

        buf_add(&bytes, &number, sizeof(number));
    }
    base64_encode(str_bytes(bytes.p, bytes.n), BASE64_STANDARD, &text);
    *ret = value_text(arena_strndup(render->arena, buf_text(&text), (size_t)size));
    return 0;
}

/* clang-format off */
const struct function filter_chance_functions[] = {
    { "gen_mac",        "value='AC:DE:48'", filter_gen_mac, "a random hardware address with this prefix" },
    { "rand_str",       "value, hash_type='md5'", filter_random_hash, "the hash of a random number from 1 to this one" },
    { "random_hash",    "value, hash_type='sha256'", filter_random_hash, "the hash of a random number from 1 to this one" },
    { "random_str",     "value=32", filter_random_str, "a random text of this length" },
    { "random_sample",  "value, size, seed=none", filter_random_sample, "this many random items" },
    { "random_shuffle", "value, seed=none", filter_random_shuffle, "the items in random order" },
    { 0 },
};
/* clang-format on */
