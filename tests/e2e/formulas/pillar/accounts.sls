{% set people = {'ada': 3101, 'bob': 3102} %}
accounts-formula:
  lookup:
    root_group: root
accounts:
{%- for name, uid in people | dictsort %}
  {{ name }}:
    uid: {{ uid }}
    fullname: "{{ name | capitalize }} O'Example"
    groups: [deploy{% if loop.last %}, auditors{% endif %}]
    ssh_auth:
      - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0tC2mB8k0uP0W1C2m0g0f0k5Yl8m3l5p7o9q1r3s5t {{ name }}@example.org
{%- endfor %}
    sudouser: True
    sudo_rules:
      - ALL=(root) NOPASSWD:/usr/sbin/webd
  zoe: {shell: /bin/sh, uid: 3110, prime_group: {name: deploy}}
  dave:
    absent: true
    purge: no
