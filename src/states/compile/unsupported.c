#include "states/compile/unsupported.h"

#include <stdio.h>

#include "core/base/mem.h"
#include "core/base/suggest.h"
#include "states/state/module.h"

/* clang-format off */
static const struct {
    const char *name, *reason;
} unsupported[] = {
    { "acl.absent", "use cmd.run with setfacl" },
    { "acl.list_absent", "use cmd.run with setfacl" },
    { "acl.list_present", "use cmd.run with setfacl" },
    { "acl.present", "use cmd.run with setfacl" },
    { "alias.absent", "use file.line for /etc/aliases, and cmd.wait with newaliases" },
    { "alias.present", "use file.line for /etc/aliases, and cmd.wait with newaliases" },
    { "apt_repository", "use pkgrepo.managed" },
    { "at.absent", "use cmd.run with atrm" },
    { "at.present", "use cron.present, or cmd.run with at" },
    { "blockinfile", "use file.blockreplace" },
    { "cmd.call", "it runs Python" },
    { "cmd.exec", "use cmd.run 'COMMAND'" },
    { "cmd.exec_code", "use cmd.script" },
    { "cmd.powershell", "Windows only" },
    { "cmd.run_bg", "use cmd.run with 'bg: true'" },
    { "cmd.wait_call", "it runs Python" },
    { "command", "use cmd.run 'COMMAND'" },
    { "config.gather_bootstrap_script", "it installs Salt" },
    { "copy", "use file.managed with 'source', or file.copy for a file of the machine" },
    { "cp.cache_file_ssh", "there is no salt-ssh" },
    { "cp.get_dir", "it writes files; use the state file.recurse" },
    { "cp.get_file", "it writes a file; use the state file.managed" },
    { "cp.get_template", "it writes a file; use the state file.managed with 'template: jinja'" },
    { "cp.hash_file_ssh", "there is no salt-ssh" },
    { "cp.push", "machines do not send files to masters" },
    { "cp.push_dir", "machines do not send files to masters" },
    { "cp.recv", "there is no salt-cp; use the state file.managed" },
    { "cp.recv_chunked", "there is no salt-cp; use the state file.managed" },
    { "cron.raw_cron", "use cron.list" },
    { "cron.rm_job", "use the state cron.absent" },
    { "cron.set_env", "use the state cron.env_present" },
    { "cron.set_job", "use the state cron.present" },
    { "disk.free", "use disk.usage" },
    { "disk.inodeusage", "use cmd.run 'df -i'" },
    { "disk.percent", "use disk.usage" },
    { "exec", "use cmd.run 'COMMAND'" },
    { "facter", "use facts.items" },
    { "file.chattr", "attributes of chattr(1) are not managed" },
    { "file.check_perms", "it changes a file; use the state file.managed, or file.check_file_meta" },
    { "file.chgrp", "it changes a file; use the state file.managed or file.directory" },
    { "file.chmod", "use the state file.managed or file.directory with 'mode'" },
    { "file.chown", "it changes a file; use the state file.managed or file.directory" },
    { "file.comment_line", "it changes a file; use the state file.comment or file.uncomment" },
    { "file.delete_backup", "the undo journal is kept for state.revert" },
    { "file.lchown", "it changes a file; use the state file.symlink" },
    { "file.link", "it writes a file; use the state file.hardlink" },
    { "file.makedirs", "it creates folders; use the state file.directory" },
    { "file.makedirs_perms", "it creates folders; use the state file.directory" },
    { "file.manage_file", "it writes a file; use the state file.managed" },
    { "file.mkdir", "it creates a folder; use the state file.directory" },
    { "file.mknod_blkdev", "it creates a device; use the state file.mknod" },
    { "file.mknod_chrdev", "it creates a device; use the state file.mknod" },
    { "file.mknod_fifo", "it creates a pipe; use the state file.mknod" },
    { "file.move", "it renames a file; use the state file.rename" },
    { "file.psed", "it changes a file; use the state file.replace" },
    { "file.remove", "it removes files; use the state file.absent" },
    { "file.remove_backup", "the undo journal is kept for state.revert" },
    { "file.restore_backup", "use state.revert" },
    { "file.restorecon", "SELinux contexts are not managed" },
    { "file.rmdir", "it removes a folder; use the state file.absent or file.pruned" },
    { "file.sed", "it changes a file; use the state file.replace" },
    { "file.seek_write", "it writes a file; use the state file.managed" },
    { "file.set_mode", "it changes a file; use the state file.managed or file.directory" },
    { "file.set_selinux_context", "SELinux contexts are not managed" },
    { "file.shortcut", "Windows only" },
    { "file.truncate", "it changes a file; use the state file.managed" },
    { "file.write", "it writes a file; use the state file.managed" },
    { "get_url", "use file.managed with 'source' and 'source_hash'" },
    { "grains.delkey", "it changes facts; use the state grains.absent with 'destructive: true'" },
    { "grains.delval", "it changes facts; use the state grains.absent" },
    { "grains.make_hashable", "lists of facts hold anything here" },
    { "grains.remove", "it changes facts; use the state grains.list_absent" },
    { "grains.set", "it changes facts; use the state grains.present" },
    { "grains.setvals", "it changes facts; use the state grains.present" },
    { "group.add", "use the state group.present" },
    { "group.adduser", "use the state group.present with 'addusers'" },
    { "group.delete", "use the state group.absent" },
    { "group.members", "use group.info" },
    { "hashutil.base64_decodefile", "it writes a file; use the state file.decode" },
    { "hiera", "use settings.get KEY" },
    { "hostname", "use network.get_hostname, or the state network.hostname" },
    { "hosts.add_host", "use the state host.present" },
    { "hosts.rm_host", "use the state host.absent" },
    { "hosts.set_host", "use the state host.only" },
    { "http.query", "use cmd.run with curl, and 'retry'" },
    { "http.wait_for_successful_query", "use cmd.run with curl, and 'retry'" },
    { "jobs.active", "use 'zester job active'" },
    { "jobs.last_run", "use 'zester job list'" },
    { "jobs.list_job", "use 'zester job show JID'" },
    { "jobs.list_jobs", "use 'zester job list'" },
    { "jobs.lookup_jid", "use 'zester job show JID'" },
    { "key.accept", "use 'zester enroll approve ID'" },
    { "key.accept_all", "use 'zester enroll approve --all-pending'" },
    { "key.delete", "use 'zester enroll revoke ID', or 'zester peel delete PEEL'" },
    { "key.finger", "use 'zester enroll show ID'" },
    { "key.list_all", "use 'zester enroll list'" },
    { "key.reject", "use 'zester enroll reject ID'" },
    { "kmod.absent", "use cmd.run with modprobe, and file.absent below /etc/modules-load.d" },
    { "kmod.present", "use cmd.run with modprobe, and file.managed below /etc/modules-load.d" },
    { "lineinfile", "use file.line" },
    { "linux_acl.present", "use cmd.run with setfacl" },
    { "logrotate.set", "use file.managed below /etc/logrotate.d" },
    { "loop.until", "it runs Python; use 'retry' of the state" },
    { "loop.until_no_eval", "use 'retry' of the state" },
    { "manage.alived", "use 'zester peel list'" },
    { "manage.down", "use 'zester peel list'" },
    { "manage.status", "use 'zester peel list'" },
    { "manage.up", "use 'zester peel list'" },
    { "manage.versions", "use 'zester update status'" },
    { "match.data", "there is no data store; use match.grain or match.pillar" },
    { "mount.is_mounted", "use mount.active" },
    { "mount.mount", "use the state mount.mounted" },
    { "mount.remount", "use the state mount.mounted" },
    { "mount.umount", "use the state mount.unmounted" },
    { "network.managed", "use file.managed for the files of the network manager" },
    { "network.mod_bufsize", "it changes an interface; use cmd.run with ethtool" },
    { "network.mod_hostname", "it changes the machine; use cmd.run with hostnamectl" },
    { "network.routes", "use file.managed for the files of the network manager" },
    { "network.system", "use file.managed for the files of the network manager" },
    { "network.wol", "it wakes other machines; use cmd.run with wakeonlan" },
    { "npm.cache_cleaned", "a cache without one of its packages breaks the next installation; run 'npm cache clean --force'" },
    { "ohai", "use facts.items" },
    { "pillar.ext", "there are no external pillars" },
    { "pillar.file_exists", "only pillar files can ask for it: machines have their settings, and not the files" },
    { "ping", "use test.ping" },
    { "pkg.autoremove", "use cmd.run 'apt-get autoremove -y'" },
    { "pkg.available_version", "use pkg.latest_version" },
    { "pkg.dist_upgrade", "use the state pkg.uptodate" },
    { "pkg.file_list", "use cmd.run 'dpkg -L NAME'" },
    { "pkg.group_installed", "name the packages of the group in pkg.installed" },
    { "pkg.hold", "use the state pkg.held" },
    { "pkg.info", "use pkg.version" },
    { "pkg.list_upgrades", "use pkg.uptodate with '--test'" },
    { "pkg.patch_downloaded", "packages are downloaded when they are installed" },
    { "pkg.patch_installed", "name the packages of the advisory in pkg.latest" },
    { "pkg.purge", "use the state pkg.purged" },
    { "pkg.search", "use cmd.run 'apt-cache search TEXT'" },
    { "pkg.unhold", "use the state pkg.unheld" },
    { "pkg.update", "use pkg.refresh_db for the lists, pkg.uptodate for the packages" },
    { "pkg.upgrade", "use pkg.uptodate for all packages, pkg.latest for one" },
    { "pkg.upgrade_available", "use pkg.latest with '--test'" },
    { "pkgrepo.migrated", "declare the repositories in pkgrepo.managed" },
    { "process.absent", "use cmd.run with pkill" },
    { "ps.top", "use status.procs" },
    { "raw", "use cmd.run 'COMMAND'" },
    { "reboot", "use cmd.run 'shutdown -r +1'" },
    { "saltutil.find_job", "use 'zester job show JID'" },
    { "saltutil.kill_job", "use 'zester job kill JID'" },
    { "saltutil.refresh_grains", "facts are collected in every run; use 'reload_grains' of a state" },
    { "saltutil.refresh_modules", "there are no modules to load" },
    { "saltutil.refresh_pillar", "settings are current in every run" },
    { "saltutil.running", "use 'zester job active'" },
    { "saltutil.sync_all", "state files are current in every run, and there are no modules in Python" },
    { "saltutil.sync_grains", "there are no modules in Python" },
    { "saltutil.sync_modules", "there are no modules in Python" },
    { "saltutil.sync_states", "there are no modules in Python" },
    { "service.force_reload", "use service.reload or service.restart" },
    { "service.get_disabled", "use service.get_all, and service.enabled NAME" },
    { "service.get_enabled", "use service.get_all, and service.enabled NAME" },
    { "service.get_running", "use service.get_all, and service.status NAME" },
    { "service.mask", "use state.single service.masked NAME" },
    { "service.missing", "use service.available NAME" },
    { "service.show", "use cmd.run 'systemctl show NAME'" },
    { "service.try_restart", "use service.restart" },
    { "service.unmask", "use service.unmasked NAME" },
    { "setup", "use facts.items" },
    { "shadow.set_password", "use the state user.present with 'password'" },
    { "shell", "use cmd.run 'COMMAND'" },
    { "stat", "use file.stats PATH" },
    { "state.orch", "use 'zester orchestrate REF'" },
    { "state.orchestrate", "use 'zester orchestrate REF'" },
    { "state.running", "use 'zester job active'" },
    { "status.master", "run 'zester doctor' to check the connection" },
    { "status.ping_master", "run 'zester doctor' to check the connection" },
    { "status.proxy_reconnect", "there are no proxy minions" },
    { "sysctl.assign", "use the state sysctl.present" },
    { "sysctl.persist", "use the state sysctl.present" },
    { "system.reboot", "use cmd.run 'shutdown -r +1'" },
    { "system.shutdown", "use cmd.run 'shutdown -h +1'" },
    { "template", "use file.managed with 'template: jinja'" },
    { "unarchive", "use archive.extracted" },
    { "upgrade", "use pkg.uptodate" },
    { "uptime", "use status.uptime" },
    { "uri", "use cmd.run with curl, and 'retry'" },
    { "user.add", "use the state user.present" },
    { "user.chgroups", "use the state user.present with 'groups'" },
    { "user.chshell", "use the state user.present with 'shell'" },
    { "user.delete", "use the state user.absent" },
    { "user.getent", "use user.list_users, and user.info NAME" },
    { "user.rename", "use cmd.run 'usermod -l NEW OLD'" },
    { "virtualenv.managed", "use cmd.run with 'python3 -m venv' and 'creates', and pip.installed" },
    { "wait_for", "use cmd.run with 'retry'" },
    { "xml.value_present", "use file.replace, or file.managed with a template" },
};
/* clang-format on */

/* Families of functions of other tools, and those that do the same here. */
static const struct {
    const char *theirs, *ours;
} families[] = {
    { "apk.", "pkg" },          { "apt.", "pkg" },     { "aptpkg.", "pkg" },
    { "daemon.", "service" },   { "dnf.", "pkg" },     { "package.", "pkg" },
    { "packages.", "pkg" },     { "pacman.", "pkg" },  { "repo.", "pkgrepo" },
    { "services.", "service" }, { "svc.", "service" }, { "systemctl.", "service" },
    { "systemd.", "service" },  { "yum.", "pkg" },     { "yumpkg.", "pkg" },
    { "zypper.", "pkg" },
};

const char *unsupported_reason(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(unsupported); i++)
        if (str_is(name, unsupported[i].name))
            return unsupported[i].reason;
    return NULL;
}

const char *unsupported_family(struct str family)
{
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        if (str_starts(str_from(families[i].theirs), family) && families[i].theirs[family.n] == '.')
            return families[i].ours;
    return NULL;
}

const struct module *unsupported_twin(struct str name)
{
    const size_t dot = str_find_char(name, '.', 0);
    const char *ours = dot == STR_NONE ? NULL : unsupported_family(str_slice(name, 0, dot));
    char twin[2 * SUGGEST_WORD_MAX];
    int length;

    if (!ours)
        return NULL;
    length =
        snprintf(twin, sizeof(twin), "%s.%.*s", ours, (int)(name.n - dot - 1), name.p + dot + 1);
    return length < (int)sizeof(twin) ? module_find(str_from(twin)) : NULL;
}
