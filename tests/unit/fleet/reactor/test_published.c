#include "fleet/reactor/published.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "fleet/reactor/rule_set.h"
#include "test.h"
#include "fleet/wire/fileset.h"

static const char top[] = "reactor: [{'*': [reactor.a]}]";
static const char reaction[] = "x: {log: a}";

/* A manifest of these keys, each with the hash of this text. */
static void put_manifest(struct published *published, const char *const (*files)[2], size_t count)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct fileset_manifest manifest = { 0 };
    struct err err;

    for (size_t i = 0; i < count; i++) {
        char *hash = arena_alloc(&arena, SHA256_HEX_SIZE);

        sha256_hex(files[i][1], strlen(files[i][1]), hash);
        VEC_PUSH_IN(&arena, &manifest.files.list,
                    (struct fileset_file){ .key = files[i][0], .sha256 = hash });
    }
    CHECK(record_encode(&out, &fileset_manifest_type, &manifest, &err) == 0);
    published_put(published, STR(FILESET_MANIFEST), buf_view(&out));
}

/* The first mistake, or how many rules there are. */
static const char *load(struct arena *arena, const struct published *published)
{
    struct diags diags = DIAGS_INIT(arena), lints = DIAGS_INIT(arena);
    struct rule_set *set = published_load(published, &diags, &lints);
    const char *text;
    struct err err;

    if (!set) {
        (void)diags_to_err(&diags, &err);
        return arena_strdup(arena, err.text);
    }
    text = arena_printf(arena, "%zu rules", set->rules.n);
    rule_set_drop(set);
    return text;
}

static const char *const both[][2] = { { "reactor/a.zy", reaction }, { "reactor/top.zy", top } };

static const char *const with_notes[][2] = { { "reactor/README", "not even there" },
                                             { "reactor/a.zy", reaction },
                                             { "reactor/top.zy", top } };

TEST(a_whole_set_is_loaded_and_nothing_is_no_rules)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct published published = { 0 };

    CHECK_STR(load(&arena, &published), "0 rules");
    published_put(&published, STR("reactor/top.zy"), STR("x"));
    published_put(&published, STR("reactor/top.zy"), str_from(top));
    published_put(&published, STR("reactor/a.zy"), str_from(reaction));
    CHECK_STR(load(&arena, &published), "_manifest: files without a manifest");
    put_manifest(&published, both, ARRAY_LEN(both));
    CHECK_STR(load(&arena, &published), "1 rules");
    published_put(&published, STR("reactor/old.zy"), STR("left behind")); /* not in the manifest */
    put_manifest(&published, with_notes, ARRAY_LEN(with_notes));          /* and what is no rule */
    CHECK_STR(load(&arena, &published), "1 rules");
    published_done(&published);
}

TEST(a_torn_or_changed_set_is_refused)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct published published = { 0 };

    published_put(&published, STR("reactor/top.zy"), str_from(top));
    put_manifest(&published, both, ARRAY_LEN(both));
    CHECK_STR(load(&arena, &published), "reactor/a.zy: listed in the manifest, and missing");
    published_put(&published, STR("reactor/a.zy"), STR("x: {log: b}"));
    CHECK_STR(load(&arena, &published), "reactor/a.zy: hash differs from the manifest");
    published_put(&published, STR("reactor/a.zy"), str_from(reaction));
    CHECK_STR(load(&arena, &published), "1 rules");
    published_put(&published, STR("reactor/a.zy"), (struct str){ NULL, 0 });
    CHECK_STR(load(&arena, &published), "reactor/a.zy: listed in the manifest, and missing");
    published_put(&published, STR(FILESET_MANIFEST), STR("\xc1"));
    CHECK_HAS(load(&arena, &published), "_manifest: ");
    published_done(&published);
}

TEST(a_manifest_may_be_a_bare_list)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct published published = { 0 };
    char hash[SHA256_HEX_SIZE];

    sha256_hex("reactor: []", 11, hash);
    buf_add_text(&out, "\x91\x82\xa3key\xaereactor/top.zy\xa6sha256\xd9\x40");
    buf_add_text(&out, hash);
    published_put(&published, STR("reactor/top.zy"), STR("reactor: []"));
    published_put(&published, STR(FILESET_MANIFEST), buf_view(&out));
    CHECK_STR(load(&arena, &published), "0 rules");
    published_done(&published);
}

TEST(the_bucket_has_a_limit)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct published published = { 0 };
    char *large = mem_zalloc(PUBLISHED_BYTES_MAX);

    published_put(&published, STR("reactor/top.zy"), (struct str){ large, PUBLISHED_BYTES_MAX });
    free(large);
    CHECK_HAS(load(&arena, &published), "more than 67108864 bytes");
    CHECK_INT(published.bytes, 0);
    published_done(&published);
}
