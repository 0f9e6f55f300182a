#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/str.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/site.h"

/* Numbers without accounts: nothing here asks for a name that must exist. */
#define JOE     54321
#define MALLORY 54322

static struct arena arena = ARENA_INIT;
static struct err err;

static bool is_root(void)
{
    if (geteuid() == 0)
        return true;
    print_message("skipped: making files of other users needs root\n");
    return false;
}

static const char *in_folder(const char *name)
{
    return arena_printf(&arena, "%s/%s", test_folder(), name);
}

static uid_t uid_of(char letter)
{
    return letter == 'j' ? JOE : letter == 'm' ? MALLORY : 0;
}

/* "Fjt/sub/x": kind (F folder, f file, l link), owner (r, j, m), how open (- 0755, t 1777, w 0777),
 * then the path; of a link with its target: "lj-home/x>/etc". A target beginning with @ is in the
 * folder of the test. */
static void make(struct str spec)
{
    char *path = arena_strndup(&arena, spec.p + 3, spec.n - 3);
    char *target = strchr(path, '>');
    const mode_t mode = spec.p[2] == 't' ? 01777 : spec.p[2] == 'w' ? 0777 : 0755;
    const char *full;

    if (target)
        *target++ = '\0';
    full = in_folder(path);
    if (spec.p[0] == 'F')
        CHECK_INT(mkdir(full, mode), 0);
    else if (spec.p[0] == 'f')
        CHECK_INT(fs_write(full, STR("text"), 0644, &err), 0);
    else if (!target)
        fail_msg("'%.*s' is a link without a target", STR_ARG(spec));
    else
        CHECK_INT(symlink(target[0] == '@' ? in_folder(target + 1) : target, full), 0);
    CHECK_INT(lchown(full, uid_of(spec.p[1]), uid_of(spec.p[1])), 0);
    if (spec.p[0] == 'F')
        CHECK_INT(chmod(full, mode), 0);
}

static void make_all(const char *specs)
{
    struct str rest = str_from(specs);

    while (rest.p) {
        const struct str spec = str_cut(&rest, ' ');

        if (spec.n > 0)
            make(spec);
    }
}

static void empty_folder(void)
{
    struct fs_names names;

    CHECK_INT(fs_list(&arena, test_folder(), &names, &err), 0);
    VEC_EACH (&names.list, name)
        CHECK_INT(system(arena_printf(&arena, "rm -rf '%s'", in_folder(*name))), 0);
}

/* clang-format off */
static const struct {
    const char *what, *made, *path;
    unsigned flags;
    const char *refused; /* NULL: allowed */
} walks[] = {
    { "root's folders", "Fr-a Fr-a/b fr-a/b/x", "a/b/x", 0, NULL },
    { "a file of joe's in his folder", "Fj-home fj-home/x", "home/x", 0, NULL },
    { "joe's folders one in the other", "Fj-home Fj-home/a Fj-home/a/b", "home/a/b/x", 0, NULL },
    { "a file of root's in joe's folder", "Fj-home fr-home/x", "home/x", 0, NULL },
    { "a folder of root's in joe's, as the last part", "Fj-home Fr-home/d", "home/d", 0, NULL },
    { "through a folder of root's in joe's", "Fj-home Fr-home/d", "home/d/x", 0,
      "refusing to enter '@home/d': it belongs to 'root', in a folder of uid 54321" },
    { "through a folder of mallory's in joe's", "Fj-home Fm-home/d", "home/d/x", 0,
      "refusing to enter" },
    { "the same, as we come back", "Fj-home Fr-home/d", "home/d/x", SITE_RETURN, NULL },
    { "coming back to one that others may write to", "Fj-home Frwhome/d", "home/d/x", SITE_RETURN,
      "refusing to enter" },
    { "coming back, then a link", "Fj-home Fr-home/d lr-home/d/l>@ Fr-t", "home/d/l/t/x",
      SITE_RETURN, "refusing to follow '@home/d/l'" },

    { "a link of root's", "Fr-a Fr-b lr-a/l>@b", "a/l/x", 0, NULL },
    { "a link of joe's to root's folder", "Fj-home Fr-b lj-home/l>@b", "home/l/x", 0,
      "refusing to follow '@home/l': it belongs to uid 54321 and leads to a folder of 'root'" },
    { "a link of joe's within his own", "Fj-home Fj-home/b lj-home/l>@home/b", "home/l/x", 0, NULL },
    { "a relative link of joe's within his own", "Fj-home Fj-home/b Fj-home/c lj-home/c/l>../b",
      "home/c/l/x", 0, NULL },
    { "a link of joe's out by ..", "Fj-home Fr-b lj-home/l>../b", "home/l/x", 0,
      "refusing to enter" },
    { "a link of joe's to his own elsewhere", "Fj-home Fr-srv Fj-srv/joe lj-home/l>@srv/joe",
      "home/l/x", 0, NULL },
    { "a link of root's in joe's folder to joe's", "Fj-home Fj-home/b lr-home/l>@home/b",
      "home/l/x", 0, NULL },
    { "a link of root's in joe's folder to root's", "Fj-home Fr-b lr-home/l>@b", "home/l/x", 0,
      "refusing to follow '@home/l'" },
    { "a link of mallory's in joe's folder", "Fj-home Fj-home/b lm-home/l>@home/b", "home/l/x", 0,
      "refusing to follow '@home/l'" },
    { "a link of joe's to one of mallory's", "Frtt Fm-m Fj-j lm-t/2>@m lj-t/1>@t/2", "t/1/x", 0,
      "a link of another user leads to it" },

    { "the last part, not followed", "Fj-home fr-b lj-home/l>@b", "home/l", 0, NULL },
    { "the last part, to root's file", "Fj-home fr-b lj-home/l>@b", "home/l", SITE_FOLLOW,
      "refusing to follow '@home/l': it belongs to uid 54321 and leads to a file of 'root'" },
    { "the last part, to where nothing is yet", "Fj-home Fr-b lj-home/l>@b/new", "home/l",
      SITE_FOLLOW, "leads to a folder of 'root'" },
    { "the last part, to joe's file", "Fj-home fj-home/b lj-home/l>b", "home/l", SITE_FOLLOW,
      NULL },
    { "the last part, to joe's file in root's folder", "Fj-home Fr-mail fj-mail/joe "
      "lj-home/l>@mail/joe", "home/l", SITE_FOLLOW, NULL },
    { "the last part, a chain of root's", "fr-b lr-2>b lr-1>2", "1", SITE_FOLLOW, NULL },

    { "a file of root's in a sticky folder", "Frtt fr-t/x", "t/x", 0, NULL },
    { "a link of root's in a sticky folder", "Frtt Fr-b lr-t/l>@b", "t/l/x", 0, NULL },
    { "a link of joe's in a sticky folder to root's", "Frtt Fr-b lj-t/l>@b", "t/l/x", 0,
      "refusing to follow '@t/l'" },
    { "a link of joe's in a sticky folder to joe's", "Frtt Fj-b lj-t/l>@b", "t/l/x", 0, NULL },
    { "a link of root's where all may write", "Frwt Fr-b lr-t/l>@b", "t/l/x", 0,
      "its folder is world-writable" },
    { "a folder of root's where all may write", "Frwt Fr-t/d", "t/d/x", 0, NULL },

    { "our own data, wherever it is", "Fj-home Fr-b lj-home/l>@b", "home/l/x", SITE_OWN, NULL },
};
/* clang-format on */

/* "@x" in a text is a path in the folder of the test. */
static const char *expand(const char *text)
{
    const char *at = strchr(text, '@');

    if (!at)
        return text;
    return arena_printf(&arena, "%.*s%s/%s", (int)(at - text), text, test_folder(), at + 1);
}

TEST(the_walk_refuses_paths_that_an_unprivileged_owner_could_redirect)
{
    if (!is_root())
        return;
    for (size_t i = 0; i < ARRAY_LEN(walks); i++) {
        struct site site = SITE_INIT;
        const char *said = "";

        make_all(walks[i].made);
        if (site_walk(&site, in_folder(walks[i].path), walks[i].flags, &err) < 0)
            said = err.text;
        if (walks[i].refused ? !strstr(said, expand(walks[i].refused)) : said[0] != '\0')
            print_message("%s: '%s'\n", walks[i].what, said);
        if (walks[i].refused) {
            CHECK_HAS(said, expand(walks[i].refused));
            CHECK_INT(err.code, ERR_UNSAFE);
        } else {
            CHECK_STR(said, "");
            CHECK(site.folder >= 0);
        }
        site_done(&site);
        empty_folder();
    }
}

/* clang-format off */
static const struct {
    const char *what, *made, *path, *linked; /* the second name of the file */
    bool refused;
} touches[] = {
    { "joe's file", "Fj-home fj-home/x", "home/x", NULL, false },
    { "joe's file with two names", "Fj-home fj-home/x", "home/x", "home/y", false },
    { "root's file in joe's folder", "Fj-home fr-home/x", "home/x", NULL, false },
    { "root's file with a name in joe's folder", "Fj-home fr-secret", "home/x", "secret", true },
    { "mallory's file with a name in joe's folder", "Fj-home fm-secret", "home/x", "secret", true },
    { "root's file with a name in a sticky folder", "Frtt fr-secret", "t/x", "secret", true },
    { "root's file with two names in root's folder", "Fr-a fr-secret", "a/x", "secret", false },
    { "root's folder in joe's", "Fj-home Fr-home/d", "home/d", NULL, false },
};
/* clang-format on */

static void link_names(const char *path, const char *other)
{
    struct fs_info info;

    CHECK_INT(fs_lstat(in_folder(path), &info, &err), 0);
    if (info.kind == FS_NONE)
        CHECK_INT(link(in_folder(other), in_folder(path)), 0);
    else
        CHECK_INT(link(in_folder(path), in_folder(other)), 0);
}

static bool knows_mallory(void *self, const char *path, uid_t owner)
{
    (void)self;
    return owner == uid_of('m') && strcmp(path, in_folder("home/d")) == 0;
}

static int walk_back(const struct site_way *way)
{
    AUTO_SITE struct site site = SITE_INIT;

    return site_walk_back(&site, in_folder("home/d/x"), way, &err);
}

TEST(the_folder_that_a_path_was_in_is_entered_again_and_no_other)
{
    AUTO_SITE struct site site = SITE_INIT;
    struct site_way way = { 0 };

    if (geteuid() != 0)
        return;
    make_all("Fj-home Fm-home/d");
    CHECK_INT(site_walk(&site, in_folder("home/d"), 0, &err), 0);
    CHECK_INT(walk_back(&way), -1);
    way.folder = fs_id_of(&site.info);
    CHECK_INT(walk_back(&way), 0);
    CHECK_INT(rename(in_folder("home/d"), in_folder("home/e")), 0);
    make_all("Fm-home/d");
    CHECK_INT(walk_back(&way), -1);
    CHECK_INT(err.code, ERR_UNSAFE);
    way.knows = knows_mallory;
    CHECK_INT(walk_back(&way), 0);
    CHECK_INT(rmdir(in_folder("home/d")), 0);
    make_all("lj-home/d>@home/e"); /* whichever way it leads there */
    CHECK_INT(walk_back(&way), 0);
    way.folder.born++;
    CHECK_INT(walk_back(&way), -1);
}

TEST(a_file_that_another_user_may_have_linked_is_not_changed_in_place)
{
    const struct fs_attr attr = { 0600, JOE, JOE };

    if (!is_root())
        return;
    for (size_t i = 0; i < ARRAY_LEN(touches); i++) {
        AUTO_FD int fd = -1;
        struct site site;

        make_all(touches[i].made);
        if (touches[i].linked)
            link_names(touches[i].path, touches[i].linked);
        CHECK_INT(site_walk(&site, in_folder(touches[i].path), 0, &err), 0);
        if ((site_set(&site, &attr, &err) < 0) != touches[i].refused)
            print_message("%s\n", touches[i].what);
        CHECK_INT(site_set(&site, &attr, &err), touches[i].refused ? -1 : 0);
        if (touches[i].refused)
            CHECK_HAS(err.text, "refusing to touch");
        if (touches[i].refused)
            CHECK_INT(site_open(&site, &fd, &err), -1);
        site_done(&site);
        empty_folder();
    }
}

TEST(a_file_swapped_after_the_walk_is_not_changed)
{
    const struct fs_attr attr = { 0600, FS_KEEP, FS_KEEP };
    struct fs_info info;
    struct site site;

    CHECK_INT(fs_write(in_folder("victim"), STR("v"), 0644, &err), 0);
    CHECK_INT(fs_write(in_folder("x"), STR("x"), 0644, &err), 0);
    CHECK_INT(site_walk(&site, in_folder("x"), 0, &err), 0);
    CHECK_INT(unlink(in_folder("x")), 0);
    CHECK_INT(symlink("victim", in_folder("x")), 0);
    CHECK_INT(site_set(&site, &attr, &err), -1);
    CHECK_HAS(err.text, "was replaced by another process");
    CHECK_INT(unlink(in_folder("x")), 0);
    CHECK_INT(rename(in_folder("victim"), in_folder("x")), 0);
    CHECK_INT(site_set(&site, &attr, &err), -1);
    CHECK_INT(fs_lstat(in_folder("x"), &info, &err), 0);
    CHECK_INT(info.mode, 0644);
    site_done(&site);
}

/* The parent was walked before and is known; what is at its path now is not what is known. */
TEST(a_known_parent_that_was_swapped_for_a_link_is_walked_anew)
{
    struct site site;

    if (!is_root())
        return;
    make_all("Fj-home Fj-home/d Fr-secret");
    for (int i = 0; i < 2; i++) {
        CHECK_INT(site_walk(&site, in_folder("home/d/x"), 0, &err), 0);
        site_done(&site);
    }
    CHECK_INT(rename(in_folder("home/d"), in_folder("home/old")), 0);
    make_all("lj-home/d>@secret");
    CHECK_INT(site_walk(&site, in_folder("home/d/x"), 0, &err), -1);
    CHECK_HAS(err.text, "refusing to follow");
}

TEST(a_walk_ends_where_the_path_does)
{
    static const struct {
        const char *path, *name, *said;
        enum fs_kind kind;
        bool parent;
    } cases[] = {
        { "a/b/x", "x", "a/b/x", FS_FILE, true },
        { "a/b/", "b", "a/b", FS_FOLDER, true },
        { "a//b/./x", "x", "a//b/./x", FS_FILE, true },
        { "a/b/..", ".", "a/b/..", FS_FOLDER, true },
        { "a/l", "l", "a/l", FS_LINK, true },
        { "a/none", "none", "a/none", FS_NONE, true },
        { "a/none/x", "x", "a/none/x", FS_NONE, false },
        { "a/b/x/y", "y", "a/b/x/y", FS_NONE, false },
    };

    CHECK_INT(fs_mkdirs(in_folder("a/b"), 0755, &err), 0);
    CHECK_INT(fs_write(in_folder("a/b/x"), STR("x"), 0644, &err), 0);
    CHECK_INT(symlink("b/x", in_folder("a/l")), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct site site;

        CHECK_INT(site_walk(&site, in_folder(cases[i].path), 0, &err), 0);
        CHECK_STR(site.name, cases[i].name);
        CHECK_STR(site.path, in_folder(cases[i].said));
        CHECK_INT(site.info.kind, cases[i].kind);
        CHECK_INT(site.folder >= 0, cases[i].parent);
        site_done(&site);
    }
}

TEST(a_last_link_is_replaced_by_its_target_in_the_path)
{
    struct site site;

    CHECK_INT(fs_mkdirs(in_folder("a/b"), 0755, &err), 0);
    CHECK_INT(symlink("b/x", in_folder("a/l")), 0);
    CHECK_INT(site_walk(&site, in_folder("a/l"), SITE_FOLLOW, &err), 0);
    CHECK_STR(site.path, in_folder("a/b/x"));
    CHECK_INT(site.info.kind, FS_NONE);
    site_done(&site);
    CHECK_INT(symlink("none/x", in_folder("a/away")), 0);
    CHECK_INT(site_walk(&site, in_folder("a/away"), SITE_FOLLOW, &err), 0);
    CHECK_STR(site.path, in_folder("a/none/x"));
    CHECK_INT(site.info.kind, FS_NONE);
    CHECK_INT(site.folder, -1);
    site_done(&site);
    CHECK_INT(site_walk(&site, "/", 0, &err), 0);
    CHECK_STR(site.name, ".");
    CHECK_INT(site.info.kind, FS_FOLDER);
    site_done(&site);
    CHECK_INT(site_walk(&site, "a/b", 0, &err), -1);
    CHECK_HAS(err.text, "not an absolute path");
}

TEST(links_that_go_round_end)
{
    struct site site;

    CHECK_INT(symlink("2", in_folder("1")), 0);
    CHECK_INT(symlink("1", in_folder("2")), 0);
    CHECK_INT(site_walk(&site, in_folder("1"), SITE_FOLLOW, &err), -1);
    CHECK_INT(err.errnum, ELOOP);
    CHECK_INT(site_walk(&site, in_folder("1/x"), 0, &err), -1);
    CHECK_INT(err.errnum, ELOOP);
}

TEST(a_new_owner_does_not_cost_the_set_id_bits_that_are_asked_for)
{
    const struct fs_attr attr = { 04755, JOE, FS_KEEP };
    struct site site;

    if (!is_root())
        return;
    make_all("fr-x");
    CHECK_INT(site_walk(&site, in_folder("x"), 0, &err), 0);
    CHECK_INT(site_set(&site, &attr, &err), 0);
    CHECK_INT(site_look(&site, &err), 0);
    CHECK_INT(site.info.mode, 04755);
    CHECK_INT(site.info.uid, JOE);
    site_done(&site);
}

TEST(a_new_folder_has_the_requested_mode_whatever_the_umask)
{
    const struct fs_attr attr = { 02775, FS_KEEP, FS_KEEP };
    const mode_t before = umask(077);
    struct site site;

    CHECK_INT(site_walk(&site, in_folder("d"), 0, &err), 0);
    CHECK_INT(site_mkdir(&site, &attr, &err), 0);
    CHECK_INT(site_sync(&site, &err), 0);
    (void)umask(before);
    CHECK_INT(site.info.kind, FS_FOLDER);
    CHECK_INT(site_look(&site, &err), 0);
    CHECK_INT(site.info.mode, 02775);
    CHECK_INT(site_mkdir(&site, &attr, &err), -1);
    CHECK_INT(err.errnum, EEXIST);
    site_done(&site);
}
