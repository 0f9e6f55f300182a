#include "kepler/config/reason.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "kepler/config/policy.h"

#define POLICY_MARK ", won't restart (policy: "

/* The parts of "dependency `NAME` END, won't restart (policy: TITLE)REST". */
struct documented {
    struct str name, end, title, rest;
};

/* The text up to `mark`, which is cut off with it. False: it is not there. */
static bool cut_at(struct str *rest, const char *mark, struct str *ret)
{
    const char *at = memmem(rest->p, rest->n, mark, strlen(mark));

    if (!at)
        return false;
    *ret = str_slice(*rest, 0, (size_t)(at - rest->p));
    *rest = str_from_offset(*rest, ret->n + strlen(mark));
    return true;
}

static bool read_documented(struct str text, struct documented *ret)
{
    struct str before;

    if (!str_starts(text, STR("dependency `")) || !cut_at(&text, "`", &before) ||
        !cut_at(&text, "` ", &ret->name) || !cut_at(&text, POLICY_MARK, &ret->end) ||
        !cut_at(&text, ")", &ret->title))
        return false;
    ret->rest = text;
    return true;
}

/* "exited with exit code Some(3)" -> "exited with status 3" */
static void print_end(struct str end, struct buf *out)
{
    struct str verb, code;

    if (cut_at(&end, " with exit code Some(", &verb) && cut_at(&end, ")", &code))
        buf_printf(out, "%.*s with status %.*s", STR_ARG(verb), STR_ARG(code));
    else if (str_is(end, "exited with exit code None"))
        buf_add_text(out, "exited");
    else
        buf_add_str(out, end);
}

/* Only a process that ended is up to the policy. */
static bool is_up_to_policy(struct str end)
{
    return str_starts(end, STR("exited")) || str_starts(end, STR("was killed"));
}

void reason_print(struct str documented, struct buf *out)
{
    struct documented parts;
    unsigned flags;

    if (!read_documented(documented, &parts)) {
        buf_add_str(out, documented);
        return;
    }
    buf_printf(out, "dependency `%.*s` ", STR_ARG(parts.name));
    print_end(parts.end, out);
    if (is_up_to_policy(parts.end) && policy_find_title(parts.title, &flags)) {
        buf_add_text(out, "; not restarted because its restart policy is ");
        policy_print(flags, out);
    }
    buf_add_str(out, parts.rest);
}

/* Is it about a dependency that is down, and could be up? */
static bool is_dependency_down(struct str documented)
{
    struct documented parts;

    return read_documented(documented, &parts) &&
           (str_is(parts.end, "was not started") || str_is(parts.end, "was stopped"));
}

void reason_print_skip(const char *service, struct str documented, struct buf *out)
{
    buf_printf(out, "service '%s' was skipped: ", service);
    reason_print(documented, out);
    if (is_dependency_down(documented))
        buf_printf(out, "; 'kepler up %s' starts it as well", service);
}
