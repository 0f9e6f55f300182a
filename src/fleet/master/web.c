#include "fleet/master/web.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/fs.h"

static bool is_loopback(struct str host)
{
    char text[INET_ADDRSTRLEN];
    struct in_addr address;

    if (str_is(host, "localhost") || str_is(host, "[::1]"))
        return true;
    if (host.n == 0 || host.n >= sizeof(text))
        return false;
    memcpy(text, host.p, host.n);
    text[host.n] = '\0';
    return inet_pton(AF_INET, text, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

/* The host between scheme and port; a NULL view: none. */
static struct str find_host(struct str rest)
{
    const size_t end = strcspn(rest.p, "/?#");
    const struct str authority = { rest.p, end };
    size_t n;

    if (memchr(authority.p, '@', authority.n))
        return (struct str){ 0 };
    if (str_starts(authority, STR("[")))
        n = str_find(authority, STR("]"), 0) == STR_NONE ? 0 : str_find(authority, STR("]"), 0) + 1;
    else
        n = str_find(authority, STR(":"), 0) == STR_NONE ? authority.n
                                                         : str_find(authority, STR(":"), 0);
    return n > 0 ? (struct str){ authority.p, n } : (struct str){ 0 };
}

const char *web_check_url(const char *url, bool insecure)
{
    const struct str text = str_from(url);
    const bool is_https = str_starts(text, STR("https://"));
    struct str host;

    for (const char *p = url; *p; p++)
        if (!isgraph((unsigned char)*p))
            return "has blanks or control characters";
    if (!is_https && !str_starts(text, STR("http://")))
        return "must begin with https://";
    host = find_host(str_from_offset(text, is_https ? strlen("https://") : strlen("http://")));
    if (!host.p)
        return "has no host, or a user name: use token_file";
    if (!is_https && !insecure && !is_loopback(host))
        return "is not encrypted: use https://, or insecure: true";
    return NULL;
}

int web_read_token(struct arena *arena, const char *path, struct str *ret_token, struct err *err)
{
    struct str text, line;

    if (fs_read(arena, path, WEB_TOKEN_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "token_file '%s' does not exist", path);
    line = str_trim(str_cut(&text, '\n'));
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] <= ' ' || line.p[i] > '~')
            return err_set(err, ERR_INVALID, "token_file '%s' has no token", path);
    if (line.n == 0)
        return err_set(err, ERR_INVALID, "token_file '%s' is empty", path);
    *ret_token = line;
    return 0;
}
