#include "core/edit/fstab.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/edit/lines.h"

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

const char *fstab_decode(struct arena *arena, struct str field)
{
    char *text = arena_alloc(arena, field.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < field.n; i++) {
        const char *p = field.p + i;

        if (*p == '\\' && i + 3 < field.n && p[1] <= '3' && is_octal(p[1]) && is_octal(p[2]) &&
            is_octal(p[3])) {
            const int byte = (p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0');

            i += 3;
            if (byte != 0)
                text[n++] = (char)byte;
        } else if (*p != '\0') {
            text[n++] = *p;
        }
    }
    text[n] = '\0';
    return text;
}

void fstab_encode(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        const unsigned char c = (unsigned char)text.p[i];

        if (c <= ' ' || c == '\\' || (c == '#' && i == 0))
            buf_printf(out, "\\%03o", c);
        else
            buf_add_char(out, (char)c);
    }
}

static int64_t read_fstab_number(struct str word)
{
    struct err ignored;
    int64_t number;

    return word.n > 0 && number_parse_int(word, &number, &ignored) == 0 ? number : 0;
}

/* False for comments, blank lines, and anything else that is not an entry. */
static bool parse_fstab_line(struct arena *arena, struct str line, struct fstab_entry *ret)
{
    struct str rest = line, words[6];

    for (size_t i = 0; i < 6; i++)
        words[i] = lines_word(&rest);
    if (words[1].n == 0 || words[0].p[0] == '#')
        return false;
    *ret = (struct fstab_entry){
        .device = fstab_decode(arena, words[0]),
        .folder = fstab_decode(arena, words[1]),
        .type = fstab_decode(arena, words[2]),
        .options = words[3].n > 0 ? fstab_decode(arena, words[3]) : "defaults",
        .dump = read_fstab_number(words[4]),
        .pass = read_fstab_number(words[5]),
    };
    return true;
}

bool fstab_next(struct arena *arena, struct str *text, struct fstab_entry *ret_entry)
{
    struct line line;

    while (lines_next(text, &line))
        if (parse_fstab_line(arena, line.text, ret_entry))
            return true;
    return false;
}

static bool are_entries_equal(const struct fstab_entry *a, const struct fstab_entry *b)
{
    return strcmp(a->device, b->device) == 0 && strcmp(a->folder, b->folder) == 0 &&
           strcmp(a->type, b->type) == 0 && strcmp(a->options, b->options) == 0 &&
           a->dump == b->dump && a->pass == b->pass;
}

static bool is_entry_for_mount(const struct fstab_entry *entry, const struct fstab_entry *want)
{
    if (want->folder[0] != '/') /* none, swap */
        return strcmp(entry->device, want->device) == 0 && entry->folder[0] != '/' &&
               (!want->type || strcmp(entry->type, want->type) == 0);
    return strcmp(entry->folder, want->folder) == 0;
}

bool fstab_find_like(struct arena *arena, struct str text, const struct fstab_entry *like,
                     struct fstab_entry *ret_entry)
{
    struct fstab_entry entry;
    bool found = false;

    while (fstab_next(arena, &text, &entry))
        if (is_entry_for_mount(&entry, like)) {
            *ret_entry = entry;
            found = true;
        }
    return found;
}

bool fstab_find(struct arena *arena, struct str text, const char *folder,
                struct fstab_entry *ret_entry)
{
    return fstab_find_like(arena, text, &(struct fstab_entry){ .folder = folder }, ret_entry);
}

static void print_fstab_entry(const struct fstab_entry *entry, struct str end, struct buf *out)
{
    const char *const fields[] = { entry->device, entry->folder, entry->type, entry->options };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        fstab_encode(str_from(fields[i]), out);
        buf_add_char(out, '\t');
    }
    buf_printf(out, "%lld %lld", (long long)entry->dump, (long long)entry->pass);
    buf_add_str(out, end);
}

void fstab_set(struct str text, const struct fstab_entry *entry, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct str end = lines_end_of(text);
    bool placed = false;
    struct line line;

    while (lines_next(&text, &line)) {
        struct fstab_entry now;
        const bool ours =
            parse_fstab_line(&arena, line.text, &now) && is_entry_for_mount(&now, entry);

        if (!ours || (!placed && are_entries_equal(&now, entry)))
            lines_add(out, line.text, line.end);
        else if (!placed)
            print_fstab_entry(entry, line.end.n > 0 ? line.end : end, out);
        placed |= ours;
    }
    if (placed)
        return;
    lines_finish(out, end);
    print_fstab_entry(entry, end, out);
}

void fstab_remove_like(struct str text, const struct fstab_entry *like, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct line line;

    while (lines_next(&text, &line)) {
        struct fstab_entry now;

        if (!parse_fstab_line(&arena, line.text, &now) || !is_entry_for_mount(&now, like))
            lines_add(out, line.text, line.end);
    }
}

void fstab_remove(struct str text, const char *folder, struct buf *out)
{
    fstab_remove_like(text, &(struct fstab_entry){ .folder = folder }, out);
}
