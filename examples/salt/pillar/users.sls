{%- set keys = {
  'ada': 'AAAAC3NzaC1lZDI1NTE5AAAAIJx1N0vVxgF0V5o1D7w6S4mA8u3c2d1e0f9g8h7i6j5k',
  'bob': 'AAAAC3NzaC1lZDI1NTE5AAAAIBk2M1nUwfE9U4n0C6v5R3lZ7t2b1c0d9e8f7g6h5i4j',
} %}
groups:
  deploy:
    gid: 2000
  auditors:
    gid: 2001
    addusers: [bob]

users:
{%- for name, key in keys|dictsort %}
  {{ name }}:
    uid: {{ 2100 + loop.index }}
    fullname: {{ name|title }} Example
    shell: /bin/bash
    groups: [deploy]
    ssh_auth:
      - ssh-ed25519 {{ key }} {{ name }}@example.org
{%- endfor %}
  carol:
    fullname: Carol Contractor
    uid: 2110
    sudouser: true
    sudo_rules:
      - ALL=(root) NOPASSWD:/usr/sbin/service nginx reload
    expire: 2040-01-01
    createhome: false
    home: /nonexistent
  dave:
    absent: true
  # an entry without a body: every default
  eve:
