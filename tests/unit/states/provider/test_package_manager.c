#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/provider/package/installed.h"
#include "states/provider/package/offers.h"
#include "states/provider/package/db.h"
#include "states/provider/package/manager.h"
#include "core/sys/fs.h"

/* Managers are stand-ins: programs that print answers in the form that their documents show and
 * note how they were called. The output of the real dnf, zypper and pacman is in
 * tests/e2e/transcripts; yum 3 and apk follow their documentation. */

struct scene {
    struct arena arena;
    const char *folder;
    struct package_host host;
    const struct package_manager *manager;
};

static void write_file(struct scene *scene, const char *path, const char *text, mode_t mode)
{
    const char *whole = arena_printf(&scene->arena, "%s/%s", scene->folder, path);
    const char *slash = strrchr(whole, '/');
    struct err err = { .text = "" };

    CHECK_INT(fs_mkdirs(arena_strndup(&scene->arena, whole, (size_t)(slash - whole)), 0755, &err),
              0);
    CHECK_INT(fs_replace(whole, str_from(text), NULL, &err), 0);
    CHECK_INT(chmod(whole, mode), 0);
    CHECK_STR(err.text, "");
}

/* A program that answers with `text` and this exit status. */
static void stand_in(struct scene *scene, const char *name, const char *text, int status)
{
    write_file(scene, arena_printf(&scene->arena, "answers/%s", name), text, 0644);
    write_file(scene, arena_printf(&scene->arena, "bin/%s", name),
               arena_printf(&scene->arena,
                            "#!/bin/sh\nprintf '%%s\\n' \"%s $*\" >> %s/calls\n"
                            "while IFS= read -r line; do printf '%%s\\n' \"$line\"; done < "
                            "%s/answers/%s\nexit %d\n",
                            name, scene->folder, scene->folder, name, status),
               0755);
}

static void begin(struct scene *scene)
{
    *scene = (struct scene){ .folder = test_folder() };
    scene->host = (struct package_host){ .tool = { .arena = &scene->arena }, .root = "" };
    write_file(scene, "bin/.keep", "", 0644);
    write_file(scene, "calls", "", 0644);
    CHECK_INT(setenv("PATH", arena_printf(&scene->arena, "%s/bin", scene->folder), 1), 0);
}

static void choose(struct scene *scene, const char *name)
{
    struct err err = { .text = "" };

    CHECK_INT(package_manager_find(&scene->arena, name, NULL, &scene->manager, &err), 0);
    CHECK_STR(err.text, "");
}

static const char *calls(struct scene *scene)
{
    struct err err;
    struct str text;

    CHECK_INT(fs_read(&scene->arena, arena_printf(&scene->arena, "%s/calls", scene->folder), 65536,
                      &text, &err),
              0);
    return text.p;
}

static void end(struct scene *scene)
{
    installed_forget();
    arena_done(&scene->arena);
}

/* "1.0 of 1.0 2.0", or "(none)". */
static const char *offer_of(struct scene *scene, const char *name)
{
    const char *const names[] = { name, "other", NULL };
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct package_offers offers;
    const struct package_offer *offer;
    struct err err = { .text = "" };

    CHECK_INT(package_offers_ask(scene->manager, &scene->host, names, &offers, &err), 0);
    CHECK_STR(err.text, "");
    offer = package_offers_find(&offers, str_from(name));
    if (!offer)
        return "(none)";
    buf_printf(&text, "%s of", offer->candidate);
    VEC_EACH (&offer->versions, version)
        buf_printf(&text, " %s", *version);
    return buf_copy(&text, &scene->arena).p;
}

static int run(struct scene *scene, struct package_request request, const char *name,
               const char *version, bool older, struct err *err)
{
    const struct package_target target = { .name = name, .version = version, .older = older };

    VEC_PUSH_IN(&scene->arena, &request.targets, target);
    return package_request_run(scene->manager, &scene->host, &request, err);
}

/* --- finding ----------------------------------------------------------------------------- */

TEST(a_missing_manager_is_reported_with_the_searched_programs)
{
    struct scene scene;
    struct err err = { .text = "" };

    begin(&scene);
    CHECK_INT(package_manager_find(&scene.arena, NULL, "arch", &scene.manager, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_HAS(err.text,
              "no package manager found for os.family 'arch': searched for 'pacman' in PATH '");
    CHECK_INT(package_manager_find(&scene.arena, "brew", "debian", &scene.manager, &err), -1);
    CHECK_STR(err.text,
              "unknown package manager 'brew' (known: apt, dnf, yum, zypper, apk, pacman)");
    end(&scene);
}

TEST(the_family_selects_the_manager_and_dnf_comes_before_yum)
{
    struct scene scene;
    struct err err;

    begin(&scene);
    stand_in(&scene, "rpm", "", 0);
    stand_in(&scene, "yum", "", 0);
    CHECK_INT(package_manager_find(&scene.arena, NULL, "rhel", &scene.manager, &err), 0);
    CHECK_STR(scene.manager->name, "yum");
    stand_in(&scene, "dnf", "", 0);
    CHECK_INT(package_manager_find(&scene.arena, NULL, "fedora", &scene.manager, &err), 0);
    CHECK_STR(scene.manager->name, "dnf");
    stand_in(&scene, "zypper", "", 0);
    CHECK_INT(package_manager_find(&scene.arena, NULL, "suse", &scene.manager, &err), 0);
    CHECK_STR(scene.manager->name, "zypper");
    end(&scene);
}

/* A machine that has one manager after the other, the lower rank last. */
TEST(a_missing_program_is_reported_with_the_package_of_this_machine)
{
    static const struct {
        const char *programs, *package;
    } steps[] = {
        { "", "(none)" },
        { "pacman", "shadow" },
        { "dnf rpm", "shadow-utils" },
        { "apt-get apt-cache dpkg", "passwd" },
    };
    struct scene scene;

    begin(&scene);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct str rest = str_from(steps[i].programs);
        const char *package;

        while (rest.p && rest.n > 0)
            stand_in(&scene, arena_str(&scene.arena, str_cut(&rest, ' ')).p, "", 0);
        /* What was found stays found for the same PATH. */
        CHECK_INT(setenv("PATH", arena_printf(&scene.arena, "%s:%zu", getenv("PATH"), i), 1), 0);
        package = package_manager_program(&scene.arena, "useradd");
        CHECK_STR(package ? package : "(none)", steps[i].package);
    }
    end(&scene);
}

/* --- dnf and yum: stand-ins -------------------------------------------------------------- */

TEST(dnf_lists_installed_packages_with_one_process)
{
    struct scene scene;
    const struct package_db *db;
    struct err err = { .text = "" };

    begin(&scene);
    scene.host.root = scene.folder;
    stand_in(&scene, "dnf", "", 0);
    stand_in(&scene, "rpm", "bash\t5.1.8-6.el9\tx86_64\nnginx\t1:1.20.1-14.el9\tx86_64\n", 0);
    write_file(&scene, "etc/dnf/plugins/versionlock.list", "nginx-1:1.20.1-14.el9.*\n", 0644);
    choose(&scene, "dnf");
    for (int i = 0; i < 3; i++) {
        CHECK_INT(installed_lock(scene.manager, &scene.host, &db, &err), 0);
        CHECK_STR(package_db_find(db, STR("nginx"))->version, "1:1.20.1-14.el9");
        CHECK(package_db_find(db, STR("nginx"))->held && !package_db_find(db, STR("bash"))->held);
        installed_unlock();
    }
    CHECK_STR(calls(&scene),
              "rpm -qa --qf %{NAME}\\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\\t%{ARCH}\\n\n");
    end(&scene);
}

TEST(dnf_lists_available_versions_from_its_cache)
{
    struct scene scene;

    begin(&scene);
    stand_in(&scene, "rpm", "", 0);
    stand_in(&scene, "dnf",
             "Available Packages\n"
             "nginx.x86_64                  1:1.20.1-10.el9                 appstream\n"
             "nginx.x86_64                  1:1.22.1-3.module+el9           appstream\n",
             0);
    choose(&scene, "dnf");
    CHECK_STR(offer_of(&scene, "nginx"),
              "1:1.22.1-3.module+el9 of 1:1.20.1-10.el9 1:1.22.1-3.module+el9");
    CHECK_STR(calls(&scene), "dnf -q -C list --showduplicates --available nginx other\n");
    stand_in(&scene, "dnf", "Error: No matching Packages to list\n", 1);
    CHECK_STR(offer_of(&scene, "nginx"), "(none)");
    end(&scene);
}

TEST(yum_wraps_long_names_and_downgrades_by_another_command)
{
    struct scene scene;
    struct err err = { .text = "" };

    begin(&scene);
    stand_in(&scene, "rpm", "", 0);
    stand_in(&scene, "yum",
             "Available Packages\n"
             "perl-a-very-long-name-that-does-not-fit.noarch\n"
             "                     2.15-7.el7          base   \n"
             "nginx.x86_64         1:1.20.1-2.el7      epel   \n",
             0);
    choose(&scene, "yum");
    CHECK_STR(offer_of(&scene, "perl-a-very-long-name-that-does-not-fit"),
              "2.15-7.el7 of 2.15-7.el7");
    CHECK_STR(offer_of(&scene, "nginx"), "1:1.20.1-2.el7 of 1:1.20.1-2.el7");
    write_file(&scene, "calls", "", 0644);
    CHECK_INT(run(&scene, (struct package_request){ .action = PACKAGE_INSTALL }, "nginx", "1.18",
                  true, &err),
              0);
    CHECK_INT(run(&scene, (struct package_request){ .action = PACKAGE_INSTALL }, "nginx", "1.20",
                  false, &err),
              0);
    CHECK_STR(calls(&scene), "yum -q -y downgrade nginx-1.18\nyum -q -y install nginx-1.20\n");
    end(&scene);
}

TEST(options_are_translated_for_each_manager)
{
    static const struct {
        const char *manager, *programs, *call;
    } cases[] = {
        { "dnf", "dnf rpm",
          "dnf -q -y install --setopt=install_weak_deps=False --nogpgcheck --disablerepo=* "
          "--enablerepo=epel nginx-1.2\n" },
        { "zypper", "zypper rpm",
          "zypper --non-interactive --quiet install --auto-agree-with-licenses --no-recommends "
          "--allow-unsigned-rpm --from=epel nginx=1.2\n" },
        { "apk", "apk", "apk add --upgrade --allow-untrusted --repository=epel nginx=1.2\n" },
        { "apt", "apt-get apt-cache dpkg",
          "apt-get -q -y -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold -o "
          "DPkg::Lock::Timeout=120 install --no-install-recommends --allow-change-held-packages "
          "--allow-unauthenticated --target-release=epel nginx=1.2\n" },
    };
    const struct package_request request = {
        .action = PACKAGE_INSTALL,
        .fromrepo = "epel",
        .recommends = -1,
        .skip_verify = true,
        .change_held = true,
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str rest = str_from(cases[i].programs);
        struct err err = { .text = "" };
        struct scene scene;

        begin(&scene);
        while (rest.p) {
            const struct str name = str_cut(&rest, ' ');

            stand_in(&scene, arena_str(&scene.arena, name).p, "", 0);
        }
        choose(&scene, cases[i].manager);
        CHECK_INT(run(&scene, request, "nginx", "1.2", false, &err), 0);
        CHECK_STR(calls(&scene), cases[i].call);
        end(&scene);
    }
}

/* --- zypper, apk, pacman: stand-ins ------------------------------------------------------ */

TEST(zypper_lists_available_versions)
{
    struct scene scene;

    begin(&scene);
    stand_in(&scene, "rpm", "", 0);
    stand_in(&scene, "zypper",
             "\nS  | Name  | Type       | Version       | Arch   | Repository\n"
             "---+-------+------------+---------------+--------+-----------\n"
             "v  | nginx | package    | 1.21.5-1.1    | x86_64 | Update\n"
             "i+ | nginx | package    | 1.19.8-3.1    | x86_64 | Main\n"
             "   | nginx | srcpackage | 9.9-1         | noarch | Source\n",
             0);
    choose(&scene, "zypper");
    CHECK_STR(offer_of(&scene, "nginx"), "1.21.5-1.1 of 1.21.5-1.1 1.19.8-3.1");
    stand_in(&scene, "zypper", "No matching items found.\n", 104);
    CHECK_STR(offer_of(&scene, "nginx"), "(none)");
    end(&scene);
}

TEST(apk_lists_installed_and_available_packages_and_cannot_hold)
{
    const struct package_db *db;
    struct scene scene;
    struct err err = { .text = "" };

    begin(&scene);
    scene.host.root = scene.folder;
    stand_in(
        &scene, "apk",
        "nginx policy:\n  1.24.0-r6:\n    lib/apk/db/installed\n  1.24.0-r7:\n    http://x/main\n",
        0);
    write_file(&scene, "lib/apk/db/installed", "P:nginx\nV:1.24.0-r6\nA:x86_64\n\n", 0644);
    choose(&scene, "apk");
    CHECK_INT(installed_lock(scene.manager, &scene.host, &db, &err), 0);
    CHECK_STR(package_db_find(db, STR("nginx"))->version, "1.24.0-r6");
    installed_unlock();
    CHECK_STR(offer_of(&scene, "nginx"), "1.24.0-r7 of 1.24.0-r6 1.24.0-r7");
    CHECK_INT(
        run(&scene, (struct package_request){ .action = PACKAGE_HOLD }, "nginx", NULL, false, &err),
        -1);
    CHECK_STR(err.text, "apk cannot hold packages");
    end(&scene);
}

TEST(pacman_lists_packages_and_cannot_choose_versions)
{
    const struct package_db *db;
    struct scene scene;
    struct err err = { .text = "" };

    begin(&scene);
    scene.host.root = scene.folder;
    stand_in(&scene, "pacman",
             "Repository      : extra\nName            : nginx\nVersion         : "
             "1.24.0-2\nDescription     : Name : odd\n",
             1);
    write_file(&scene, "var/lib/pacman/local/nginx-1.24.0-1/desc", "", 0644);
    write_file(&scene, "var/lib/pacman/local/ALPM_DB_VERSION", "9\n", 0644);
    choose(&scene, "pacman");
    CHECK_INT(installed_lock(scene.manager, &scene.host, &db, &err), 0);
    CHECK_STR(package_db_find(db, STR("nginx"))->version, "1.24.0-1");
    installed_unlock();
    CHECK_STR(offer_of(&scene, "nginx"), "1.24.0-2 of 1.24.0-2");
    CHECK_INT(run(&scene, (struct package_request){ .action = PACKAGE_INSTALL }, "nginx", "1.0",
                  false, &err),
              -1);
    CHECK_STR(err.text, "pacman cannot install a chosen version ('1.0' of 'nginx')");
    stand_in(&scene, "pacman", "", 0);
    write_file(&scene, "calls", "", 0644);
    CHECK_INT(run(&scene,
                  (struct package_request){ .action = PACKAGE_INSTALL, .fromrepo = "extra" },
                  "nginx", NULL, false, &err),
              0);
    CHECK_STR(calls(&scene), "pacman --noconfirm -S extra/nginx\n");
    end(&scene);
}

/* --- in general -------------------------------------------------------------------------- */

TEST(a_failure_has_the_output_of_the_manager)
{
    struct scene scene;
    struct err err = { .text = "" };

    begin(&scene);
    stand_in(&scene, "apk", "ERROR: unable to select packages:\n  nope (no such package)\n", 1);
    choose(&scene, "apk");
    CHECK_INT(run(&scene, (struct package_request){ .action = PACKAGE_INSTALL }, "nope", NULL,
                  false, &err),
              -1);
    CHECK_HAS(err.text, "apk add: exit status 1");
    CHECK_HAS(err.text, "nope (no such package)");
    end(&scene);
}

/* Every state that installs asks for what is held to be let go, which is nothing. */
TEST(an_empty_request_succeeds_with_any_manager)
{
    static const char *const names[] = { "apk", "pacman" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct package_request request = { .action = PACKAGE_UNHOLD };
        struct scene scene;
        struct err err = { .text = "" };

        begin(&scene);
        stand_in(&scene, names[i], "", 1);
        choose(&scene, names[i]);
        CHECK_INT(package_request_run(scene.manager, &scene.host, &request, &err), 0);
        CHECK_STR(err.text, "");
        CHECK_STR(calls(&scene), "");
        end(&scene);
    }
}

TEST(zypper_succeeds_when_it_asks_for_a_restart_but_not_when_a_script_failed)
{
    static const struct {
        enum package_action action;
        int status, result;
    } cases[] = {
        { PACKAGE_INSTALL, 102, 0 }, { PACKAGE_INSTALL, 103, 0 },  { PACKAGE_REMOVE, 106, 0 },
        { PACKAGE_REFRESH, 6, 0 },   { PACKAGE_INSTALL, 107, -1 }, { PACKAGE_INSTALL, 6, -1 },
        { PACKAGE_REFRESH, 4, -1 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scene scene;
        struct err err = { .text = "" };

        begin(&scene);
        stand_in(&scene, "rpm", "", 0);
        stand_in(&scene, "zypper", "", cases[i].status);
        choose(&scene, "zypper");
        CHECK_INT(run(&scene, (struct package_request){ .action = cases[i].action }, "x", NULL,
                      false, &err),
                  cases[i].result);
        end(&scene);
    }
}

TEST(no_name_becomes_an_option_a_path_or_a_pattern)
{
    static const char *const bad[] = { "",     "-y",         "--root=/", "a b",
                                       "a\nb", "/etc/x.deb", "a*",       "a=1" };
    struct scene scene;

    begin(&scene);
    stand_in(&scene, "apk", "", 0);
    choose(&scene, "apk");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err;

        CHECK_INT(run(&scene, (struct package_request){ .action = PACKAGE_INSTALL }, bad[i], NULL,
                      false, &err),
                  -1);
        CHECK_HAS(err.text, "is not a valid package name");
    }
    CHECK_STR(calls(&scene), "");
    end(&scene);
}

TEST(installed_packages_are_read_again_when_the_database_changes)
{
    const struct package_db *db;
    struct scene scene;
    struct err err = { .text = "" };

    begin(&scene);
    scene.host.root = scene.folder;
    stand_in(&scene, "apk", "", 0);
    write_file(&scene, "lib/apk/db/installed", "P:a\nV:1\n\n", 0644);
    choose(&scene, "apk");
    CHECK_INT(installed_lock(scene.manager, &scene.host, &db, &err), 0);
    CHECK(package_db_find(db, STR("a")) && !package_db_find(db, STR("bb")));
    installed_unlock();
    write_file(&scene, "lib/apk/db/installed", "P:a\nV:1\n\nP:bb\nV:2\n\n", 0644);
    CHECK_INT(installed_lock(scene.manager, &scene.host, &db, &err), 0);
    CHECK(package_db_find(db, STR("bb")));
    installed_unlock();
    end(&scene);
}

/* Real output of apt-cache policy. */
TEST(the_policy_of_apt_is_read_with_its_candidate)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct package_offers offers = { .by_name = MAP_INIT_IN(&arena) };
    struct package_offer app = { .name = "zt-app" }, none = { .name = "zt-virtual" };

    map_set(&offers.by_name, STR("zt-app"), &app);
    map_set(&offers.by_name, STR("zt-virtual"), &none);
    package_manager_called("apt")->parse_offers(
        &offers, &arena,
        STR("zt-app:\n  Installed: 1.2\n  Candidate: 1.2\n  Package pin: 1.2\n  Version table:\n"
            "     2.0 1001\n        500 copy:/repo ./ Packages\n"
            " *** 1.2 1001\n        500 copy:/repo ./ Packages\n        100 /var/lib/dpkg/status\n"
            "zt-virtual:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n"));
    CHECK_STR(app.candidate, "1.2");
    CHECK_INT(app.versions.n, 2);
    CHECK_STR(app.versions.p[0], "2.0");
    CHECK(!none.candidate && none.versions.n == 0);
}
