/*
 * Only types and numbers of the library's header are used; the functions come from
 * dlopen.
 */
#include "core/sys/passhash.h"

#include <crypt.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/library.h"

#define LIBRARY "libcrypt.so.1"
#define PREFIX  "$6$"

static struct {
    char *(*hash)(const char *phrase, const char *setting, void *data, int size);
    char *(*salt)(const char *prefix, unsigned long count, const char *bytes, int n, char *out,
                  int size);
} api;

static const struct library_symbol symbols[] = { { "crypt_gensalt_rn", &api.salt },
                                                 { "crypt_rn", &api.hash } };
static struct library library = { LIBRARY, symbols, ARRAY_LEN(symbols), NULL, 0 };

static int require_crypt(struct err *err)
{
    if (library_get(&library))
        return 0;
    return err_set(err, ERR_UNSUPPORTED, "cannot hash passwords: %s is not installed", LIBRARY);
}

/* The data is large and contains the password. */
static char *hash_password(const char *password, const char *setting)
{
    struct crypt_data *data = mem_alloc(sizeof(*data));
    char *text, *copy = NULL;

    memset(data, 0, sizeof(*data));
    text = api.hash(password, setting, data, (int)sizeof(*data));
    if (text)
        copy = mem_strdup(text);
    explicit_bzero(data, sizeof(*data));
    free(data);
    return copy;
}

int passhash_matches(const char *password, const char *hash, bool *ret, struct err *err)
{
    AUTO_FREE char *again = NULL;

    if (require_crypt(err) < 0)
        return -1;
    again = hash_password(password, hash);
    *ret = again && strcmp(again, hash) == 0;
    return 0;
}

int passhash_make(struct arena *arena, const char *password, const char **ret, struct err *err)
{
    AUTO_FREE char *made = NULL;
    char setting[CRYPT_GENSALT_OUTPUT_SIZE];

    if (require_crypt(err) < 0)
        return -1;
    if (api.salt(PREFIX, 0, NULL, 0, setting, (int)sizeof(setting)))
        made = hash_password(password, setting);
    if (!made)
        return err_set(err, ERR_INVALID, "cannot hash the password");
    *ret = arena_strdup(arena, made);
    return 0;
}
