#include "fleet/reactor/published.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "core/data/msgpack.h"
#include "fleet/reactor/rule_set.h"
#include "fleet/wire/fileset.h"

#define KEY_PREFIX RULE_SET_NAMESPACE "/"

struct published_entry {
    size_t key_n, value_n;
    char bytes[]; /* key, value */
};

static struct str view_entry_value(const struct published_entry *entry)
{
    return (struct str){ entry->bytes + entry->key_n, entry->value_n };
}

static void remove_published_entry(struct published *published, struct str key)
{
    struct published_entry *entry = map_remove(&published->entries, key);

    if (entry)
        published->bytes -= entry->key_n + entry->value_n;
    free(entry);
}

void published_done(struct published *published)
{
    MAP_EACH (&published->entries, entry)
        free(entry->value);
    map_done(&published->entries);
    *published = (struct published){ 0 };
}

void published_put(struct published *published, struct str key, struct str value)
{
    struct published_entry *entry;

    remove_published_entry(published, key);
    if (!value.p)
        return;
    if (key.n + value.n > PUBLISHED_BYTES_MAX - published->bytes) {
        published->is_full = true;
        return;
    }
    entry = mem_alloc(sizeof(*entry) + key.n + value.n);
    entry->key_n = key.n;
    entry->value_n = value.n;
    memcpy(entry->bytes, key.p, key.n);
    memcpy(entry->bytes + key.n, value.p, value.n);
    (void)map_set(&published->entries, (struct str){ entry->bytes, key.n }, entry);
    published->bytes += key.n + value.n;
}

struct str published_find(const struct published *published, const char *key)
{
    const struct published_entry *entry = map_find(&published->entries, str_from(key));

    return entry ? view_entry_value(entry) : (struct str){ NULL, 0 };
}

/* --- loading ------------------------------------------------------------------------- */

struct files {
    VEC(struct rule_file) list;
};

static struct place find_published_place(const char *file)
{
    return (struct place){ .file = file };
}

/* The map of the fleet, or the bare list. */
static int parse_fileset_manifest(struct arena *arena, struct str bytes,
                                  struct fileset_manifest *ret, struct diags *diags)
{
    struct value v, wrapped;
    struct err err;

    if (msgpack_decode_front(arena, bytes, &v, &err) < 0)
        return diag_add(diags, find_published_place(FILESET_MANIFEST), "%s", err.text);
    if (v.kind == VALUE_LIST) {
        wrapped = value_map(value_map_new(arena, 1));
        value_map_set(arena, wrapped.map, value_text("files"), v);
        v = wrapped;
    }
    if (record_read(arena, &fileset_manifest_type, 0, &v, ret, &err) < 0)
        return diag_add(diags, find_published_place(FILESET_MANIFEST), "%s", err.text);
    return 0;
}

static void add_published_file(const struct published *published, struct arena *arena,
                               const struct fileset_file *listed, struct files *files,
                               struct diags *diags)
{
    const struct str key = str_from(listed->key);
    const struct published_entry *entry = map_find(&published->entries, key);
    char hash[SHA256_HEX_SIZE];

    if (!str_starts(key, STR(KEY_PREFIX)) || !str_ends(key, STR(RULE_SET_SUFFIX)))
        return; /* notes, pictures: no ref can name it */
    if (!entry) {
        diag_add(diags, find_published_place(listed->key), "listed in the manifest, and missing");
        return;
    }
    sha256_hex(view_entry_value(entry).p, entry->value_n, hash);
    if (strcmp(hash, listed->sha256) != 0) {
        diag_add(diags, find_published_place(listed->key), "hash differs from the manifest");
        return;
    }
    VEC_PUSH_IN(arena, &files->list,
                (struct rule_file){ .path = listed->key + strlen(KEY_PREFIX),
                                    .name = listed->key,
                                    .text = view_entry_value(entry) });
}

static bool has_published_files(const struct published *published)
{
    MAP_EACH (&published->entries, entry)
        if (str_starts(entry->key, STR(KEY_PREFIX)))
            return true;
    return false;
}

struct rule_set *published_load(const struct published *published, struct diags *diags,
                                struct diags *lints)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct published_entry *manifest = map_find(&published->entries, STR(FILESET_MANIFEST));
    const size_t before = diags_count(diags);
    struct fileset_manifest listed = { 0 };
    struct files files = { VEC_INIT };

    if (published->is_full)
        diag_add(diags, (struct place){ 0 }, "the bucket holds more than %zu bytes",
                 PUBLISHED_BYTES_MAX);
    if (!manifest && has_published_files(published))
        diag_add(diags, find_published_place(FILESET_MANIFEST), "files without a manifest");
    if (manifest)
        (void)parse_fileset_manifest(&arena, view_entry_value(manifest), &listed, diags);
    VEC_EACH (&listed.files.list, file)
        add_published_file(published, &arena, file, &files, diags);
    if (diags_count(diags) > before)
        return NULL;
    return rule_set_new(files.list.p, files.list.n, diags, lints);
}
