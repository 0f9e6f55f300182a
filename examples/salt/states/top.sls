# Who gets what. By name, by grain, by pillar and by a compound of them.
base:
  '*':
    - common
    - users
  'os_family:Debian':
    - match: grain
    - common.apt
  'web*':
    - nginx
  'I@roles:shop and G@kernel:Linux and not db*':
    - match: compound
    - shop
  'roles:database':
    - match: pillar
    - database
