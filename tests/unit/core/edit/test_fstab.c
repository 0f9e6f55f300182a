/* /etc/fstab: entries by mount point, blanks as the kernel writes them. */
#include "test.h"

#include "core/base/arena.h"
#include "core/edit/fstab.h"

static const char before[] = "# <file system>\n"
                             "UUID=12-34  /   ext4 errors=remount-ro 0 1\n"
                             "/dev/sdb1 /data xfs noatime\n"
                             "/dev/sdc1 none swap sw 0 0\n";

static const char *set(const char *text, struct fstab_entry entry)
{
    static struct buf out;

    buf_done(&out);
    out = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    fstab_set(str_from(text), &entry, &out);
    return buf_text(&out);
}

TEST(an_entry_is_found_with_its_defaults)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fstab_entry entry;

    CHECK(fstab_find(&arena, str_from(before), "/data", &entry));
    CHECK_STR(entry.device, "/dev/sdb1");
    CHECK_STR(entry.options, "noatime");
    CHECK_INT(entry.pass, 0);
    CHECK(!fstab_find(&arena, str_from(before), "/dat", &entry));
    CHECK(fstab_find(&arena, STR("//srv/a\\040b /mnt/a\\040b cifs ro 0 2\n"), "/mnt/a b", &entry));
    CHECK_STR(entry.device, "//srv/a b");
    CHECK_INT(entry.pass, 2);
}

TEST(an_entry_that_is_right_keeps_its_bytes)
{
    CHECK_STR(set(before, (struct fstab_entry){ "/dev/sdb1", "/data", "xfs", "noatime", 0, 0 }),
              before);
}

TEST(an_entry_is_replaced_in_its_place_and_all_else_stays)
{
    CHECK_STR(set(before, (struct fstab_entry){ "/dev/sdb1", "/data", "xfs", "ro", 0, 2 }),
              "# <file system>\nUUID=12-34  /   ext4 errors=remount-ro 0 1\n"
              "/dev/sdb1\t/data\txfs\tro\t0 2\n/dev/sdc1 none swap sw 0 0\n");
}

TEST(a_new_entry_goes_to_the_end_with_its_blanks_written)
{
    CHECK_STR(set("/dev/a / ext4 defaults 0 1",
                  (struct fstab_entry){ "tmpfs", "/mnt/a b", "tmpfs", "size=1m", 0, 0 }),
              "/dev/a / ext4 defaults 0 1\ntmpfs\t/mnt/a\\040b\ttmpfs\tsize=1m\t0 0\n");
}

TEST(swap_is_known_by_its_device)
{
    CHECK_STR(set("/dev/b /data ext4 defaults 0 2\n",
                  (struct fstab_entry){ "/dev/b", "none", "swap", "defaults", 0, 0 }),
              "/dev/b /data ext4 defaults 0 2\n/dev/b\tnone\tswap\tdefaults\t0 0\n");
    CHECK_STR(set("/dev/a none swap sw 0 0\n/dev/b none swap sw 0 0\n",
                  (struct fstab_entry){ "/dev/b", "none", "swap", "sw,pri=5", 0, 0 }),
              "/dev/a none swap sw 0 0\n/dev/b\tnone\tswap\tsw,pri=5\t0 0\n");
}

TEST(an_entry_is_removed)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    fstab_remove(str_from(before), "/data", &out);
    CHECK_STR(buf_text(&out), "# <file system>\nUUID=12-34  /   ext4 errors=remount-ro 0 1\n"
                              "/dev/sdc1 none swap sw 0 0\n");
}
