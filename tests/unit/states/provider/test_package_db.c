#include "test.h"

#include "core/base/err.h"
#include "states/provider/package/db.h"
#include "states/provider/package/manager.h"

static struct package_db *parse(const char *manager, const char *text)
{
    struct package_db *db = package_db_new();
    struct err err = { .text = "" };

    CHECK_INT(package_manager_called(manager)->parse_installed(db, str_from(text), &err), 0);
    CHECK_STR(err.text, "");
    return db;
}

static const char *version_of(const struct package_db *db, const char *name)
{
    const struct package *package = package_db_find_installed(db, str_from(name));

    return package ? package->version : "(none)";
}

static const char status_text[] = "Package: dpkg\n"
                                  "Status: install ok installed\n"
                                  "Architecture: amd64\n"
                                  "Version: 1.21.22\n"
                                  "\n"
                                  "Package: nginx\n"
                                  "Status: hold ok installed\n"
                                  "Version: 1:1.22-1\n"
                                  "Architecture: all\n"
                                  "Provides: httpd, httpd-cgi (= 1.22), www:any\n"
                                  "Description: small\n"
                                  " Package: not-a-field\n"
                                  " .\n"
                                  "\n"
                                  "Package: old\n"
                                  "Status: deinstall ok config-files\n"
                                  "Version: 3\n"
                                  "Architecture: amd64\n"
                                  "\n"
                                  "\n"
                                  "package: half\n"
                                  "STATUS: install reinstreq half-installed\n"
                                  "Version: 4\n"
                                  "Architecture: amd64\n"
                                  "\n"
                                  "Package: libc6\n"
                                  "Status: install ok installed\n"
                                  "Architecture: i386\n"
                                  "Version: 2.36\n"
                                  "\n"
                                  "Package: libc6\n"
                                  "Status: install ok installed\n"
                                  "Architecture: amd64\n"
                                  "Version: 2.37";

TEST(the_status_file_of_dpkg_is_read)
{
    struct package_db *db = parse("apt", status_text);

    CHECK_INT(db->list.n, 6);
    CHECK_STR(db->native, "amd64");
    CHECK_STR(version_of(db, "nginx"), "1:1.22-1");
    CHECK(package_db_find(db, STR("nginx"))->held);
    CHECK(!package_db_find(db, STR("dpkg"))->held);
    CHECK_INT(package_db_find(db, STR("old"))->state, PACKAGE_CONFIG);
    CHECK_STR(version_of(db, "old"), "(none)");
    CHECK_INT(package_db_find(db, STR("half"))->state, PACKAGE_BROKEN);
    CHECK(!package_db_find(db, STR("not-a-field")));
    package_db_free(db);
}

TEST(a_foreign_architecture_answers_to_its_full_name_only)
{
    struct package_db *db = parse("apt", status_text);

    CHECK_STR(version_of(db, "libc6"), "2.37");
    CHECK_STR(version_of(db, "libc6:amd64"), "2.37");
    CHECK_STR(version_of(db, "libc6:i386"), "2.36");
    CHECK_STR(version_of(db, "libc6:armhf"), "(none)");
    package_db_free(db);
}

TEST(virtual_names_stand_for_the_package_that_provides_them)
{
    struct package_db *db = parse("apt", status_text);

    CHECK_STR(version_of(db, "httpd"), "1:1.22-1");
    CHECK_STR(version_of(db, "httpd-cgi"), "1:1.22-1");
    CHECK_STR(version_of(db, "www"), "1:1.22-1");
    CHECK(!package_db_find(db, STR("httpd")));
    package_db_free(db);
}

TEST(a_name_beyond_the_limit_is_an_error_that_names_the_limit)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct package_db *db = package_db_new();
    struct err err = { .text = "" };

    buf_add_text(&text, "Package: ");
    buf_fill(&text, 'a', PACKAGE_TEXT_MAX + 1);
    CHECK_INT(package_manager_called("apt")->parse_installed(db, buf_view(&text), &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_HAS(err.text, "1024 bytes");
    package_db_free(db);
}

/* In the form of rpm -qa --qf ... on a machine of the family. */
TEST(the_list_of_rpm_is_read)
{
    struct package_db *db = parse("dnf", "bash\t5.1.8-6.el9\tx86_64\n"
                                         "gpg-pubkey\tfd431d51-4ae0493b\t(none)\n"
                                         "bind\t32:9.16.23-14.el9\tx86_64\n"
                                         "kernel\t5.14.0-1.el9\tx86_64\n"
                                         "kernel\t5.14.0-2.el9\tx86_64\n"
                                         "broken line\n");

    CHECK_INT(db->list.n, 4);
    CHECK_STR(version_of(db, "bash"), "5.1.8-6.el9");
    CHECK_STR(version_of(db, "bind"), "32:9.16.23-14.el9");
    CHECK_STR(version_of(db, "kernel"), "5.14.0-2.el9");
    CHECK_STR(version_of(db, "gpg-pubkey"), "(none)");
    package_db_free(db);
}

/* In the form of /lib/apk/db/installed. */
TEST(the_database_of_apk_is_read)
{
    struct package_db *db =
        parse("apk", "C:Q1abc=\nP:musl\nV:1.2.4-r2\nA:x86_64\n"
                     "p:so:libc.musl-x86_64.so.1=1\nF:lib\nR:ld-musl-x86_64.so.1\n\n"
                     "P:dropbear\nV:2022.83-r2\nA:x86_64\np:cmd:ssh=1 ssh-server\n\n");

    CHECK_INT(db->list.n, 2);
    CHECK_STR(version_of(db, "musl"), "1.2.4-r2");
    CHECK_STR(version_of(db, "ssh-server"), "2022.83-r2");
    CHECK_STR(version_of(db, "ssh"), "(none)");
    package_db_free(db);
}

TEST(the_folders_of_pacman_are_read)
{
    struct package_db *db =
        parse("pacman", "xorg-server-common-21.1.8-2\nvi-1:070224-6\nALPM_DB_VERSION\n");

    CHECK_INT(db->list.n, 2);
    CHECK_STR(version_of(db, "xorg-server-common"), "21.1.8-2");
    CHECK_STR(version_of(db, "vi"), "1:070224-6");
    package_db_free(db);
}

/* The file of holds of a manager at this place of its list. */
static void read_holds(struct package_db *db, const char *manager, size_t at, const char *text)
{
    package_manager_called(manager)->holds[at].parse(db, str_from(text));
}

static bool is_held(const struct package_db *db, const char *name)
{
    return package_db_find(db, str_from(name))->held;
}

TEST(holds_are_read_from_the_files_of_their_managers)
{
    static const char list[] =
        "nginx\t1.24.0-1.el9\tx86_64\nlib-x\t1-1\tx86_64\nbash\t5-1\tx86_64\n";
    struct package_db *db = parse("dnf", list);

    read_holds(db, "yum", 0, "# Added lock on ...\nnginx-1:1.24.0-1.el9.*\n\n!bash-5-1.*\n");
    CHECK(is_held(db, "nginx") && !is_held(db, "bash") && !is_held(db, "lib-x"));
    read_holds(db, "dnf", 0, "0:lib-x-1-1.*\n");
    CHECK(is_held(db, "lib-x"));
    package_db_free(db);

    db = parse("dnf", list);
    read_holds(db, "zypper", 0,
               "\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: lib*\n");
    CHECK(is_held(db, "lib-x") && !is_held(db, "nginx"));
    read_holds(db, "dnf", 1, "version = \"1.0\"\n[[packages]]\nname = \"bash\"\n");
    CHECK(is_held(db, "bash") && !is_held(db, "nginx"));
    package_db_free(db);
}
