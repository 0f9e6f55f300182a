#include "core/http/route.h"

#include <string.h>

bool http_route_matches_path(const char *pattern, const char *path, struct str *ret_name)
{
    struct str wanted = str_from(pattern), given = str_from(path);

    *ret_name = STR("");
    while (wanted.p && given.p) {
        struct str part = str_cut(&wanted, '/'), segment = str_cut(&given, '/');

        if (part.n > 0 && part.p[0] == '{') {
            if (segment.n == 0)
                return false;
            *ret_name = segment;
        } else if (!str_eq(part, segment)) {
            return false;
        }
    }
    return !wanted.p && !given.p;
}

bool http_route_matches_method(const char *wanted, const char *given)
{
    return strcmp(wanted, given) == 0 || (strcmp(wanted, "GET") == 0 && strcmp(given, "HEAD") == 0);
}
