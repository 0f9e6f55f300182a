"""The states that Salt documents for the families that are here, each with the names of its parameters, from the signatures
and the text of the public reference of Salt 3007. What a parameter means stands in docs/reference/modules.md; the ones that cannot
work here are refused by name."""

_TRUST = "source_hash_sig signed_by_any signed_by_all keyring gnupghome sig_backend"
_WINDOWS = "win_owner win_perms win_deny_perms win_inheritance win_perms_reset"
_SUCCESS = "success_retcodes success_stdout success_stderr"
_AUTHKEY = "name user enc comment source options config fingerprint_hash_type"
_EDIT = "name regex char backup"
_MYSQL = "connection_host connection_port connection_user connection_pass connection_db connection_unix_socket connection_default_file connection_charset"
_POSTGRES = "user maintenance_db db_password db_host db_port db_user"
_RULE = "chain jump match protocol proto sport dport sports dports connstate comment source destination save to-port to-ports to-destination"
_LINES = "name text makedirs source source_hash template sources source_hashes defaults context"

SIGNATURES = {
    "alternatives.auto": "name",
    "alternatives.install": "name link path priority",
    "alternatives.remove": "name path",
    "alternatives.set": "name path",
    "archive.extracted": "name source source_hash source_hash_name source_hash_update skip_files_list_verify skip_verify password "
                         "options list_options force overwrite clean clean_parent user group if_missing trim_output use_cmd_unzip "
                         f"extract_perms enforce_toplevel enforce_ownership_on archive_format use_etag keep_source keep signature {_TRUST}",
    "cmd.run": "name cwd root runas shell env prepend_path stateful output_loglevel hide_output timeout ignore_timeout use_vt "
               f"creates umask bg stdin python_shell windows_codepage {_SUCCESS}",
    "cmd.script": "name source template cwd runas password shell env stateful umask timeout use_vt output_loglevel hide_output "
                  f"defaults context args creates {_SUCCESS}",
    "cmd.wait": f"name cwd root runas shell env stateful umask output_loglevel hide_output use_vt creates {_SUCCESS}",
    "cmd.wait_script": "name source template cwd runas shell env stateful umask use_vt output_loglevel hide_output args creates "
                       f"defaults context {_SUCCESS}",
    "cron.absent": "name user identifier special",
    "cron.env_absent": "name user",
    "cron.env_present": "name value user",
    "cron.file": "name source_hash source_hash_name user template context replace defaults backup",
    "cron.present": "name user minute hour daymonth month dayweek comment commented identifier special",
    "debconf.set": "name data",
    "debconf.set_file": "name source template context defaults",
    "disk.status": "name maximum minimum absolute free",
    "environ.setenv": "name value false_unsets clear_all update_minion permanent",
    "file.absent": "name",
    "file.accumulated": "name filename text",
    "file.append": f"{_LINES} ignore_whitespace",
    "file.blockreplace": "name marker_start marker_end source source_hash template sources source_hashes defaults context content "
                         "append_if_not_found prepend_if_not_found backup show_changes append_newline insert_before_match "
                         "insert_after_match",
    "file.cached": f"name source_hash source_hash_name skip_verify saltenv use_etag {_TRUST}",
    "file.comment": f"{_EDIT} ignore_missing",
    "file.copy": "name source force makedirs preserve user group mode dir_mode subdir",
    "file.decode": "name encoded_data contents_pillar encoding_type checksum",
    "file.directory": "name user group recurse max_depth dir_mode file_mode mode makedirs clean exclude_pat follow_symlinks force "
                      f"backupname allow_symlink children_only {_WINDOWS}",
    "file.exists": "name",
    "file.hardlink": "name target force makedirs user group dir_mode",
    "file.keyvalue": "name key value key_values separator append_if_not_found prepend_if_not_found search_only show_changes "
                     "ignore_if_missing count uncomment key_ignore_case value_ignore_case create_if_missing",
    "file.line": "name content match mode location before after show_changes backup quiet indent create user group file_mode",
    "file.managed": "name source source_hash source_hash_name keep_source user group mode attrs template makedirs dir_mode context "
                    "replace defaults backup show_changes create contents tmp_dir tmp_ext contents_pillar contents_grains "
                    "contents_newline contents_delimiter encoding encoding_errors allow_empty follow_symlinks check_cmd skip_verify "
                    "selinux verify_ssl use_etag signature ignore_ordering ignore_whitespace ignore_comment_characters "
                    f"new_file_diff {_WINDOWS} {_TRUST}",
    "file.missing": "name",
    "file.mknod": "name ntype major minor user group mode",
    "file.not_cached": "name saltenv",
    "file.patch": "name source source_hash source_hash_name skip_verify template context defaults options reject_file strip saltenv",
    "file.prepend": f"{_LINES} header",
    "file.pruned": "name recurse ignore_errors older_than",
    "file.recurse": "name source keep_source clean user group dir_mode file_mode sym_mode template context replace defaults "
                    "include_empty backup include_pat exclude_pat maxdepth keep_symlinks force_symlinks win_owner win_perms "
                    "win_deny_perms win_inheritance",
    "file.rename": "name source force makedirs",
    "file.replace": "name pattern repl count flags bufsize append_if_not_found prepend_if_not_found not_found_content backup "
                    "show_changes ignore_if_missing backslash_literal",
    "file.retention_schedule": "name retain strptime_format timezone",
    "file.serialize": "name dataset dataset_pillar user group mode backup makedirs show_changes create merge_if_exists encoding "
                      "encoding_errors serializer serializer_opts deserializer_opts check_cmd tmp_dir tmp_ext",
    "file.symlink": "name target force backupname makedirs user group mode disallow_copy_and_unlink inherit_user_and_group atomic "
                    "follow_symlinks win_owner win_perms win_deny_perms win_inheritance",
    "file.tidied": "name age matches rmdirs size exclude full_path_match followlinks time_comparison age_size_logical_operator "
                   "age_size_only rmlinks",
    "file.touch": "name atime mtime makedirs",
    "file.uncomment": _EDIT,
    "firewalld.present": "name block_icmp prune_block_icmp default masquerade ports prune_ports port_fwd prune_port_fwd services "
                         "prune_services interfaces prune_interfaces sources prune_sources rich_rules prune_rich_rules",
    "firewalld.service": "name ports protocols",
    "gem.installed": "name ruby gem_bin user version rdoc ri pre_releases proxy source",
    "gem.removed": "name ruby user gem_bin",
    "gem.sources_add": "name ruby user",
    "gem.sources_remove": "name ruby user",
    "git.cloned": "name target branch user password identity https_user https_pass output_encoding",
    "git.config_set": "name value multivar repo user password output_encoding global",
    "git.config_unset": "name value_regex repo user password output_encoding global all",
    "git.detached": "name rev target remote user password force_clone force_checkout fetch_remote hard_reset submodules identity "
                    "https_user https_pass output_encoding",
    "git.latest": "name target rev branch user password update_head force_checkout force_clone force_fetch force_reset submodules bare "
                  "mirror remote fetch_tags sync_tags depth identity https_user https_pass refspec_branch refspec_tag output_encoding",
    "git.present": "name force bare template separate_git_dir shared user password output_encoding",
    "group.absent": "name local",
    "group.present": "name gid system addusers delusers members non_unique local",
    "host.absent": "name ip",
    "host.only": "name hostnames",
    "host.present": "name ip comment clean",
    "ini.options_absent": "name sections separator",
    "ini.options_present": "name sections separator strict",
    "ini.sections_absent": "name sections separator",
    "ini.sections_present": "name sections separator",
    "iptables.append": f"name table family {_RULE}",
    "iptables.chain_absent": "name table family",
    "iptables.chain_present": "name table family",
    "iptables.delete": f"name table family position {_RULE}",
    "iptables.flush": "name table family chain",
    "iptables.insert": f"name table family position {_RULE}",
    "iptables.set_policy": "name table family chain policy save",
    "locale.present": "name",
    "locale.system": "name",
    "module.run": "name",
    "module.wait": "name",
    "mount.fstab_absent": "name fs_file mount_by config",
    "mount.fstab_present": "name fs_file fs_vfstype fs_mntops fs_freq fs_passno mount_by config mount match_on not_change fs_mount",
    "mount.mounted": "name device fstype mkmnt opts dump pass_num config persist mount user match_on device_name_regex "
                     "extra_mount_invisible_options extra_mount_invisible_keys extra_mount_ignore_fs_keys "
                     "extra_mount_translate_options hidden_opts bind_mount_copy_active_opts",
    "mount.swap": "name persist config",
    "mount.unmounted": "name device config persist user",
    "mysql_database.absent": f"name {_MYSQL}",
    "mysql_database.present": f"name character_set collate {_MYSQL}",
    "mysql_grants.absent": f"name grant database user host grant_option escape {_MYSQL}",
    "mysql_grants.present": f"name grant database user host grant_option escape revoke_first ssl_option {_MYSQL}",
    "mysql_query.run": f"name database query output grain key overwrite check_db_exists client_flags {_MYSQL}",
    "mysql_query.run_file": f"name database query_file output grain key overwrite saltenv check_db_exists client_flags {_MYSQL}",
    "mysql_user.absent": f"name host {_MYSQL}",
    "mysql_user.present": f"name host password password_hash allow_passwordless unix_socket password_column auth_plugin {_MYSQL}",
    "npm.bootstrap": "name user silent",
    "npm.installed": "name pkgs dir user force_reinstall registry env",
    "npm.removed": "name dir user",
    "pip.installed": "name pkgs pip_bin requirements bin_env use_wheel no_use_wheel log proxy timeout repo editable find_links "
                     "index_url extra_index_url no_index mirrors build target download download_cache source upgrade force_reinstall "
                     "ignore_installed exists_action no_deps no_install no_download install_options global_options user cwd "
                     "pre_releases cert allow_all_external allow_external allow_unverified process_dependency_links env_vars use_vt "
                     "trusted_host no_cache_dir cache_dir no_binary extra_args",
    "pip.removed": "name requirements bin_env log proxy timeout user cwd use_vt",
    "pip.uptodate": "name bin_env user cwd use_vt",
    "pkg.downloaded": "name version pkgs fromrepo ignore_epoch",
    "pkg.held": "name version pkgs replace",
    "pkg.installed": "name version refresh fromrepo skip_verify skip_suggestions pkgs sources allow_updates pkg_verify normalize "
                     "ignore_epoch reinstall update_holds hold cache_valid_time install_recommends only_upgrade "
                     "report_reboot_exit_codes resolve_capabilities ignore_types verify_options disable_excludes",
    "pkg.latest": "name refresh fromrepo skip_verify pkgs watch_flags cache_valid_time install_recommends only_upgrade "
                  "resolve_capabilities",
    "pkg.purged": "name version pkgs normalize ignore_epoch",
    "pkg.removed": "name version pkgs normalize ignore_epoch",
    "pkg.unheld": "name version pkgs all",
    "pkg.uptodate": "name refresh pkgs",
    "pkgrepo.absent": "name ppa ppa_auth copr keyid keyid_ppa keyserver",
    "pkgrepo.managed": "name ppa copr aptkey humanname baseurl mirrorlist comments gpgautoimport gpgcheck gpgkey enabled disabled "
                       "dist file comps architectures keyid keyserver key_url key_text consolidate clean_file refresh refresh_db "
                       "priority require_in ppa_auth signedby trusted",
    "postgres_database.absent": f"name {_POSTGRES}",
    "postgres_database.present": f"name tablespace encoding lc_collate lc_ctype owner owner_recurse template {_POSTGRES}",
    "postgres_extension.absent": f"name if_exists restrict cascade {_POSTGRES}",
    "postgres_extension.present": f"name if_not_exists schema ext_version from_version {_POSTGRES}",
    "postgres_group.absent": f"name {_POSTGRES}",
    "postgres_group.present": f"name createdb createroles encrypted superuser inherit login replication password refresh_password groups {_POSTGRES}",
    "postgres_privileges.absent": f"name object_name object_type privileges prepend {_POSTGRES}",
    "postgres_privileges.present": f"name object_name object_type privileges grant_option prepend {_POSTGRES}",
    "postgres_user.absent": f"name {_POSTGRES}",
    "postgres_user.present": "name createdb createroles encrypted superuser replication inherit login password "
                             f"default_password refresh_password valid_until groups {_POSTGRES}",
    "service.dead": "name enable sig init_delay timeout no_block",
    "service.disabled": "name",
    "service.enabled": "name",
    "service.masked": "name runtime",
    "service.running": "name enable sig init_delay no_block unmask unmask_runtime timeout reload full_restart",
    "service.unmasked": "name runtime",
    "ssh_auth.absent": _AUTHKEY,
    "ssh_auth.manage": f"{_AUTHKEY} ssh_keys",
    "ssh_auth.present": _AUTHKEY,
    "ssh_known_hosts.absent": "name user config",
    "ssh_known_hosts.present": "name user fingerprint key port enc config hash_known_hosts timeout fingerprint_hash_type",
    "sysctl.present": "name value config",
    "test.check_pillar": "name present boolean integer string listing dictionary verbose",
    "test.configurable_test_state": "name changes result comment warnings allow_test_mode_failure",
    "test.fail_with_changes": "name comment",
    "test.fail_without_changes": "name comment",
    "test.nop": "name",
    "test.show_notification": "name text",
    "test.succeed_with_changes": "name comment",
    "test.succeed_without_changes": "name comment",
    "timezone.system": "name utc",
    "user.absent": "name purge force local",
    "user.present": "name uid gid usergroup groups optional_groups remove_groups home createhome password hash_password "
                    "enforce_password empty_password shell unique system fullname roomnumber workphone homephone other loginclass date "
                    "mindays maxdays inactdays warndays expire win_homedrive win_profile win_logonscript win_description nologinit "
                    "allow_uid_change allow_gid_change password_lock local",
}

PARAMETERS = {function: tuple(names.split()) for function, names in SIGNATURES.items()}

# States that cannot work here: they fail with a reason.
UNSUPPORTED = ("cmd.call", "cmd.wait_call", "file.shortcut", "npm.cache_cleaned", "pkg.group_installed",
               "pkg.patch_downloaded", "pkg.patch_installed", "pkgrepo.migrated")
