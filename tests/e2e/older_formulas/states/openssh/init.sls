{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import openssh, sshd_config with context %}
include:
  - .config
openssh:
  test.succeed_without_changes:
    - name: {{ openssh.server }}
    - require_in:
      - file: sshd_config
openssh-service:
  test.nop:
    - names:
      - {{ openssh.service }}
      - other:
        - order: 20000
    - watch:
      - file: sshd_config
