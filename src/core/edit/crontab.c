#include "core/edit/crontab.h"

#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/edit/lines.h"

#define MARKER   "# " CRONTAB_MARKER " "
#define DISABLED "#DISABLED#"
/* Salt's label after the comment above an entry. */
#define SALT_MARKER "SALT_CRON_IDENTIFIER:"

/* --- fields ------------------------------------------------------------------------- */

#define NAME_SIZE 3

static const struct {
    uint64_t low, high;
    const char *names; /* names for the numbers from `low` on; NULL: none */
} limits[CRONTAB_FIELDS] = {
    [CRONTAB_MINUTE] = { 0, 59, NULL },
    [CRONTAB_HOUR] = { 0, 23, NULL },
    [CRONTAB_DAYMONTH] = { 1, 31, NULL },
    [CRONTAB_MONTH] = { 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec" },
    [CRONTAB_DAYWEEK] = { 0, 7, "sunmontuewedthufrisat" },
};

static bool is_crontab_value(struct str text, enum crontab_field field)
{
    const char *names = limits[field].names;
    struct err ignored;
    uint64_t number;

    for (size_t i = 0; names && text.n == NAME_SIZE && i < strlen(names); i += NAME_SIZE)
        if (strncasecmp(text.p, names + i, NAME_SIZE) == 0)
            return true;
    return number_parse_uint(text, &number, &ignored) == 0 && number >= limits[field].low &&
           number <= limits[field].high;
}

/* "*", "5", "1-5"; cronie also has "0~29", "~", "5~" for a random one. */
static bool is_range(struct str text, enum crontab_field field)
{
    const size_t dash = str_find_char(text, '-', 0), tilde = str_find_char(text, '~', 0);
    const size_t at = dash == STR_NONE ? tilde : dash;
    struct str first, last;

    if (at == STR_NONE)
        return str_is(text, "*") || is_crontab_value(text, field);
    first = str_slice(text, 0, at);
    last = str_from_offset(text, at + 1);
    return (is_crontab_value(first, field) || (at == tilde && first.n == 0)) &&
           (is_crontab_value(last, field) || (at == tilde && last.n == 0));
}

bool crontab_is_field(struct str text, enum crontab_field field)
{
    do {
        struct str step = str_cut(&text, ',');
        const struct str range = str_cut(&step, '/');
        struct err ignored;
        uint64_t number;

        if (!is_range(range, field))
            return false;
        if (step.p && (number_parse_uint(step, &number, &ignored) < 0 || number == 0))
            return false;
    } while (text.p);
    return true;
}

/* --- lines -------------------------------------------------------------------------- */

/* Our label, or Salt's, which follows the comment. */
static struct str get_entry_label(struct str line, bool *ret_salts)
{
    const size_t salt = str_find(line, STR(SALT_MARKER), 0);

    *ret_salts = !str_starts(line, STR(MARKER));
    if (!*ret_salts)
        return str_trim(str_from_offset(line, sizeof(MARKER) - 1));
    if (salt != STR_NONE && line.p[0] == '#')
        return str_trim(str_from_offset(line, salt + sizeof(SALT_MARKER) - 1));
    return (struct str){ NULL, 0 };
}

bool crontab_parse(struct str line, struct crontab_entry *ret_entry)
{
    const bool disabled = str_starts(line, STR(DISABLED));
    const struct str content =
        str_trim_left(disabled ? str_from_offset(line, sizeof(DISABLED) - 1) : line);
    struct str rest = content;
    size_t fields;

    if (content.n == 0 || str_find_char(STR("0123456789*@~"), content.p[0], 0) == STR_NONE)
        return false; /* not a schedule: a comment, or NAME=value */
    fields = content.p[0] == '@' ? 1 : CRONTAB_FIELDS;
    for (size_t i = 0; i < fields; i++)
        if (lines_word(&rest).n == 0)
            return false;
    *ret_entry = (struct crontab_entry){
        .schedule = str_slice(content, 0, content.n - rest.n),
        .command = str_trim(rest),
        .disabled = disabled,
    };
    return ret_entry->command.n > 0;
}

bool crontab_next(struct str text, size_t from, struct crontab_block *ret_block)
{
    struct str rest = str_from_offset(text, from), comment = STR("");
    struct crontab_block block = { .at = from };
    struct line line;
    bool salts, open = false; /* below a label, with nothing but comments between */

    while (lines_next(&rest, &line)) {
        const size_t end = text.n - rest.n, start = end - line.text.n - line.end.n;
        const struct str label = get_entry_label(line.text, &salts);

        if (crontab_parse(line.text, &block.entry)) {
            block.at = open ? block.at : start;
            block.size = end - block.at;
            block.marked = open;
            block.salts = open && block.salts;
            block.comment = open ? comment : STR("");
            block.label = open ? block.label : STR("");
            *ret_block = block;
            return true;
        }
        if (label.n > 0) {
            open = true;
            block.at = start;
            block.label = label;
            block.salts = salts;
            comment = str_slice(text, end, 0);
        } else if (line.text.n == 0 || line.text.p[0] != '#') {
            open = false;
        } else if (open) {
            comment.n = end - (size_t)(comment.p - text.p);
        }
    }
    return false;
}

bool crontab_find(struct str text, struct str label, struct str command,
                  struct crontab_block *ret_block)
{
    struct crontab_block block;
    bool adopted = false;

    for (size_t at = 0; crontab_next(text, at, &block); at = block.at + block.size) {
        if (block.marked && label.n > 0 && str_eq(block.label, label)) {
            *ret_block = block;
            return true;
        }
        if (!adopted && !block.marked && command.n > 0 &&
            lines_equal(block.entry.command, command, true)) {
            *ret_block = block;
            adopted = true;
        }
    }
    return adopted;
}

static void print_crontab_entry(const struct crontab_entry *entry, const char *disabled,
                                struct buf *out)
{
    buf_add_text(out, entry->disabled ? disabled : "");
    buf_add_str(out, entry->schedule);
    buf_add_char(out, ' ');
    lines_add(out, entry->command, STR("\n"));
}

void crontab_print(struct str label, struct str comment, const struct crontab_entry *entry,
                   struct buf *out)
{
    buf_add_text(out, MARKER);
    lines_add(out, label, STR("\n"));
    while (comment.p && comment.n > 0) {
        buf_add_text(out, "# ");
        lines_add(out, str_cut(&comment, '\n'), STR("\n"));
    }
    print_crontab_entry(entry, DISABLED " ", out);
}

void crontab_print_salts(struct str label, struct str comment, const struct crontab_entry *entry,
                         struct buf *out)
{
    buf_add_text(out, "# ");
    buf_add_str(out, comment);
    buf_add_text(out, comment.n > 0 ? " " SALT_MARKER : SALT_MARKER);
    lines_add(out, label, STR("\n"));
    print_crontab_entry(entry, DISABLED, out);
}

void crontab_put(struct str text, const struct crontab_block *block, struct str lines,
                 struct buf *out)
{
    if (!block) {
        buf_add_str(out, text);
        if (lines.n > 0)
            lines_finish(out, STR("\n"));
        buf_add_str(out, lines);
        return;
    }
    buf_add_str(out, str_slice(text, 0, block->at));
    buf_add_str(out, lines);
    buf_add_str(out, str_from_offset(text, block->at + block->size));
}

/* --- variables ------------------------------------------------------------------------ */

/* NAME=value; cron allows blanks around the sign and quotes around the name. */
static bool sets_crontab_variable(struct str line, struct str name)
{
    const size_t equals = str_find_char(line, '=', 0);
    struct str left = str_trim(str_slice(line, 0, equals == STR_NONE ? 0 : equals));

    if (left.n >= 2 && (left.p[0] == '"' || left.p[0] == '\'') && left.p[left.n - 1] == left.p[0])
        left = str_slice(left, 1, left.n - 2);
    return str_eq(left, name);
}

struct str crontab_variable(struct str text, struct str name)
{
    struct line line;

    while (lines_next(&text, &line))
        if (sets_crontab_variable(line.text, name))
            return line.text;
    return (struct str){ NULL, 0 };
}

void crontab_set_variable(struct str text, struct str name, struct str line, struct buf *out)
{
    bool placed = !line.p;
    struct line now;

    if (!placed && !crontab_variable(text, name).p) {
        lines_add(out, line, lines_end_of(text));
        placed = true;
    }
    while (lines_next(&text, &now)) {
        if (!sets_crontab_variable(now.text, name)) {
            lines_add(out, now.text, now.end);
        } else if (!placed) {
            lines_add(out, line, now.end.n > 0 ? now.end : STR("\n"));
            placed = true;
        }
    }
}
