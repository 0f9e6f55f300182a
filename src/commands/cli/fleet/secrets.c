#include "commands/cli/fleet/secrets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/ed25519.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "fleet/bus/secret_args.h"
#include "fleet/bus/store.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/shared/terminal.h"
#include "core/data/value.h"
#include "fleet/nats/xkey.h"
#include "states/state/secrets.h"
#include "core/sys/fs.h"
#include "fleet/wire/job.h"

#define FILE_MARK     "@"
#define VARIABLE_MARK "env:"

/* --- where values come from ----------------------------------------------------------- */

/* Lines of standard input belong to the secrets in their order. */
static int read_secret_line(struct buf *out, struct err *err)
{
    int c;

    while ((c = getchar()) != EOF && c != '\n')
        buf_add_char(out, (char)c);
    if (c == EOF && out->n == 0)
        return err_set(err, ERR_NOT_FOUND, "unexpected end of standard input");
    return 0;
}

static int ask_value(struct arena *arena, const char *name, struct buf *out, struct err *err)
{
    if (isatty(STDIN_FILENO))
        return terminal_ask_secret(arena_printf(arena, "%s: ", name), out, err);
    return read_secret_line(out, err);
}

static int read_secret_file(struct arena *arena, const char *path, struct buf *out, struct err *err)
{
    struct str text;

    if (fs_read(arena, path, SECRET_ARGS_VALUE_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", path);
    if (str_ends(text, STR("\n")))
        text.n--;
    buf_add_str(out, text);
    return 0;
}

static int read_secret_variable(const char *name, struct buf *out, struct err *err)
{
    const char *text = getenv(name);

    if (!text)
        return err_set(err, ERR_NOT_FOUND, "environment variable '%s' is not set", name);
    buf_add_text(out, text);
    return 0;
}

static int read_secret_source(struct arena *arena, const char *name, const char *source,
                              struct buf *out, struct err *err)
{
    if (!source)
        return ask_value(arena, name, out, err);
    if (str_starts(str_from(source), STR(FILE_MARK)))
        return read_secret_file(arena, source + sizeof(FILE_MARK) - 1, out, err);
    if (str_starts(str_from(source), STR(VARIABLE_MARK)))
        return read_secret_variable(source + sizeof(VARIABLE_MARK) - 1, out, err);
    return err_set(err, ERR_INVALID,
                   "the value must not be on the command line: use NAME to type it in, NAME=@FILE "
                   "or NAME=env:VARIABLE");
}

/* A short text could not be masked. */
static int check_value(struct str value, bool is_full, struct err *err)
{
    if (is_full)
        return err_set(err, ERR_LIMIT, "more than %zu bytes", SECRET_ARGS_VALUE_MAX);
    if (value.n < SECRETS_SHORTEST)
        return err_set(err, ERR_INVALID, "shorter than %d characters, so it could not be masked",
                       SECRETS_SHORTEST);
    if (!utf8_is_valid(value) || memchr(value.p, '\0', value.n))
        return err_set(err, ERR_INVALID, "not text");
    return 0;
}

static int read_secret_argument(struct arena *arena, const char *wanted, struct value_map *out,
                                struct err *err)
{
    AUTO_BUF struct buf value = BUF_INIT(SECRET_ARGS_VALUE_MAX);
    const char *equals = strchr(wanted, '=');
    const struct str name =
        equals ? arena_str(arena, (struct str){ wanted, (size_t)(equals - wanted) })
               : str_from(wanted);
    const struct value key = value_str(name);
    int rc = value_map_find(out, &key) ? err_set(err, ERR_INVALID, "given twice") : 0;

    if (rc == 0)
        rc = read_secret_source(arena, name.p, equals ? equals + 1 : NULL, &value, err);
    if (rc == 0)
        rc = check_value(buf_view(&value), value.full, err);
    if (rc == 0)
        value_map_set(arena, out, key, value_str(buf_copy(&value, arena)));
    ed25519_wipe(value.p, value.n);
    return rc < 0 ? err_wrap(err, "--secret %s", name.p) : 0;
}

int fleet_secrets_read(struct arena *arena, const struct param_strs *wanted, struct value *ret,
                       struct err *err)
{
    struct value_map *map = value_map_new(arena, wanted->n);

    for (size_t i = 0; i < wanted->n; i++)
        if (read_secret_argument(arena, wanted->p[i], map, err) < 0)
            return -1;
    *ret = wanted->n > 0 ? value_map(map) : value_null();
    return 0;
}

/* --- the job -------------------------------------------------------------------------- */

int fleet_secrets_seal(struct fleet *fleet, const struct value *secrets, struct job *job,
                       struct err *err)
{
    struct nats_xkey masters;
    struct str key;

    if (secrets->kind != VALUE_MAP)
        return 0;
    if (fleet_bucket_get(fleet, STORE_SECRETS, STORE_CURVE_KEY, &key, err) < 0)
        return err->code == ERR_NOT_FOUND
                   ? err_set(err, ERR_NOT_FOUND,
                             "no master has published its key for secrets yet; is one running?")
                   : -1;
    if (nats_xkey_parse(key, &masters, err) < 0)
        return err_wrap(err, "key of the masters for secrets");
    return secret_args_seal(fleet->arena, &masters, job, secrets, &job->sealed, err);
}
