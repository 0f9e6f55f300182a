#include "compile/unsupported.h"

#include "base/mem.h"

/* clang-format off */
static const struct {
    const char *name, *reason;
} unsupported[] = {
    { "cmd.call", "it runs Python" },
    { "cmd.wait_call", "it runs Python" },
    { "config.gather_bootstrap_script", "it installs Salt" },
    { "cp.cache_file_ssh", "there is no salt-ssh" },
    { "cp.get_dir", "it writes files; use the state file.recurse" },
    { "cp.get_file", "it writes a file; use the state file.managed" },
    { "cp.get_template", "it writes a file; use the state file.managed with 'template: jinja'" },
    { "cp.hash_file_ssh", "there is no salt-ssh" },
    { "cp.push", "machines do not send files to masters" },
    { "cp.push_dir", "machines do not send files to masters" },
    { "cp.recv", "there is no salt-cp; use the state file.managed" },
    { "cp.recv_chunked", "there is no salt-cp; use the state file.managed" },
    { "file.chattr", "attributes of chattr(1) are not managed" },
    { "file.check_perms", "it changes a file; use the state file.managed, or file.check_file_meta" },
    { "file.chgrp", "it changes a file; use the state file.managed or file.directory" },
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
    { "grains.delkey", "it changes facts; use the state grains.absent with 'destructive: true'" },
    { "grains.delval", "it changes facts; use the state grains.absent" },
    { "grains.make_hashable", "lists of facts hold anything here" },
    { "grains.remove", "it changes facts; use the state grains.list_absent" },
    { "grains.set", "it changes facts; use the state grains.present" },
    { "grains.setvals", "it changes facts; use the state grains.present" },
    { "hashutil.base64_decodefile", "it writes a file; use the state file.decode" },
    { "match.data", "there is no data store; use match.grain or match.pillar" },
    { "network.mod_bufsize", "it changes an interface; use cmd.run with ethtool" },
    { "network.mod_hostname", "it changes the machine; use cmd.run with hostnamectl" },
    { "network.wol", "it wakes other machines; use cmd.run with wakeonlan" },
    { "npm.cache_cleaned", "a cache without one of its packages breaks the next installation; run 'npm cache clean --force'" },
    { "pillar.ext", "there are no external pillars" },
    { "pillar.file_exists", "only pillar files can ask for it: machines have their settings, and not the files" },
    { "pkg.group_installed", "name the packages of the group in pkg.installed" },
    { "pkg.patch_downloaded", "packages are downloaded when they are installed" },
    { "pkg.patch_installed", "name the packages of the advisory in pkg.latest" },
    { "pkgrepo.migrated", "declare the repositories in pkgrepo.managed" },
    { "status.master", "run 'zester doctor' to check the connection" },
    { "status.ping_master", "run 'zester doctor' to check the connection" },
    { "status.proxy_reconnect", "there are no proxy minions" },
};
/* clang-format on */

const char *unsupported_reason(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(unsupported); i++)
        if (str_is(name, unsupported[i].name))
            return unsupported[i].reason;
    return NULL;
}
