root: ROOT
users:
  zoe: {fullname: Zoe, sudouser: true, sudo_rules: ['ALL=(root) NOPASSWD:ALL'], groups: [adm], ssh_auth: [ssh-rsa AAAA zoe@x]}
  adam: {shell: /bin/bash, prime_group: {name: users, gid: 100}, absent: false, user_files: {enabled: true}}
sshd_config:
  Port: [22, 2222]
  PermitRootLogin: 'no'
  matches:
    sftp:
      type: {Group: sftp}
      options: {ChrootDirectory: /srv, X11Forwarding: 'no'}
  Subsystem: "sftp /usr/lib/openssh/sftp-server"
  AcceptEnv: LANG LC_*
openssh:
  provide_dsa_keys: false
  banner_string: |
    Welcome to {{ grains['os'] }}!
nginx:
  ng:
    server:
      config:
        worker_processes: 4
        events: {worker_connections: 1024}
        http: {sendfile: 'on', include: [/etc/nginx/mime.types, /etc/nginx/conf.d/*.conf]}
    servers:
      managed:
        default: {enabled: true, config: [{server: [{server_name: localhost}, {listen: [80, default_server]}, {location ~ .html$: [{try_files: [$uri, $uri/, =404]}]}]}]}
        zsite: {enabled: false, deleted: false, config: null}
postgres:
  version: '15'
  use_upstream_repo: false
  acls:
    - ['local', 'db1', 'localUser']
    - ['host', 'db2', 'remoteUser', '10.0.0.0/8', 'md5']
  users: {localUser: {ensure: present, password: secret, createdb: false}}
  databases: {db1: {owner: localUser, template: template0, lc_ctype: en_US.UTF-8}}
  postgresconf: |
    listen_addresses = 'localhost,*'
sudoers:
  defaults: {generic: [env_reset, mail_badpass], user_list: {johndoe: '!requiretty'}}
  users: {johndoe: ['ALL=(ALL) ALL'], kitchen: ['ALL=(root) NOPASSWD: ALL']}
  aliases: {hosts: {WEBSERVERS: [www1, www2]}}
  includedir: ROOT/sudoers.d
