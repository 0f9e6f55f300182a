/*
 * rpm - the common parts of the rpm package managers (dnf, yum, zypper): database, version order,
 * and shared lists.
 *
 * Memory: that of the db, or the arena. Threads: any.
 */
#ifndef STATES_PROVIDER_PACKAGE_RPM_H
#define STATES_PROVIDER_PACKAGE_RPM_H

#include "core/base/str.h"

struct arena;
struct err;
struct package_db;
struct package_offers;

/* Commands: list all packages, and print the name and version of a file. */
#define RPM_VERSION   "%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}"
#define RPM_INSTALLED "rpm", "-qa", "--qf", ("%{NAME}\\t" RPM_VERSION "\\t%{ARCH}\\n")
#define RPM_SHOW_FILE "rpm", "-qp", "--qf", ("%{NAME} " RPM_VERSION)
/* All locations that the database has had. */
#define RPM_DATABASES                                                                              \
    "/var/lib/rpm/rpmdb.sqlite", "/var/lib/rpm/rpmdb.sqlite-wal", "/var/lib/rpm/Packages",         \
        "/var/lib/rpm/Packages.db", "/usr/lib/sysimage/rpm/rpmdb.sqlite",                          \
        "/usr/lib/sysimage/rpm/rpmdb.sqlite-wal", "/usr/lib/sysimage/rpm/Packages.db"

/* The packages of programs that states need, as Red Hat names them. */
/* clang-format off */
#define RPM_PROGRAMS                                                           \
    { "cronie", "crontab" },                                                   \
    { "git", "git" },                                                          \
    { "glibc-common", "localedef" },                                           \
    { "openssh-clients", "ssh-keyscan" },                                      \
    { "python3-pip", "pip3" },                                                 \
    { "shadow-utils", "chage chpasswd gpasswd groupadd useradd usermod" },     \
    { "util-linux", "mount swapoff swapon umount" }
/* clang-format on */

/* The common fields of rpm package managers; `place` is the folder of repositories. */
#define RPM_MANAGER(place)                                                                         \
    .program_packages = programs, .compare = rpm_compare,                                          \
    .installed_command = TOOL(RPM_INSTALLED), .parse_installed = rpm_parse_list, .holds = holds,   \
    .databases = TOOL(RPM_DATABASES), .show_file = TOOL(RPM_SHOW_FILE), .arch_mark = '.',          \
    .repos = { place, REPO_RPM_PARTS, repo_rpm_managed, repo_rpm_absent }

/* The output of RPM_INSTALLED: name, version and architecture, separated by tabs. */
int rpm_parse_list(struct package_db *db, struct str text, struct err *err);
/* versionlock.list of dnf 4 and yum: "name-epoch:version-release.*", "epoch:name-version-..." */
void rpm_parse_versionlock(struct package_db *db, struct str text);
/* dnf list, yum list: name.arch, version and repository, wrapped where they do not fit */
void rpm_parse_offers(struct package_offers *offers, struct arena *arena, struct str text);
/* [epoch:]version[-release], by the rules of rpm. If one side has no release, releases count as
 * equal. */
int rpm_compare(struct str a, struct str b);

#endif
