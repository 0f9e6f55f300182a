clock:
  allow: [198.51.100.0/24, 203.0.113.7]
  tofs: {files_switch: [id, os_family]}
  key_lines: [1 MD5 secret, 2 SHA1 other]
rotate:
  lookup: {default_config: {compress: true, rotate: 9}}
  jobs:
    /var/log/mail:
      path: [/var/log/mail.log, /var/log/mail.err]
      config: [weekly, missingok, rotate 52]
      postrotate: |-
        /usr/bin/handy reload
        true
      cron: {minute: 5, hour: '*/6', comment: "mail: rotated"}
    wtmp:
      contents: |
        /var/log/wtmp {
            monthly
        }
sshd:
  banner_text: |
    Welcome to {{ grains.id }}.
  known:
    git.example.org: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0tC2mB8k0uP0W1C2m0g0f0k5Yl8m3l5p7o9q1r3s5t
  addresses: {other.example.org: {ip: 192.0.2.5}}
  generate: [ed25519, rsa]
sshd_config:
  Port: [22, 2222]
  PermitRootLogin: 'no'
  UsePAM: yes
  X11Forwarding: off
  acceptEnv: LANG LC_*
  LoginGraceTime: 120
  matches:
    sftp_chroot:
      type: {Group: sftpusers, Address: 192.0.2.0/24}
      options: {ChrootDirectory: /sftp/%u, AllowTcpForwarding: no}
database:
  acls:
    - ['local', 'db1', 'localUser']
    - ['host', 'db2', 'remoteUser', '192.0.2.0/24']
    - ['local', 'all', 'all', 'peer']
  settings: {listen_addresses: 'localhost,*', port: 5432, shared_buffers: 1.50}
  users:
    app: {ensure: present, createdb: false, password: '98ruj923h4rf'}
    old: {ensure: absent}
  databases:
    shop: {owner: app, encoding: UTF8}
    plain: {template: template0}
  tablespaces:
    fast: {directory: /srv/database/fast}
    slow: {directory: /srv/database/slow, owner: app}
platform:
  timezone: {name: Europe/Berlin, utc: true}
  locales: [en_US.UTF-8]
  files:
    /etc/platform/issue: {contents: 'a: b # c', makedirs: true, mode: '0640'}
    /etc/platform/on: {contents: yes, mode: 0600}
  environment: {EDITOR: vi, LESS: "-R 'x'", PAGES: 10}
  sysctl:
    net.ipv4.conf.all.rp_filter: 1
  sudoers:
    aliases: {hosts: {WEB: [www1, www2]}, commands: {RELOAD: [/usr/bin/handy]}}
    users: {jo: ['ALL=(ALL) ALL', 'WEB=(root) NOPASSWD: RELOAD']}
    included_files:
      extra: {groups: {deploy: ['ALL=(ALL) NOPASSWD: ALL']}}
vendor:
  wrappers:
    edit2: {options: [--fast, "'a b'"], link: /usr/local/bin/edit}
