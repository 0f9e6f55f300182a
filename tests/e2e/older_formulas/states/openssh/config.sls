{%- from "openssh/map.jinja" import openssh, sshd_config with context %}
{%- from slspath ~ "/macros.jinja" import files_switch, wrapped with context %}
sshd_config:
  file.managed:
    - name: {{ pillar.root }}/sshd_config
    - source: {{ files_switch(['sshd_config']) }}
    - template: jinja
    - mode: {{ openssh.sshd_config_mode }}
    - context:
        sshd_config: {{ sshd_config | json }}
sshd_banner:
  file.managed:
    - name: {{ pillar.root }}/banner
    - contents_pillar: openssh:banner_string
ssh extra:
  file.accumulated:
    - filename: {{ pillar.root }}/known
    - text: {% call wrapped('x') %}key one{% endcall %}
    - require_in:
      - file: {{ pillar.root }}/known
{{ pillar.root }}/known:
  file.managed:
    - source: salt://openssh/files/known
    - template: jinja
