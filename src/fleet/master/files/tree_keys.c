#include "fleet/master/files/tree_keys.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

static struct tree_key *get_key(struct tree_keys *keys, struct str name)
{
    struct tree_key *key = map_find(&keys->map, name);

    if (key)
        return key;
    key = mem_zalloc(sizeof(*key) + name.n + 1);
    memcpy(key->key, name.p, name.n);
    (void)map_set(&keys->map, str_from(key->key), key);
    return key;
}

void tree_keys_put(struct tree_keys *keys, struct str name, struct str value, uint64_t revision)
{
    struct tree_key *key = get_key(keys, name);

    if (revision < key->revision)
        return;
    key->revision = revision;
    sha256_hex(value.p, value.n, key->sha256);
}

void tree_keys_remove(struct tree_keys *keys, struct str name, uint64_t revision)
{
    struct tree_key *key = get_key(keys, name);

    if (revision < key->revision)
        return;
    key->revision = revision;
    key->sha256[0] = '\0';
}

void tree_keys_forget_removed(struct tree_keys *keys)
{
    MAP_EACH (&keys->map, entry) {
        struct tree_key *key = entry->value;

        if (key->sha256[0])
            continue;
        (void)map_remove(&keys->map, entry->key);
        free(key);
    }
}

bool tree_keys_has(const struct tree_keys *keys, const char *name, const char *sha256)
{
    const struct tree_key *key = map_find(&keys->map, str_from(name));

    return key && key->sha256[0] && (!sha256 || strcmp(key->sha256, sha256) == 0);
}

uint64_t tree_keys_read_number(struct str text)
{
    uint64_t number = 0;

    for (size_t i = 0; i < text.n && i < 18 && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        number = number * 10 + (uint64_t)(text.p[i] - '0');
    return number;
}

uint64_t tree_keys_revision(const struct tree_keys *keys, const char *name)
{
    const struct tree_key *key = map_find(&keys->map, str_from(name));

    return key && key->sha256[0] ? key->revision : 0;
}

struct map_entry *tree_keys_next(const struct tree_keys *keys, const struct map_entry *entry)
{
    struct map_entry *next = map_next(&keys->map, entry);

    while (next && !((const struct tree_key *)next->value)->sha256[0])
        next = map_next(&keys->map, next);
    return next;
}

struct map_entry *tree_keys_next_file(const struct tree_keys *keys, const struct map_entry *entry)
{
    struct map_entry *next = tree_keys_next(keys, entry);

    while (next && next->key.p[0] == '_')
        next = tree_keys_next(keys, next);
    return next;
}

void tree_keys_done(struct tree_keys *keys)
{
    MAP_EACH (&keys->map, entry)
        free(entry->value);
    map_done(&keys->map);
}
