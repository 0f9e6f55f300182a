/* Any text as hosts, fstab, crontab, key file, account file and file with
 * sections: edits end, settle after one time,
 * and what is taken away again is gone. */
#include <stdint.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/edit/colons.h"
#include "core/edit/crontab.h"
#include "core/edit/fstab.h"
#include "core/edit/hosts.h"
#include "core/edit/ini.h"
#include "core/edit/keyfile.h"
#include "core/edit/lines.h"

#define OUTPUT_MAX ((size_t)1 << 20)

static void edit_hosts(struct str text, bool remove, struct buf *out)
{
    static const struct str addresses[] = { { "10.0.0.1", 8 }, { "fd00::1", 7 } };
    const struct hosts_want want = { STR("web"), addresses, 2, HOSTS_DROP };

    (remove ? hosts_remove : hosts_set)(text, &want, out);
}

static void edit_fstab(struct str text, bool remove, struct buf *out)
{
    const struct fstab_entry entry = { "/dev/x y", "/mnt/x", "ext4", "ro", 0, 2 };

    if (remove)
        fstab_remove(text, entry.folder, out);
    else
        fstab_set(text, &entry, out);
}

static void edit_crontab(struct str text, bool remove, struct buf *out)
{
    AUTO_BUF struct buf lines = BUF_INIT(OUTPUT_MAX);
    const struct crontab_entry entry = { STR("1 2 3 4 5"), STR("x"), false };
    struct crontab_block block;
    const bool found = crontab_find(text, STR("id"), STR("x"), &block);

    if (!remove)
        crontab_print(STR("id"), STR("words"), &entry, &lines);
    crontab_put(text, found ? &block : NULL, buf_view(&lines), out);
}

static void edit_keys(struct str text, bool remove, struct buf *out)
{
    keyfile_set(text, STR("AAA"), remove ? STR("") : STR("ssh-rsa AAA me"), out);
}

static void edit_colons(struct str text, bool remove, struct buf *out)
{
    if (remove)
        colons_set_member(text, STR("adm"), 3, STR("ada"), false, out);
    else
        colons_set(text, STR("adm"), STR("adm:x:4:ada\n"), out);
}

static void edit_ini(struct str text, bool remove, struct buf *out)
{
    const struct ini_format format = { .separator = STR("=") };
    const struct ini_item want = { .section = STR("a"), .key = STR("b"), .value = STR("c\nd") };

    if (remove)
        ini_remove(text, &format, want.section, want.key, out);
    else
        ini_set(text, &format, &want, out);
}

static void edit_words(struct str text, bool remove, struct buf *out)
{
    const struct ini_format format = { .separator = STR(" "), .tight = true };
    const struct ini_item want = { .key = STR("b"), .value = STR("c") };

    if (remove)
        ini_remove_section(text, &format, STR("a"), out);
    else
        ini_set(text, &format, &want, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const edits[])(struct str, bool, struct buf *) = {
        edit_hosts, edit_fstab, edit_crontab, edit_keys, edit_colons, edit_ini, edit_words,
    };
    const struct str text = str_bytes(data, size);

    for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
        AUTO_BUF struct buf once = BUF_INIT(OUTPUT_MAX), twice = BUF_INIT(OUTPUT_MAX);
        AUTO_BUF struct buf less = BUF_INIT(OUTPUT_MAX), least = BUF_INIT(OUTPUT_MAX);

        edits[i](text, false, &once);
        edits[i](buf_view(&once), false, &twice);
        if (!str_eq(buf_view(&once), buf_view(&twice)))
            abort();
        edits[i](text, true, &less);
        edits[i](buf_view(&less), true, &least);
        /* two entries of one command go one by one */
        if (i != 2 && !str_eq(buf_view(&less), buf_view(&least)))
            abort();
    }
    return 0;
}
