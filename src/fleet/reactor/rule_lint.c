#include "fleet/reactor/rule_lint.h"

#include <string.h>

#include "core/base/diag.h"
#include "core/base/glob.h"
#include "core/data/value.h"
#include "fleet/reactor/rule_set.h"
#include "fleet/wire/event.h"

#define ENROLL_PREFIX "enroll."
#define REQUIRE_PEEL  "require_peel"

/* --- patterns ------------------------------------------------------------------------ */

static struct str find_pattern_origin(struct str pattern)
{
    return str_cut(&pattern, '/');
}

static bool has_slash(struct str pattern)
{
    return str_find_char(pattern, '/', 0) != STR_NONE;
}

void rule_lint_pattern(const struct value *pattern, struct diags *lints)
{
    const struct str text = pattern->s;
    const struct str origin = find_pattern_origin(text);

    if (!has_slash(text) && glob_is_plain(text)) {
        value_diag(lints, pattern, "'%.*s' can never match: a pattern is for <origin>/<tag>",
                   STR_ARG(text));
        diag_hint(lints, "write '*/%.*s' for events of any origin", STR_ARG(text));
    } else if (has_slash(text) && origin.n > 0 && origin.p[0] == '_' && glob_is_plain(origin) &&
               !str_is(origin, EVENT_ORIGIN_MASTER) && !str_is(origin, EVENT_ORIGIN_ADMIN)) {
        value_diag(lints, pattern,
                   "'%.*s' can never match: origins with '_' are " EVENT_ORIGIN_MASTER
                   " and " EVENT_ORIGIN_ADMIN,
                   STR_ARG(text));
    } else if (has_slash(text) && str_find_char(text, '.', origin.n) != STR_NONE) {
        value_diag(lints, pattern, "'%.*s' can never match: tags have '/' where subjects have '.'",
                   STR_ARG(text));
    }
}

/* --- actions of enrollment ------------------------------------------------------------- */

/* The line without a comment at its beginning. */
static struct str code_of_line(struct str line)
{
    const struct str text = str_trim(line);

    return text.n > 0 && text.p[0] == '#' ? str_slice(text, 0, 0) : text;
}

/* "require_peel: '*'": is the value nothing but stars? */
static bool is_bare_star(struct str line)
{
    size_t at = str_find(line, STR(REQUIRE_PEEL), 0);
    struct str rest;
    size_t stars = 0;

    if (at == STR_NONE)
        return false;
    rest = str_trim(str_from_offset(line, at + strlen(REQUIRE_PEEL)));
    while (rest.n > 0 && strchr("'\": \t", rest.p[0]))
        rest = str_from_offset(rest, 1);
    while (stars < rest.n && rest.p[stars] == '*')
        stars++;
    return stars > 0 && (stars == rest.n || strchr("'\" \t,}#", rest.p[stars]));
}

void rule_lint(const struct rule *rule, struct diags *lints)
{
    struct str rest = rule->file->text;
    bool has_enroll = false;

    for (uint32_t line = 1; rest.p && rest.n > 0; line++) {
        const struct str code = code_of_line(str_cut(&rest, '\n'));

        has_enroll = has_enroll || str_find(code, STR(ENROLL_PREFIX), 0) != STR_NONE;
        if (is_bare_star(code))
            diag_add(lints, (struct place){ .file = rule->file->name, .line = line },
                     "%s: " REQUIRE_PEEL " '*' accepts every peel", rule->ref);
    }
    if (has_enroll && !str_is(find_pattern_origin(str_from(rule->pattern)), EVENT_ORIGIN_MASTER)) {
        diag_add(lints, rule->at,
                 "%s: '%s' matches events that are not from " EVENT_ORIGIN_MASTER
                 ", for which enroll actions are refused",
                 rule->ref, rule->pattern);
        diag_hint(lints, "begin the pattern with '" EVENT_ORIGIN_MASTER "/'");
    }
}
