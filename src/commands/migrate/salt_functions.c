#include "commands/migrate/salt_functions.h"

#include "core/base/diag.h"
#include "core/base/mem.h"
#include "states/compile/salt.h"
#include "states/compile/unsupported.h"
#include "states/state/module.h"

enum wanted_kind { WANTED_STATE, WANTED_FUNCTION };

/* One reading of a file. */
struct function_scan {
    const char *name;
    struct diags *remarks;
    uint32_t line;
    size_t body; /* the column of the states of an ID; 0: not known yet */
    bool has_states;
    bool is_id;      /* the block is an ID, not include, exclude or extend */
    bool is_module;  /* the state is module.run: it names functions */
    bool is_comment; /* inside {# #} that spans lines */
    bool fine;
};

static size_t count_name(struct str text)
{
    size_t n = 0;

    while (n < text.n && ((text.p[n] >= 'a' && text.p[n] <= 'z') || text.p[n] == '_' ||
                          (n > 0 && text.p[n] >= '0' && text.p[n] <= '9')))
        n++;
    return n;
}

/* "pkg.installed" at the start of the text; empty: none, or more than two parts. */
static struct str take_name(struct str text)
{
    const size_t family = count_name(text);
    size_t rest;

    if (family == 0 || family >= text.n || text.p[family] != '.')
        return (struct str){ text.p, 0 };
    rest = count_name(str_from_offset(text, family + 1));
    if (rest == 0 || (family + 1 + rest < text.n && text.p[family + 1 + rest] == '.'))
        return (struct str){ text.p, 0 };
    return str_slice(text, 0, family + 1 + rest);
}

static bool is_here(struct str name, enum wanted_kind kind)
{
    const struct module *module = module_find(name);

    if (kind == WANTED_STATE)
        return module && module->apply;
    return salt_has(name) || (module && module->call);
}

static void check_name(struct function_scan *scan, struct str name, size_t column,
                       enum wanted_kind kind)
{
    const struct place at = { .file = scan->name,
                              .line = scan->line,
                              .column = (uint32_t)column + 1 };
    const struct module *twin = unsupported_twin(name);

    if (name.n == 0 || is_here(name, kind))
        return;
    scan->fine = false;
    (void)diag_add(scan->remarks, at, "there is no %s '%.*s' here",
                   kind == WANTED_STATE ? "state" : "function", STR_ARG(name));
    if (unsupported_reason(name))
        diag_hint(scan->remarks, "%s", unsupported_reason(name));
    else if (twin)
        diag_hint(scan->remarks, "use %s", twin->name);
    else
        diag_hint(scan->remarks, kind == WANTED_STATE
                                     ? "use cmd.run with 'unless', or another state: 'zester doc'"
                                     : "use cmd.run, or another function: 'zester doc'");
}

/* salt['pkg.version'], salt["pkg.version"], salt.pkg.version( and :salt:pkg.version( of a slot. */
static void check_calls(struct function_scan *scan, struct str line)
{
    static const char *const openings[] = { "salt['", "salt[\"", "salt.", ":salt:" };

    for (size_t i = 0; i < ARRAY_LEN(openings); i++) {
        const struct str opening = str_from(openings[i]);

        for (size_t at = str_find(line, opening, 0); at != STR_NONE;
             at = str_find(line, opening, at + 1)) {
            const struct str name = take_name(str_from_offset(line, at + opening.n));
            const size_t end = at + opening.n + name.n;
            const bool is_inside = at > 0 && (count_name(str_slice(line, at - 1, at)) > 0 ||
                                              line.p[at - 1] == '.' || line.p[at - 1] == '/');
            const char *closing = i == 0 ? "'" : i == 1 ? "\"" : "(";

            if (name.n > 0 && !is_inside && end < line.n && line.p[end] == *closing)
                check_name(scan, name, at + opening.n, WANTED_FUNCTION);
        }
    }
}

static bool is_key(struct str rest, size_t length)
{
    return length == rest.n || rest.p[length] == ':' || rest.p[length] == ' ';
}

/* "name: service.restart" of module.run, "fun: x.y" of a guard, "service.restart:" of module.run.
 */
static void check_item(struct function_scan *scan, struct str line, size_t at)
{
    struct str rest = str_from_offset(line, at), key;
    bool names_function;

    if (str_starts(rest, STR("- "))) {
        rest = str_trim(str_from_offset(rest, 2));
        at = (size_t)(rest.p - line.p);
    }
    if (scan->is_module && take_name(rest).n > 0 && is_key(rest, take_name(rest).n)) {
        check_name(scan, take_name(rest), at, WANTED_FUNCTION);
        return;
    }
    key = str_cut(&rest, ':');
    names_function =
        str_is(key, "fun") || (scan->is_module && (str_is(key, "name") || str_is(key, "func")));
    if (!rest.p || !names_function)
        return;
    rest = str_trim(rest);
    check_name(scan, take_name(rest), (size_t)(rest.p - line.p), WANTED_FUNCTION);
}

/* A line of YAML. IDs are in the first column, their states in the next one that is used. */
static void check_yaml_line(struct function_scan *scan, struct str line)
{
    size_t at = 0;
    struct str name;

    while (at < line.n && line.p[at] == ' ')
        at++;
    if (at == 0) {
        scan->body = 0;
        scan->is_module = false;
        scan->is_id = !str_starts(line, STR("include:")) && !str_starts(line, STR("exclude:")) &&
                      !str_starts(line, STR("extend:"));
        return;
    }
    if (scan->body == 0)
        scan->body = at;
    name = take_name(str_from_offset(line, at));
    if (scan->is_id && at == scan->body && name.n > 0 &&
        is_key(str_from_offset(line, at), name.n)) {
        check_name(scan, name, at, WANTED_STATE);
        scan->is_module = str_is(name, "module.run") || str_is(name, "module.wait");
        return;
    }
    check_item(scan, line, at);
}

static void check_line(struct function_scan *scan, struct str line)
{
    const struct str bare = str_trim(line);
    const bool opens = str_find(bare, STR("{#"), 0) != STR_NONE;
    const bool closes = str_find(bare, STR("#}"), 0) != STR_NONE;

    if (scan->is_comment || (opens && !closes)) {
        scan->is_comment = !closes;
        return;
    }
    if (bare.n == 0 || opens)
        return;
    check_calls(scan, line);
    if (scan->has_states && bare.p[0] != '#' && bare.p[0] != '{')
        check_yaml_line(scan, line);
}

bool salt_functions_check(const char *name, struct str text, bool has_states, struct diags *remarks)
{
    struct function_scan scan = {
        .name = name, .remarks = remarks, .has_states = has_states, .fine = true
    };

    while (text.p) {
        const struct str line = str_cut(&text, '\n');

        scan.line++;
        check_line(&scan, line);
    }
    return scan.fine;
}
