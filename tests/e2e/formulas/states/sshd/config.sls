{%- from "sshd/map.jinja" import mapdata with context %}
{%- set sshd, sshd_config = mapdata.sshd, mapdata.sshd_config %}
sshd_config:
  file.managed:
    - name: {{ sshd.config }}
    - source: {{ sshd.sshd_config_src }}
    - template: jinja
    - user: root
    - mode: {{ sshd.config_mode }}
    - makedirs: true
    - check_cmd: {{ sshd.get('check_cmd', 'grep -q ^Port') }}
    - context:
        sshd_config: {{ sshd_config | json(sort_keys=False) }}
    - backup: false

# Runs before the settings change, and only then.
sshd_before:
  cmd.run:
    - name: echo about to change >> /run/sshd.changes
    - prereq:
      - file: sshd_config

sshd_moduli:
  file.managed:
    - name: {{ sshd.moduli }}
    - contents:
      {%- for line in salt['pillar.get']('sshd:moduli_lines', ['20210101 2 6 100']) %}
      - {{ line | yaml_squote }}
      {%- endfor %}
    - use:
      - file: sshd_config
    - check_cmd: test -s
    - source: ~
    - template: ~
