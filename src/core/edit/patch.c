#include "core/edit/patch.h"

#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/edit/lines.h"

/* Larger line numbers are not plausible. */
#define LINE_NUMBER_MAX 100000000

struct reader {
    struct arena *arena;
    struct str rest;
    size_t line; /* number of the last line read */
    struct str text, end;
};

static bool next_patch_line(struct reader *r)
{
    struct line line;

    if (!lines_next(&r->rest, &line))
        return false;
    r->line++;
    r->text = line.text;
    r->end = line.end;
    return true;
}

/* --- headers ------------------------------------------------------------------------------ */

/* A name ends at the tab before a time; a name in git's quotes is used unchanged. */
static struct str read_patch_name(struct str line)
{
    struct str rest = str_from_offset(line, 4);

    return str_trim(str_cut(&rest, '\t'));
}

static bool read_hunk_number(struct str *rest, size_t *ret)
{
    size_t n = 0, digits = 0;

    for (; digits < rest->n && rest->p[digits] >= '0' && rest->p[digits] <= '9'; digits++)
        if ((n = n * 10 + (size_t)(rest->p[digits] - '0')) > LINE_NUMBER_MAX)
            return false;
    *rest = str_from_offset(*rest, digits);
    *ret = n;
    return digits > 0;
}

/* "12,3" or "12". */
static bool read_hunk_range(struct str *rest, size_t *ret_start, size_t *ret_count)
{
    *ret_count = 1;
    if (!read_hunk_number(rest, ret_start))
        return false;
    if (rest->n == 0 || rest->p[0] != ',')
        return true;
    *rest = str_from_offset(*rest, 1);
    return read_hunk_number(rest, ret_count);
}

/* "@@ -1,3 +1,4 @@ heading" */
static bool read_hunk_head(struct str line, struct patch_hunk *hunk)
{
    struct str rest = line;

    if (!str_starts(rest, STR("@@ -")))
        return false;
    rest = str_from_offset(rest, 4);
    if (!read_hunk_range(&rest, &hunk->old_start, &hunk->old_count) || !str_starts(rest, STR(" +")))
        return false;
    rest = str_from_offset(rest, 2);
    return read_hunk_range(&rest, &hunk->new_start, &hunk->new_count) &&
           str_starts(rest, STR(" @@"));
}

/* --- hunks -------------------------------------------------------------------------------- */

static int refuse_patch(const struct reader *r, const char *why, struct err *err)
{
    return err_set(err, ERR_INVALID, "line %zu of the patch: %s", r->line, why);
}

/* "\ No newline at end of file" refers to the line before. */
static void end_without_newline(struct reader *r, struct patch_hunk *hunk)
{
    const struct reader before = *r;

    if (hunk->lines.n > 0 && next_patch_line(r) && r->text.n > 0 && r->text.p[0] == '\\')
        hunk->lines.p[hunk->lines.n - 1].end = STR("");
    else
        *r = before;
}

static int read_hunk_lines(struct reader *r, struct patch_hunk *hunk, struct err *err)
{
    size_t old = hunk->old_count, now = hunk->new_count;

    while (old + now > 0) {
        struct patch_line line;

        if (!next_patch_line(r))
            return refuse_patch(r, "it ends in the middle of a hunk", err);
        /* Editors strip the blank of an empty line. */
        line = (struct patch_line){ r->text.n > 0 ? r->text.p[0] : ' ',
                                    str_from_offset(r->text, r->text.n > 0 ? 1 : 0),
                                    r->end.n > 0 ? r->end : STR("\n") };
        if (line.kind != ' ' && line.kind != '-' && line.kind != '+')
            return refuse_patch(r, "a hunk line must begin with ' ', '-' or '+'", err);
        if ((line.kind != '+' && old == 0) || (line.kind != '-' && now == 0))
            return refuse_patch(r, "the lines of the hunk do not match its header", err);
        old -= line.kind != '+';
        now -= line.kind != '-';
        VEC_PUSH_IN(r->arena, &hunk->lines, line);
        end_without_newline(r, hunk);
    }
    return 0;
}

static int read_hunks(struct reader *r, struct patch_part *part, struct err *err)
{
    for (;;) {
        const struct reader before = *r;
        struct patch_hunk hunk = { 0 };

        if (!next_patch_line(r) || !read_hunk_head(r->text, &hunk)) {
            *r = before;
            break;
        }
        hunk.line = r->line;
        if (read_hunk_lines(r, &hunk, err) < 0)
            return -1;
        hunk.raw = (struct str){ before.rest.p, (size_t)(r->rest.p - before.rest.p) };
        VEC_PUSH_IN(r->arena, &part->hunks, hunk);
    }
    return part->hunks.n > 0 ? 0 : refuse_patch(r, "no hunk follows the names of a file", err);
}

int patch_parse(struct arena *arena, struct str text, struct patch *ret, struct err *err)
{
    struct reader r = { .arena = arena, .rest = text };

    *ret = (struct patch){ .parts = VEC_INIT };
    while (next_patch_line(&r)) {
        struct patch_part part = { .old_name = r.text };

        if (!str_starts(r.text, STR("--- ")))
            continue;
        part.old_name = read_patch_name(r.text);
        if (!next_patch_line(&r) || !str_starts(r.text, STR("+++ ")))
            return refuse_patch(&r, "'+++' does not follow '---': not a unified diff", err);
        part.new_name = read_patch_name(r.text);
        if (read_hunks(&r, &part, err) < 0)
            return -1;
        VEC_PUSH_IN(arena, &ret->parts, part);
    }
    if (ret->parts.n == 0)
        return err_set(err, ERR_INVALID, "no unified diff found");
    return 0;
}

/* --- names -------------------------------------------------------------------------------- */

bool patch_creates(const struct patch_part *part)
{
    return str_is(part->old_name, "/dev/null");
}

bool patch_removes(const struct patch_part *part)
{
    return str_is(part->new_name, "/dev/null");
}

struct str patch_name(const struct patch_part *part, size_t strip)
{
    struct str name = patch_removes(part) ? part->old_name : part->new_name;

    while (strip-- > 0) {
        const size_t slash = str_find_char(name, '/', 0);

        if (slash == STR_NONE)
            return (struct str){ NULL, 0 };
        name = str_from_offset(name, slash);
        while (name.n > 0 && name.p[0] == '/')
            name = str_from_offset(name, 1);
    }
    return name.n > 0 ? name : (struct str){ NULL, 0 };
}

/* --- applying ----------------------------------------------------------------------------- */

struct page {
    struct arena *arena;
    VEC(struct line) lines;
    size_t done;    /* lines written or replaced */
    struct str end; /* end of its lines */
    bool reverse;
    struct buf *out;
};

/* The lines that a hunk searches for: those of one side, with the number of context lines at each
 * end. */
struct sought_lines {
    VEC(const struct patch_line *) lines;
    size_t before, behind;
};

static bool is_sought(const struct page *page, const struct patch_line *line)
{
    return line->kind == ' ' || line->kind == (page->reverse ? '+' : '-');
}

static void collect_sought_lines(const struct page *page, const struct patch_hunk *hunk,
                                 struct sought_lines *ret)
{
    *ret = (struct sought_lines){ .lines = VEC_INIT };
    VEC_EACH (&hunk->lines, line)
        if (is_sought(page, line))
            VEC_PUSH_IN(page->arena, &ret->lines, line);
    while (ret->before < hunk->lines.n && hunk->lines.p[ret->before].kind == ' ')
        ret->before++;
    while (ret->behind < hunk->lines.n - ret->before &&
           hunk->lines.p[hunk->lines.n - 1 - ret->behind].kind == ' ')
        ret->behind++;
}

/* A last line with an end differs from one without. */
static bool is_patch_line(const struct line *line, const struct patch_line *want)
{
    return str_eq(line->text, want->text) && (line->end.n > 0) == (want->end.n > 0);
}

static bool fits_at(const struct page *page, const struct sought_lines *want, size_t at,
                    size_t skip_top, size_t skip_end)
{
    if (at < page->done || at + want->lines.n - skip_end > page->lines.n)
        return false;
    for (size_t i = skip_top; i + skip_end < want->lines.n; i++)
        if (!is_patch_line(&page->lines.p[at + i], want->lines.p[i]))
            return false;
    return true;
}

/* Less context at one end than at the other means that the file ends there. */
static bool find_with_fuzz(const struct page *page, const struct sought_lines *want, size_t guess,
                           size_t fuzz, size_t *ret_at)
{
    const size_t most = want->before > want->behind ? want->before : want->behind;
    const size_t top = fuzz + want->before, end = fuzz + want->behind;
    const size_t skip_top = top > most ? top - most : 0, skip_end = end > most ? end - most : 0;
    const size_t farthest = guess > page->lines.n ? guess : page->lines.n;

    if (want->lines.n - skip_end > page->lines.n)
        return false;
    if (top < most && guess == 0) {
        *ret_at = 0;
        return fits_at(page, want, 0, skip_top, skip_end);
    }
    if (end < most) {
        *ret_at = page->lines.n - want->lines.n;
        return fits_at(page, want, *ret_at, skip_top, skip_end);
    }
    for (size_t away = 0; away <= farthest; away++) {
        *ret_at = guess + away;
        if (fits_at(page, want, *ret_at, skip_top, skip_end))
            return true;
        *ret_at = guess - away;
        if (away > 0 && away <= guess && fits_at(page, want, *ret_at, skip_top, skip_end))
            return true;
    }
    return false;
}

static bool find_hunk(const struct page *page, const struct patch_hunk *hunk, int64_t moved,
                      size_t fuzz, size_t *ret_at)
{
    const size_t start = page->reverse ? hunk->new_start : hunk->old_start;
    const size_t count = page->reverse ? hunk->new_count : hunk->old_count;
    /* A hunk without lines on this side is placed after the line that it names. */
    const int64_t place = (int64_t)start - (count > 0 ? 1 : 0) + moved;
    const size_t guess = place > 0 ? (size_t)place : 0;
    struct sought_lines want;

    collect_sought_lines(page, hunk, &want);
    for (size_t i = 0; i <= fuzz; i++) {
        if (i > 0 && i > want.before && i > want.behind)
            return false;
        if (find_with_fuzz(page, &want, guess, i, ret_at))
            return true;
    }
    return false;
}

/* A line without an end is the last one, unless the hunk has landed elsewhere. */
static void add_page_line(struct page *page, struct str text, struct str end)
{
    lines_finish(page->out, page->end);
    lines_add(page->out, text, end);
}

static void copy_until(struct page *page, size_t at)
{
    for (; page->done < at && page->done < page->lines.n; page->done++)
        add_page_line(page, page->lines.p[page->done].text, page->lines.p[page->done].end);
}

/* Context stays as it is in the file; new lines get the line ends of the file. */
static void apply_hunk(struct page *page, const struct patch_hunk *hunk, size_t at)
{
    copy_until(page, at);
    VEC_EACH (&hunk->lines, line) {
        if (line->kind == ' ')
            copy_until(page, page->done + 1);
        else if (is_sought(page, line))
            page->done++;
        else
            add_page_line(page, line->text, line->end.n > 0 ? page->end : line->end);
    }
}

bool patch_apply(struct str text, const struct patch_part *part, bool reverse, size_t fuzz,
                 struct buf *out, size_t *reterr_hunk)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct page page = { .arena = &scratch,
                         .lines = VEC_INIT,
                         .end = lines_end_of(text),
                         .reverse = reverse,
                         .out = out };
    const size_t base = out->n;
    struct line line;
    int64_t moved = 0;

    for (struct str rest = text; lines_next(&rest, &line);)
        VEC_PUSH_IN(&scratch, &page.lines, line);
    for (size_t i = 0; i < part->hunks.n; i++) {
        const struct patch_hunk *hunk = &part->hunks.p[i];
        const size_t start = reverse ? hunk->new_start : hunk->old_start;
        const size_t count = reverse ? hunk->new_count : hunk->old_count;
        size_t at;

        if (!find_hunk(&page, hunk, moved, fuzz, &at)) {
            buf_cut(out, base);
            *reterr_hunk = i;
            return false;
        }
        moved = (int64_t)at - ((int64_t)start - (count > 0 ? 1 : 0));
        apply_hunk(&page, hunk, at);
    }
    copy_until(&page, page.lines.n);
    return true;
}

/* Added lines that are present prove that the patch was applied; missing lines do not. */
static bool has_proof(const struct patch_part *part)
{
    VEC_EACH (&part->hunks, hunk) {
        bool adds = false;

        VEC_EACH (&hunk->lines, line)
            adds |= line->kind == '+';
        if (!adds)
            return false;
    }
    return true;
}

static bool is_part_applied(struct str text, const struct patch_part *part, size_t fuzz,
                            struct buf *out)
{
    const size_t base = out->n;
    size_t ignored;

    if (!patch_apply(text, part, true, fuzz, out, &ignored))
        return false;
    buf_cut(out, base);
    buf_add_str(out, text);
    return true;
}

enum patch_verdict patch_try(struct str text, const struct patch_part *part, struct buf *out,
                             size_t *reterr_hunk)
{
    const bool early = has_proof(part);

    for (size_t fuzz = 0; fuzz <= PATCH_FUZZ_MAX; fuzz++) {
        if (early && is_part_applied(text, part, fuzz, out))
            return PATCH_APPLIED;
        if (patch_apply(text, part, false, fuzz, out, reterr_hunk))
            return PATCH_FITS;
        if (!early && is_part_applied(text, part, fuzz, out))
            return PATCH_APPLIED;
    }
    return PATCH_MISFITS;
}
