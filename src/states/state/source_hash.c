#include "states/state/source_hash.h"

#include <string.h>
#include <strings.h>

#include "core/base/digest.h"
#include "core/base/err.h"
#include "core/sys/cancel.h"
#include "core/sys/fs.h"

static bool is_hex_digits(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (str_find_char(STR("0123456789abcdefABCDEF"), text.p[i], 0) == STR_NONE)
            return false;
    return text.n > 0;
}

/* `name` may be empty. */
static bool fill_fitting_hash(struct str name, struct str digits, struct source_hash *ret)
{
    const struct digest *kind = is_hex_digits(digits) ? digest_find_digits(digits.n) : NULL;

    if (!kind || (name.n > 0 && digest_find(name) != kind))
        return false;
    *ret = (struct source_hash){ kind, digits };
    return true;
}

bool source_hash_parse(struct str text, struct source_hash *ret)
{
    struct str whole = str_trim(text);

    for (size_t i = 0; i < whole.n; i++)
        if (whole.p[i] == '=' || whole.p[i] == ':')
            return fill_fitting_hash(str_trim(str_slice(whole, 0, i)),
                                     str_trim(str_slice(whole, i + 1, whole.n)), ret);
    return fill_fitting_hash(STR(""), whole, ret);
}

/* --- files of checksums ---------------------------------------------------------------- */

/* "SHA256 (name) = hex" */
static bool read_bsd(struct str line, struct str *ret_name, struct source_hash *ret)
{
    const size_t open = str_find(line, STR(" ("), 0), close = str_find(line, STR(") = "), 0);

    if (open == STR_NONE || close == STR_NONE || close < open + 2)
        return false;
    *ret_name = str_slice(line, open + 2, close - open - 2);
    return fill_fitting_hash(str_slice(line, 0, open), str_trim(str_slice(line, close + 4, line.n)),
                             ret);
}

/* "hex  name", "hex *name", or a hash alone. */
static bool read_hash_line(struct str line, struct str *ret_name, struct source_hash *ret)
{
    size_t end = 0;

    *ret_name = (struct str){ "", 0 };
    if (read_bsd(line, ret_name, ret) || source_hash_parse(line, ret))
        return true;
    while (end < line.n && line.p[end] != ' ' && line.p[end] != '\t')
        end++;
    if (!fill_fitting_hash(STR(""), str_slice(line, 0, end), ret))
        return false;
    *ret_name = str_trim(str_slice(line, end, line.n));
    if (ret_name->n > 0 && ret_name->p[0] == '*')
        *ret_name = str_slice(*ret_name, 1, ret_name->n);
    return true;
}

static struct str find_last_part(struct str path)
{
    for (size_t i = path.n; i-- > 0;)
        if (path.p[i] == '/')
            return str_slice(path, i + 1, path.n);
    return path;
}

bool source_hash_next(struct str *checksums, struct str *ret_name, struct source_hash *ret)
{
    while (checksums->p && checksums->n > 0)
        if (read_hash_line(str_trim(str_cut(checksums, '\n')), ret_name, ret))
            return true;
    return false;
}

bool source_hash_names(struct str a, struct str b)
{
    return str_eq(find_last_part(a), find_last_part(b));
}

int source_hash_find(struct str checksums, const char *name, struct source_hash *ret,
                     struct err *err)
{
    const struct str wanted = find_last_part(str_from(name));
    struct source_hash hash, best = { 0 }, alone = { 0 };
    size_t count = 0;
    struct str of;

    while (source_hash_next(&checksums, &of, &hash)) {
        count++;
        if (of.n == 0)
            alone = hash;
        else if (source_hash_names(of, wanted) &&
                 (!best.kind || digest_compare(hash.kind, best.kind) > 0))
            best = hash;
    }
    *ret = best.kind ? best : count == 1 ? alone : best;
    if (ret->kind)
        return 0;
    return err_set(err, ERR_NOT_FOUND, "no hash of '%.*s' among its %zu entries", STR_ARG(wanted),
                   count);
}

static int compare_hash_digits(const struct source_hash *hash, const char *source, const char *now,
                               struct err *err)
{
    if (strncasecmp(now, hash->digits.p, hash->digits.n) == 0)
        return 0;
    return err_set(err, ERR_INVALID, "'%s' has %s %s, expected %.*s", source,
                   digest_name(hash->kind), now, STR_ARG(hash->digits));
}

int source_hash_check(const struct source_hash *hash, const char *source, struct str bytes,
                      struct err *err)
{
    char now[DIGEST_HEX_MAX];

    if (digest_hex(hash->kind, bytes, cancel_check, now, err) < 0)
        return err_wrap(err, "'%s'", source);
    return compare_hash_digits(hash, source, now, err);
}

int source_hash_check_fd(const struct source_hash *hash, const char *source, int fd,
                         struct err *err)
{
    char now[DIGEST_HEX_MAX];

    if (fs_hash_fd(fd, source, hash->kind, now, err) < 0)
        return -1;
    return compare_hash_digits(hash, source, now, err);
}
