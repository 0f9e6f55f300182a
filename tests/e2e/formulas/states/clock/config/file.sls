{%- set tplroot = tpldir.split('/')[0] %}
{%- set sls_service = tplroot ~ '.service' %}
{%- from tplroot ~ "/map.jinja" import clock with context %}
{%- from tplroot ~ "/libtofs.jinja" import files_switch with context %}

include:
  - {{ sls_service }}

clock-config-dir-file-directory:
  file.directory:
    - names:
      - {{ clock.config | regex_replace('/[^/]*$', '') }}
      - {{ salt['file.dirname'](clock.options.driftfile) }}:
        - mode: '0700'
    - mode: 755

clock-config-file-file-managed:
  file.managed:
    - name: {{ clock.config }}
    - source:
{{ files_switch(['clock.conf', 'clock.conf.jinja'], lookup='clock-config') }}
    - mode: 644
    - user: {{ clock.user }}
    - makedirs: True
    - template: jinja
    - context:
        clock: {{ clock | json }}
    - require:
      - file: clock-config-dir-file-directory
    - watch_in:
      - cmd: clock-service-reload

clock-config-keys-file-managed:
  file.managed:
    - name: {{ clock.keyfile }}
    - contents: |
        {{ clock.get('key_lines', ['1 none']) | join('\n') | indent(8) }}
    - mode: '0640'
    - show_changes: false
    - listen_in:
      - cmd: clock-service-reload
